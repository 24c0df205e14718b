// Turns a picture, given as JSON, into a scene: boxes, lines and dots with their positions. Needs no page.

import {
  CLOSE, CORNER, FONT, HEIGHT, LEVEL, SMALL, STEP, TAG, WORD, arcs, boxWidth, layers, line, shown, tidy, widthOf,
} from "./layouts.js";

export function scene(picture, folds, options) {
  const kinds = {tree, forest, arcs: parse, tagged};
  if (!Object.hasOwn(kinds, picture?.kind)) throw new TypeError(`tree-view: unknown kind of picture: ${picture?.kind}`);
  const hot = (picture.heat ?? []).map((value) => (Number.isFinite(value) ? value : 0));
  const hottest = hot.reduce((most, value) => Math.max(most, Math.abs(value)), hot.length && picture.scale > 0 ? picture.scale : 0);
  const heat = (number) => hot[number] ?? 0;
  const small = (number) => (Math.abs(heat(number)) >= hottest / 50 && heat(number) ? signed(heat(number)) : "");
  return {hottest, ...kinds[picture.kind](picture, {heat, small}, folds, options)};
}

const nothing = (note) => ({boxes: [], lines: [], dots: [], width: 0, height: 0, role: "img", description: note, note});

// Formats a number with two significant digits and its sign.
export function signed(value) {
  const size = Math.abs(value);
  const digits = size === 0 ? "0" : size >= 1e4 || size < 0.001 ? size.toExponential(1) : size < 99.5 ? size.toPrecision(2) : size.toFixed(0);
  return (value < 0 ? "−" : value > 0 ? "+" : "") + digits;
}

// --- trees ---------------------------------------------------------------------------------------------------------

const ACROSS = 40; // leaves of a large tree that are shown at first

// Stores how many children of each node are shown. Large trees are folded.
export class Folds {
  // With `edits`, a tree with many leaves is folded except for these nodes.
  constructor(parents, limit, levels, edits = null) {
    Object.assign(this, {parents, limit, levels});
    const count = parents.length;
    this.first = new Int32Array(count).fill(-1);
    this.next = new Int32Array(count).fill(-1);
    this.kids = new Int32Array(count);
    this.size = new Int32Array(count).fill(1);
    for (let node = count - 1; node > 0; node--) {
      const parent = parents[node];
      if (!(parent >= 0 && parent < node)) throw new TypeError(`tree-view: node ${node} must follow its parent`);
      this.next[node] = this.first[parent];
      this.first[parent] = node;
      this.kids[parent] += 1;
      this.size[parent] += this.size[node];
    }
    this.open = new Map();
    this.leaves = count > limit ? ACROSS : Infinity;
    const leaves = this.kids.reduce((sum, kids) => sum + (kids === 0), 0);
    if (count && !(edits?.length && leaves > ACROSS)) this.unfold(0);
    if (edits) this.reveal(edits);
  }

  // Opens a node further, level by level, up to the limit.
  unfold(from) {
    const had = this.open.get(from) ?? 0;
    let room = this.limit, level = [from], wide = this.leaves;
    for (let depth = 0; depth < this.levels && level.length && room > 0; depth++) {
      const below = [];
      for (const node of level) {
        const start = node === from ? had : 0;
        const take = Math.min(this.kids[node], start + room, start + Math.max(1, wide));
        this.open.set(node, take);
        room -= take - start;
        wide -= Math.max(0, take - start - 1);
        let kid = this.first[node];
        for (let k = 0; k < take; k++, kid = this.next[kid]) if (k >= start) below.push(kid);
        if (room <= 0) break;
      }
      level = below;
    }
  }

  // Opens the ancestors of these nodes, within the limit. Returns whether anything has changed.
  reveal(nodes) {
    let room = this.limit, changed = false;
    for (const node of nodes) {
      const steps = [];
      let more = 0;
      for (let step = node; step > 0 && more <= room; step = this.parents[step]) {
        const parent = this.parents[step], open = this.open.get(parent) ?? 0;
        let place = 1;
        for (let kid = this.first[parent]; kid !== step; kid = this.next[kid]) place += 1;
        if (place <= open) continue;
        steps.push([parent, place]);
        more += place - open;
      }
      if (!steps.length || more > room) continue;
      for (const [parent, place] of steps) this.open.set(parent, place);
      room -= more;
      changed = true;
    }
    return changed;
  }

  toggle(node) {
    if (!this.kids[node]) return;
    if (this.open.get(node)) this.open.set(node, 0);
    else this.unfold(node);
  }

  // Returns the visible nodes in pre-order, each with the index of its parent in this list. An entry with `hidden` stands for folded
  // nodes.
  visible() {
    const out = [], stack = [[0, -1, 0]];
    while (stack.length) {
      const [number, parent, hidden] = stack.pop();
      const place = out.push({number, parent, hidden}) - 1;
      if (hidden) continue;
      const open = this.open.get(number) ?? 0, list = [];
      let kid = this.first[number], left = this.size[number] - 1;
      for (let k = 0; k < open; k++, kid = this.next[kid]) {
        list.push([kid, place, 0]);
        left -= this.size[kid];
      }
      if (open < this.kids[number]) list.push([number, place, left]);
      while (list.length) stack.push(list.pop());
    }
    return out;
  }
}

