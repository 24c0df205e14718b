// Layouts: positions of the parts of a picture, computed without a page. The measures are the same as in svg.py and arcs.py.

export const FONT = 13, SMALL = 9.5;
export const HEIGHT = 30, PAD = 9, GAP = 14; // height of a node, space inside it and beside it
export const DROP = 21, CHANNEL = 42; // from a node to its dots, from the dots to the next layer
export const CLOSE = 30; // between layers without dots
export const STEP = 42; // from one alternative's dot to the next
export const TRUNK = 8; // room for a line that passes a layer
export const MARGIN = 16;
export const LONGEST = 32; // characters of a label that are shown
export const WORD = 15, TAG = 11; // font sizes of words and tags
export const LEVEL = 25, END = 9, CORNER = 6, APART = 16; // arcs: space between levels, between ends, of a corner, between words
const LINE = 900; // width of a line of tagged words

const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]/u;

// Estimates the width of a text; rather too large than too small.
export function widthOf(text, size) {
  let wide = 0;
  for (const letter of text) wide += WIDE.test(letter) ? 1 : "MW@%mw".includes(letter) ? 0.85 : 0.63;
  return wide * size;
}

export function shown(label) {
  const letters = Array.from(label.length > 4 * LONGEST ? label.slice(0, 4 * LONGEST) : label);
  return letters.length <= LONGEST ? label : letters.slice(0, LONGEST - 1).join("") + "…";
}

export function boxWidth(label) {
  return label ? Math.max(28, widthOf(shown(label), FONT) + 2 * PAD) : 14;
}

// --- trees ---------------------------------------------------------------------------------------------------------

// A tidy tree: subtrees are as close to each other as their outlines allow, and a node is centered over its children.
// `parents` is in pre-order. With `bottom`, all leaves are in one row; otherwise each is directly below its parent.
export function tidy(parents, widths, bottom) {
  const count = parents.length;
  const row = new Int32Array(count), kids = Array.from({length: count}, () => []);
  for (let node = 1; node < count; node++) {
    kids[parents[node]].push(node);
    row[node] = row[parents[node]] + 1;
  }
  if (bottom) {
    const height = new Int32Array(count);
    for (let node = count - 1; node > 0; node--) height[parents[node]] = Math.max(height[parents[node]], height[node] + 1);
    for (let node = 0; node < count; node++) row[node] = height[0] - height[node];
  }
  const aside = new Float64Array(count), outline = new Array(count);
  for (let node = count - 1; node >= 0; node--) {
    let all = null;
    const place = [];
    for (const kid of kids[node]) {
      const one = outline[kid];
      outline[kid] = undefined;
      for (let passed = row[kid] - row[node] - 1; passed > 0; passed--) push(one, TRUNK / 2 + 2);
      if (all === null) {
        all = one;
        place.push(0);
      } else {
        const [joined, apart] = join(all, one);
        all = joined;
        place.push(apart);
      }
    }
    const middle = place.length ? (place[0] + place[place.length - 1]) / 2 : 0;
    kids[node].forEach((kid, k) => (aside[kid] = place[k] - middle));
    all ??= {left: [], right: [], shift: 0};
    all.shift -= middle;
    push(all, (widths[node] + GAP) / 2);
    outline[node] = all;
  }
  const x = new Float64Array(count);
  let left = Infinity, right = -Infinity;
  for (let node = 0; node < count; node++) {
    x[node] = node ? x[parents[node]] + aside[node] : 0;
    left = Math.min(left, x[node] - widths[node] / 2);
    right = Math.max(right, x[node] + widths[node] / 2);
  }
  const y = new Float64Array(count);
  let rows = 0;
  for (let node = 0; node < count; node++) {
    x[node] += MARGIN - left;
    y[node] = MARGIN + row[node] * (HEIGHT + CLOSE);
    rows = Math.max(rows, row[node]);
  }
  return {x, y, row, width: right - left + 2 * MARGIN, height: 2 * MARGIN + rows * (HEIGHT + CLOSE) + HEIGHT};
}

// An outline is a list of positions per row, the top row last. All positions are moved by `shift`.
function push(outline, half) {
  outline.left.push(-half - outline.shift);
  outline.right.push(half - outline.shift);
}

// Returns the common outline of two neighbors, in the lists of the taller one, and the distance between them.
function join(one, other) {
  const a = one.left.length, b = other.left.length, common = Math.min(a, b);
  let apart = -Infinity;
  for (let k = 1; k <= common; k++) {
    apart = Math.max(apart, one.right[a - k] + one.shift - other.left[b - k] - other.shift);
  }
  other.shift += apart;
  if (a >= b) {
    for (let k = 1; k <= common; k++) one.right[a - k] = other.right[b - k] + other.shift - one.shift;
    return [one, apart];
  }
  for (let k = 1; k <= common; k++) other.left[b - k] = one.left[a - k] + one.shift - other.shift;
  return [other, apart];
}

// --- forests -------------------------------------------------------------------------------------------------------

