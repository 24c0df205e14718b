// A tree as two lists, labels and parents in pre-order, changed at one node. No recursion: trees may be very deep.

export function brackets({labels, parents}) {
  const kids = count(parents);
  if (labels.length === 1) return `(${labels[0]})`;
  const parts = [], open = []; // open nodes, each with how many children are still to come
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

// The node behind the last one below a node.
function end(parents, node) {
  let at = node + 1;
  while (at < parents.length && parents[at] >= node) at++;
  return at;
}

export function renamed({labels, parents}, node, label) {
  return {labels: labels.with(node, label), parents};
}

// With one more child, the last one. A word becomes a node over it.
export function grown({labels, parents}, node, label) {
  const at = end(parents, node);
  return {labels: labels.toSpliced(at, 0, label), parents: parents.map((parent) => (parent >= at ? parent + 1 : parent)).toSpliced(at, 0, node)};
}

// Without a node and all that is below it, and without those above that it leaves empty, so that no label becomes a word.
export function pruned({labels, parents}, node) {
  const kids = count(parents);
  while (node > 0 && kids[parents[node]] === 1) node = parents[node];
  if (node === 0) return null;
  const at = end(parents, node), gone = at - node;
  return {labels: labels.toSpliced(node, gone), parents: parents.toSpliced(node, gone).map((parent) => (parent >= at ? parent - gone : parent))};
}