function tree(picture, {heat, small}, folds, options) {
  const count = picture.labels.length;
  if (!count) return nothing("An empty tree.");
  const visible = folds.visible(), openNodes = new Set(picture.open);
  const edits = new Map((picture.edits ?? []).map((edit) => [edit.node, edit]));
  const boxes = visible.map(({number, parent, hidden}) => {
    const text = hidden ? `+${hidden.toLocaleString("en")}` : String(picture.labels[number]);
    const open = !hidden && openNodes.has(number);
    const leaf = hidden > 0 || (folds.kids[number] === 0 && !open);
    const {kind: edit, text: other} = (hidden ? null : edits.get(number)) ?? {};
    const value = hidden ? "" : other || small(number);
    const wide = Math.max(leaf && !edit ? widthOf(shown(text), FONT + 1) + 4 : boxWidth(text), value ? widthOf(value, SMALL) + (edit ? 14 : 8) : 0);
    return {number, text, leaf, open, edit, more: hidden, up: parent, w: wide, h: HEIGHT, heat: hidden ? 0 : heat(number), small: value};
  });
  const places = tidy(visible.map((node) => node.parent), boxes.map((box) => box.w), options.words !== "hang");
  boxes.forEach((box, k) => {
    box.x = places.x[k];
    box.y = places.y[k];
    box.level = box.up < 0 ? 1 : boxes[box.up].level + 1;
  });
  const lines = boxes.slice(1).map((box) => {
    const above = boxes[box.up], foot = above.y + HEIGHT, top = foot + CLOSE, half = (foot + top) / 2;
    const end = box.y + (box.leaf && !box.small && !box.edit ? 6 : 0);
    return {
      d: `M${f(above.x)} ${f(foot)}C${f(above.x)} ${f(half)} ${f(box.x)} ${f(half)} ${f(box.x)} ${f(top)}V${f(end)}`,
      from: above.number, to: box.more ? -1 : box.number,
    };
  });
  const seen = visible.filter((node) => !node.hidden).length;
  const words = [];
  for (let node = 0; node < count && words.length < 60; node++) if (!folds.kids[node]) words.push(picture.labels[node]);
  return {
    ...places, boxes, lines, dots: [], role: "tree", edited: picture.edits !== undefined,
    description: `Tree of ${count.toLocaleString("en")} node${count === 1 ? "" : "s"}: ${words.join(" ")}${words.length === 60 ? " …" : ""}`,
    note: seen < count ? `${seen.toLocaleString("en")} of ${count.toLocaleString("en")} nodes are shown. Click + to show more.` : "",
  };
}

const f = (value) => +value.toFixed(1);

// --- forests -------------------------------------------------------------------------------------------------------

function forest(picture, {heat}, folds, options) {
  let {nodes, edges} = picture, numbers = nodes.map((_, k) => k), note = "";
  if (!nodes.length) return nothing("An empty forest.");
  const best = new Set([picture.root]), chosen = new Map(); // nodes and edges of the most probable tree
  edges.forEach((edge, k) => {
    if (edge.best) chosen.set(edge.head, k);
    if (edge.best) for (const tail of edge.tails) best.add(tail);
  });
  if (nodes.length + edges.length > options.limit) {
    note = `The most probable tree of a forest of ${nodes.length.toLocaleString("en")} nodes and ${edges.length.toLocaleString("en")} edges, which is too large to draw.`;
    numbers = numbers.filter((number) => best.has(number));
    if (numbers.length > options.limit) return nothing(`${note} The tree is too large to draw as well.`);
    const place = new Map(numbers.map((number, k) => [number, k]));
    edges = numbers.filter((number) => chosen.has(number)).map((number) => edges[chosen.get(number)])
      .map((edge) => ({...edge, head: place.get(edge.head), tails: edge.tails.map((tail) => place.get(tail))}));
    nodes = numbers.map((number) => nodes[number]);
  }
  const own = nodes.map(() => []);
  edges.forEach((edge, k) => own[edge.head].push(k));
  const choice = own.some((list) => list.length > 1);
  const dotted = (edge) => own[edge.head].length > 1 || (edge.tails.length > 1 && choice);
  const {layer, at, band, top, width, height} = layers(nodes, edges, dotted);
  const boxes = nodes.map((node, k) => {
    const number = numbers[k], p = node.p, leaf = !own[k].length;
    return {
      number, text: node.label, leaf, root: !node.label, x: at[k][0].x, y: top[layer[k]], h: HEIGHT, level: 1,
      w: leaf ? widthOf(shown(node.label), FONT + 1) + 4 : boxWidth(node.label), shade: p, best: best.has(number),
      small: leaf ? "" : probability(p), up: -1, heat: heat(number),
      about: `over words ${node.words[0]} to ${node.words[1]}, probability ${+p.toPrecision(3)}`,
    };
  });
  const lines = [], dots = [];
  own.forEach((list, head) => {
    const middle = (edge) => edge.tails.reduce((sum, tail) => sum + at[tail][0].x, 0) / edge.tails.length;
    const here = [...list].sort((a, b) => middle(edges[a]) - middle(edges[b]));
    const ranks = [...list].sort((a, b) => edges[b].p - edges[a].p);
    here.forEach((k, place) => {
      const edge = edges[k], above = layer[head], x0 = at[head][0].x;
      const x = x0 + (place - (here.length - 1) / 2) * STEP, y = top[above] + band[above];
      const foot = top[above] + (nodes[head].label ? HEIGHT : HEIGHT / 2 + 6);
      const bold = best.has(numbers[head]) && (note !== "" || chosen.get(numbers[head]) === k);
      const tone = bold ? "best" : here.length > 1 ? ranks.indexOf(k) % 7 : "only";
      lines.push({d: `M${f(x0)} ${f(foot)}L${f(x)} ${f(y)}`, from: numbers[head], to: numbers[head], tone});
      for (const tail of edge.tails) {
        let d = `M${f(x)} ${f(y)}`, [a, b] = [x, y];
        for (let k2 = above - 1; k2 >= layer[tail]; k2--) {
          const item = at[tail][k2 - layer[tail]], high = top[k2] + (k2 === 0 ? 6 : 0), half = (b + high) / 2;
          d += `C${f(a)} ${f(half)} ${f(item.x)} ${f(half)} ${f(item.x)} ${f(high)}`;
          [a, b] = [item.x, high];
          if (item.passing) d += `V${f((b = high + band[k2]))}`;
        }
        lines.push({d, from: numbers[head], to: numbers[tail], tone});
      }
      if (dotted(edge)) {
        const label = here.length > 1 ? probability(edge.p) || "1.00" : "";
        dots.push({x, y, tone, label, left: x < x0 - 1});
      }
    });
  });
  lines.sort((a, b) => (a.tone === "best") - (b.tone === "best"));
  const words = (picture.words ?? []).join(" ");
  return {boxes, lines, dots, width, height, role: "group", note, description: `Packed forest of ${picture.nodes.length} nodes: ${words}`};
}