// Nodes in layers: each node is above all nodes it may expand to, and as near to the middle of its words as its neighbors allow.
// A line that passes a layer takes room there. Tails come before heads.
export function layers(nodes, edges, dotted) {
  const layer = new Int32Array(nodes.length), highest = new Int32Array(nodes.length);
  const choices = new Int32Array(nodes.length);
  for (const edge of edges) {
    choices[edge.head] += 1;
    for (const tail of edge.tails) layer[edge.head] = Math.max(layer[edge.head], layer[tail] + 1);
  }
  highest.set(layer);
  for (const edge of edges) for (const tail of edge.tails) highest[tail] = Math.max(highest[tail], layer[edge.head] - 1);
  const items = Array.from({length: Math.max(...layer) + 1}, () => []);
  const at = nodes.map((node, number) => {
    const column = [];
    for (let k = layer[number]; k <= highest[number]; k++) {
      const passing = k > layer[number];
      const fan = choices[number] > 1 ? STEP * choices[number] + 16 : 0;
      const width = passing ? TRUNK : Math.max(boxWidth(node.label), fan);
      const item = {number, width, begin: node.words[0], end: node.words[1], passing, x: 0};
      column.push(item);
      items[k].push(item);
    }
    return column;
  });
  const slot = slots(items);
  items.forEach((here, k) => {
    for (const item of here) {
      const below = item.passing ? at[item.number][k - 1 - layer[item.number]] : null;
      item.wanted = below ? below.x : (slot.get(item.begin) + slot.get(item.end)) / 2;
    }
    here.sort((a, b) => a.wanted - b.wanted || a.begin + a.end - b.begin - b.end || a.end - a.begin - b.end + b.begin);
    spread(here);
  });
  const every = items.flat();
  const left = every.reduce((low, item) => Math.min(low, item.x - item.width / 2), Infinity);
  for (const item of every) item.x += MARGIN - left;
  const width = every.reduce((far, item) => Math.max(far, item.x + item.width / 2), 0) + MARGIN;
  const with_dots = new Set(edges.filter(dotted).map((edge) => layer[edge.head]));
  const band = items.map((_, k) => HEIGHT + (with_dots.has(k) ? DROP : 0));
  const top = items.map(() => MARGIN);
  for (let k = items.length - 1; k > 0; k--) top[k - 1] = top[k] + band[k] + (with_dots.has(k) ? CHANNEL : CLOSE);
  return {layer, at, band, top, width, height: top[0] + HEIGHT + MARGIN};
}

// Places items without overlap, as near to the wanted positions as possible in the least-squares sense. The order is kept.
function spread(items) {
  const blocks = [], offsets = [];
  let offset = 0;
  items.forEach((item, k) => {
    const before = items[k - 1];
    if (before) offset += (before.width + item.width) / 2 + (before.passing && item.passing ? 4 : GAP);
    offsets.push(offset);
    blocks.push([item.wanted - offset, 1]);
    for (;;) {
      const [last, previous] = [blocks[blocks.length - 1], blocks[blocks.length - 2]];
      if (!previous || previous[0] / previous[1] <= last[0] / last[1]) break;
      blocks.pop();
      previous[0] += last[0];
      previous[1] += last[1];
    }
  });
  const places = blocks.flatMap(([total, number]) => new Array(number).fill(total / number));
  items.forEach((item, k) => (item.x = places[k] + offsets[k]));
}

// Returns the position of each gap between words, such that the nodes over some words fit over them.
function slots(items) {
  const all = items.flatMap((here, k) => here.map((item) => ({...item, k})));
  const ends = [...new Set(all.flatMap((item) => [item.begin, item.end]))].sort((a, b) => a - b);
  const place = new Map(ends.map((end, k) => [end, k]));
  const width = new Float64Array(Math.max(0, ends.length - 1));
  const spans = new Map(all.map((item) => [`${item.begin} ${item.end}`, [place.get(item.begin), place.get(item.end)]]));
  for (const [begin, end] of [...spans.values()].sort((a, b) => a[1] - a[0] - b[1] + b[0] || a[0] - b[0])) {
    const needed = new Float64Array(items.length);
    for (const item of all) {
      if (begin <= place.get(item.begin) && place.get(item.end) <= end) needed[item.k] += item.width + (item.passing ? 6 : GAP);
    }
    let has = 0;
    for (let k = begin; k < end; k++) has += width[k];
    const missing = Math.max(...needed) - has;
    for (let k = begin; missing > 0 && k < end; k++) width[k] += missing / (end - begin);
  }
  let sum = 0;
  return new Map(ends.map((end, k) => [end, k ? (sum += width[k - 1]) : 0]));
}

// --- arcs ----------------------------------------------------------------------------------------------------------

