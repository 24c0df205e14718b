// Edits of one node of a tree, which is given as two lists in pre-order: labels and parents. There is no recursion, because trees
// may be very deep.

export function brackets({labels, parents}) {
  const kids = count(parents);
  if (labels.length === 1) return `(${labels[0]})`;
  const parts = [], open = []; // number of missing children of each open node
  labels.forEach((label, node) => {
    if (kids[node]) {
      parts.push(`${parts.length ? " " : ""}(${label}`);
      open.push(kids[node]);
      return;
    }
    parts.push(` ${label}`);
    while (open.length && --open[open.length - 1] === 0) {
      open.pop();
      parts.push(")");
    }
  });
  return parts.join("");
}

function count(parents) {
  const kids = new Array(parents.length).fill(0);
  for (const parent of parents) if (parent >= 0) kids[parent]++;
  return kids;
}

// Returns the number after the last descendant of a node.
function end(parents, node) {
  let at = node + 1;
  while (at < parents.length && parents[at] >= node) at++;
  return at;
}

export function renamed({labels, parents}, node, label) {
  return {labels: labels.with(node, label), parents};
}

// Returns the tree with a new last child of a node. If the node was a word, it becomes the parent of the new word.
export function grown({labels, parents}, node, label) {
  const at = end(parents, node);
  return {labels: labels.toSpliced(at, 0, label), parents: parents.map((parent) => (parent >= at ? parent + 1 : parent)).toSpliced(at, 0, node)};
}

// Returns the tree without a node and its descendants, or null if nothing is left. Ancestors that would become empty are deleted
// too: otherwise their labels would turn into words.
export function pruned({labels, parents}, node) {
  const kids = count(parents);
  while (node > 0 && kids[parents[node]] === 1) node = parents[node];
  if (node === 0) return null;
  const at = end(parents, node), gone = at - node;
  return {labels: labels.toSpliced(node, gone), parents: parents.toSpliced(node, gone).map((parent) => (parent >= at ? parent - gone : parent))};
}