function probability(p) {
  return p > 0.9995 ? "" : p >= 0.995 ? p.toFixed(3) : p >= 0.01 ? p.toFixed(2) : p.toExponential(0);
}

// --- sentences -----------------------------------------------------------------------------------------------------

function some(picture, limit) {
  const all = picture.words.length, cut = all > limit;
  const words = picture.words.slice(0, limit).map(String);
  const tags = picture.tags ? picture.tags.slice(0, limit).map(String) : null;
  return {words, tags, note: cut ? `The first ${limit} of ${all.toLocaleString("en")} words are shown.` : ""};
}

function parse(picture, {heat, small}, folds, options) {
  const {words, tags, note} = some(picture, Math.min(options.limit, 60));
  const links = picture.links.filter((link) => link.from < words.length && link.to < words.length);
  const least = words.map((_, number) => (small(number) ? widthOf(small(number), SMALL) + 8 : 0)), more = Math.max(0, ...least) ? 13 : 0;
  const {x, widths, drawn, floor, width, height} = arcs(words, tags, links, least);
  const boxes = words.map((word, number) => ({
    number, text: word, leaf: true, x: x[number], y: floor, w: widths[number], h: (tags ? 41 : 24) + more, size: WORD, level: 1, up: -1,
    tag: tags ? tags[number] : "", heat: heat(number), small: small(number),
  }));
  const lines = drawn.map((arc) => {
    const y = floor - LEVEL * arc.level, [one, other] = [arc.left.x, arc.right.x];
    const bend = `q0 ${-CORNER} ${CORNER} ${-CORNER}H${f(other - CORNER)}q${CORNER} 0 ${CORNER} ${CORNER}`;
    return {
      d: arc.root ? `M${f(one)} ${f(floor)}V${f(y)}` : `M${f(one)} ${f(floor)}V${f(y + CORNER)}${bend}V${f(floor)}`,
      from: arc.link.from, to: arc.link.to, tone: arc.root ? "root" : "arc",
      label: {text: arc.label, x: arc.at, y, w: widthOf(arc.label, TAG) + 4},
      arrow: picture.directed === false ? null : {x: (arc.link.to === arc.left.place ? arc.left : arc.right).x, y: floor},
    };
  });
  lines.reverse();
  return {boxes, lines, dots: [], width, height: height + more, role: "group", note, description: `Dependency parse: ${words.join(" ")}`};
}

function tagged(picture, {heat, small}, folds, options) {
  const {words, tags, note} = some({...picture, tags: picture.tags ?? picture.words.map(() => "")}, options.limit);
  const {places, width, height} = line(words, tags);
  const boxes = words.map((word, number) => ({
    number, text: tags[number], leaf: false, x: places[number].x, y: places[number].y, w: places[number].width, h: HEIGHT,
    level: 1, up: -1, below: word, heat: heat(number), small: small(number),
  }));
  return {boxes, lines: [], dots: [], width, height, role: "group", note, description: `Tagged words: ${words.join(" ")}`};
}