// Arcs over words: short arcs are below long ones, and words are as far apart as the labels need. `least` has minimum widths of words.
export function arcs(words, tags, links, least) {
  const between = words.map(() => 0); // the highest level between a word and the next
  const drawn = [];
  const high = (a, b) => {
    let most = 0;
    for (let k = a; k < b; k++) most = Math.max(most, between[k]);
    return most;
  };
  const ordered = links.filter((link) => link.from >= 0).map((link) => {
    const [left, right] = [Math.min(link.from, link.to), Math.max(link.from, link.to)];
    return {link, left, right, label: shown(link.label ?? "")};
  });
  ordered.sort((a, b) => a.right - a.left - b.right + b.left || a.left - b.left);
  for (const {link, left, right, label} of ordered) {
    const level = 1 + high(left, right);
    between.fill(level, left, right);
    drawn.push({link, label, level, root: false, left: {place: left}, right: {place: right}});
  }
  const roof = high(0, words.length) + 1;
  for (const link of links.filter((link) => link.from < 0)) {
    const end = {place: link.to};
    drawn.push({link, label: shown(link.label ?? ""), level: roof, root: true, left: end, right: end});
  }
  const ends = words.map(() => []);
  for (const arc of drawn) {
    if (arc.root) ends[arc.left.place].push([1, 0, arc.left]);
    else {
      ends[arc.right.place].push([0, arc.level, arc.right]);
      ends[arc.left.place].push([2, -arc.level, arc.left]);
    }
  }
  const widths = ends.map((here, place) => {
    here.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    here.forEach(([, , end], k) => (end.aside = (k - (here.length - 1) / 2) * END));
    const texts = [widthOf(shown(words[place]), WORD), tags ? widthOf(shown(tags[place]), TAG) : 0];
    return Math.max(...texts, (here.length + 1) * END, least[place]);
  });
  const apart = widths.slice(1).map((width, k) => Math.ceil((widths[k] + width) / 2 + APART));
  const crossing = (arc) => drawn.filter((other) => other.level > arc.level)
    .flatMap((other) => (other.root ? [other.left] : [other.left, other.right]))
    .filter((end) => arc.left.place < end.place && end.place < arc.right.place);
  const wide = (arc) => widthOf(arc.label, TAG);
  const needs = drawn.filter((arc) => !arc.root).map((arc) => {
    arc.crossing = crossing(arc);
    const need = (1 + arc.crossing.length) * (wide(arc) + APART) + arc.left.aside - arc.right.aside;
    return [arc.left.place, arc.right.place, need];
  });
  const roots = drawn.filter((arc) => arc.root).sort((a, b) => a.left.place - b.left.place);
  roots.slice(1).forEach((other, k) => {
    const one = roots[k];
    needs.push([one.left.place, other.left.place, (wide(one) + wide(other)) / 2 + APART + one.left.aside - other.left.aside]);
  });
  needs.sort((a, b) => a[1] - a[0] - b[1] + b[0] || a[0] - b[0]);
  for (const [left, right, need] of needs) {
    let has = 0;
    for (let k = left; k < right; k++) has += apart[k];
    const more = Math.ceil((need - has) / (right - left));
    for (let k = left; more > 0 && k < right; k++) apart[k] += more;
  }
  let start = words.length ? widths[0] / 2 : 0;
  if (roots.length) {
    const before = apart.slice(0, roots[0].left.place).reduce((sum, one) => sum + one, 0);
    start = Math.max(start, wide(roots[0]) / 2 - roots[0].left.aside - before);
  }
  const x = [];
  words.forEach((_, k) => x.push(k ? x[k - 1] + apart[k - 1] : MARGIN + Math.ceil(start)));
  let width = words.length ? x[x.length - 1] + widths[widths.length - 1] / 2 : 0;
  for (const arc of drawn) for (const end of [arc.left, arc.right]) end.x = x[end.place] + end.aside;
  for (const arc of drawn) {
    arc.at = arc.root ? arc.left.x : labelPlace(arc, wide(arc) / 2);
    width = Math.max(width, arc.at + wide(arc) / 2);
  }
  const floor = MARGIN + LEVEL * (drawn.length ? Math.max(...drawn.map((arc) => arc.level)) : 0) + 6;
  return {x, widths, drawn, floor, width: width + MARGIN, height: floor + 24 + (tags ? 17 : 0) + MARGIN / 2};
}

// Returns the middle of an arc, or the nearest position where no line crosses the label.
function labelPlace(arc, half) {
  const middle = (arc.left.x + arc.right.x) / 2, reach = Math.floor((arc.right.x - arc.left.x) / 2 - half);
  const crossed = arc.crossing.map((end) => end.x);
  for (let off = 0; off <= Math.max(0, reach); off++) {
    for (const at of [middle - off, middle + off]) {
      if (crossed.every((x) => Math.abs(x - at) > half + APART / 4)) return at;
    }
  }
  return middle;
}

// --- tagged words --------------------------------------------------------------------------------------------------

// Tagged words, in lines of limited width.
export function line(words, tags, limit = LINE) {
  const places = [];
  let x = MARGIN, y = MARGIN, far = 0;
  words.forEach((word, k) => {
    const width = Math.max(28, widthOf(shown(word), FONT + 1) + 8, widthOf(shown(tags[k]), TAG) + 2 * PAD);
    if (x > MARGIN && x + width > limit) {
      x = MARGIN;
      y += 2 * HEIGHT + CLOSE;
    }
    places.push({x: x + width / 2, y, width});
    x += width + GAP;
    far = Math.max(far, x - GAP);
  });
  return {places, width: far + MARGIN, height: y + 2 * HEIGHT + MARGIN};
}
