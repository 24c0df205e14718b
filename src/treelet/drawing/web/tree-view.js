// Interactive pictures of trees, forests, dependency parses and tagged words, with zoom, keyboard navigation and highlights.
//
//   import {treeView} from "./tree-view.js";
//   const view = treeView(element, picture, options);
//   view.update(picture); view.mark([3, 4]); view.mark(null); view.select(3); view.destroy();
//
// `element` receives the events "treelet:node" ({number}, on a click or Enter) and "treelet:hover" ({number}, or null).
// Pictures are JSON from treelet.drawing.web.pictures:
//   {kind: "tree", labels: [...], parents: [-1, 0, ...], heat?: [...], marks?: [{nodes: [...], tone: 0}], open?: [...]}  in pre-order
//   (open: leaves of a fragment that are categories, not words)
//   (edits?: [{node, kind: "delete", "insert" or "rename", text}]: the changed nodes of an edit script; text: the other label)
//   (scale?: the value with the strongest color, for pictures that are compared with each other. Default: the largest of heat)
//   {kind: "forest", nodes: [{label, words: [i, j], p}], edges: [{head, tails, p, best}], words: [...], root}
//   {kind: "arcs", words: [...], tags?: [...], links: [{from, to, label}], directed?, heat?}                 from: -1 for the root
//   {kind: "tagged", words: [...], tags: [...], heat?, marks?}
// Options: words ("bottom": in one row, or "hang": below their parents), limit and levels (nodes and levels that are shown at
// first), interactive.
//
// Labels come from untrusted files, so texts are always set as text. Colors are in tree-view.css.

import {SVG, drawn, editLegend, el, legend} from "./drawing.js";
import {html} from "./elements.js";
import {Folds, scene} from "./scenes.js";

const DEFAULTS = {words: "bottom", limit: 300, levels: 24, interactive: true};
const CLOSEST = 8; // maximum zoom
const DRAG = 4; // pixels that a pointer may move during a click

export function treeView(element, picture, options = {}) {
  return new View(element, picture, {...DEFAULTS, ...options});
}

class View {
  constructor(element, picture, options) {
    Object.assign(this, {element, options, marked: null, selected: options.selected ?? null, focused: 0, hovered: null});
    this.root = html("div", "treelet-view");
    this.svg = el("svg", {xmlns: SVG, class: "treelet-picture"});
    this.tools = html("div", "treelet-tools");
    this.below = html("div", "treelet-below");
    for (const [sign, name, act] of [["+", "Zoom in", () => this.zoom(1.4)], ["−", "Zoom out", () => this.zoom(1 / 1.4)],
      ["⤢", "Reset zoom", () => this.fit()]]) {
      const button = html("button", "treelet-button", sign);
      button.type = "button";
      button.title = name;
      button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      this.tools.append(button);
    }
    this.root.append(this.svg, this.below);
    if (options.interactive) {
      this.root.append(this.tools);
      this.listen();
    }
    element.append(this.root);
    this.update(picture);
  }

  update(picture) {
    const same = picture.kind === "tree" && this.picture?.kind === "tree" && !picture.edits === !this.picture.edits &&
      sameNumbers(picture.parents, this.picture.parents);
    const edits = picture.edits?.map((edit) => edit.node) ?? null;
    this.picture = picture;
    if (!same) {
      this.folds = picture.kind === "tree" ? new Folds(picture.parents, this.options.limit, this.options.levels, edits) : null;
      this.focused = 0;
      this.marked = null;
    } else if (edits) this.folds.reveal(edits);
    this.draw(same);
  }

  mark(nodes) {
    this.marked = nodes === null || nodes === undefined ? null : new Set(nodes);
    if (this.marked && this.folds?.reveal(this.marked)) this.draw(true);
    else this.paintMarked();
  }

  select(number) {
    this.selected = number;
    const exists = this.folds && number !== null && number < this.picture.labels.length;
    if (exists && this.folds.reveal([number])) this.draw(true);
    else this.paintSelected();
  }

  paintSelected() {
    const number = this.selected;
    for (const [node, group] of this.groups) {
      group.classList.toggle("treelet-selected", node === number);
      if (this.scene.role === "tree") group.setAttribute("aria-selected", String(node === number));
    }
  }

  destroy() {
    this.root.remove();
  }

  // --- drawing -----------------------------------------------------------------------------------------------------

  draw(keepPlace = false) {
    const had = this.svg.contains(document.activeElement);
    const made = (this.scene = scene(this.picture, this.folds, this.options));
    const {folds, picture} = this, {interactive} = this.options;
    Object.assign(this, drawn(this.svg, made, {marks: picture.marks, folds, interactive}));
    this.below.replaceChildren();
    if (made.hottest) this.below.append(legend(made.hottest));
    if (picture.edits?.length) this.below.append(editLegend(picture.edits));
    if (made.note) {
      const note = html("p", "treelet-note", made.note);
      note.setAttribute("role", "status");
      this.below.append(note);
    }
    this.paintMarked();
    this.paintSelected();
    if (!keepPlace || !this.place) this.fit();
    else this.show();
    if (!this.boxes.has(this.focused)) this.focused = made.boxes[0]?.number ?? 0;
    if (interactive) this.groups.get(this.focused)?.setAttribute("tabindex", "0");
    if (had) this.groups.get(this.focused)?.focus({preventScroll: true});
  }

  paintMarked() {
    const {marked} = this;
    this.svg.classList.toggle("treelet-marking", marked !== null);
    // A category without marked children is a leaf of the fragment, so it has the dashed box of an open category.
    const parents = this.picture.kind === "tree" && !this.picture.edits ? this.picture.parents : [];
    const inner = new Set(parents), expanded = new Set(parents.filter((parent, number) => marked?.has(number)));
    for (const [number, group] of this.groups) {
      group.classList.toggle("treelet-lit", !!marked?.has(number));
      group.classList.toggle("treelet-lit-open", !!marked?.has(number) && inner.has(number) && !expanded.has(number));
    }
    for (const {path, from, to} of this.lines) path.classList.toggle("treelet-lit", !!marked && marked.has(from) && marked.has(to));
  }

  // --- zoom and pan ------------------------------------------------------------------------------------------------

  fit() {
    this.place = {x: 0, y: 0, scale: 1};
    this.show();
  }

  zoom(factor, at = null) {
    const {width, height} = this.scene, {place} = this;
    const scale = Math.min(CLOSEST * Math.max(1, width / 900), Math.max(1, place.scale * factor));
    const [u, v] = at ?? [0.5, 0.5];
    place.x += (width / place.scale - width / scale) * u;
    place.y += (height / place.scale - height / scale) * v;
    place.scale = scale;
    this.show();
  }

  show() {
    const {width, height} = this.scene, {place} = this;
    const [w, h] = [Math.max(1, width) / place.scale, Math.max(1, height) / place.scale];
    place.x = Math.max(0, Math.min(place.x, width - w));
    place.y = Math.max(0, Math.min(place.y, height - h));
    this.svg.setAttribute("viewBox", [place.x, place.y, w, h].map((value) => +value.toFixed(2)).join(" "));
    this.root.classList.toggle("treelet-zoomed", place.scale > 1);
  }

  // Moves the visible part of a zoomed picture to a node.
  reach(number) {
    const box = this.boxes.get(number), {width, height} = this.scene, {place} = this;
    if (!box || place.scale === 1) return;
    const [w, h] = [width / place.scale, height / place.scale];
    place.x = Math.min(Math.max(place.x, box.x + box.w / 2 + 20 - w), box.x - box.w / 2 - 20);
    place.y = Math.min(Math.max(place.y, box.y + box.h + 20 - h), box.y - 20);
    this.show();
  }

  // --- events ------------------------------------------------------------------------------------------------------

  dispatch(name, number) {
    this.element.dispatchEvent(new CustomEvent(`treelet:${name}`, {detail: {number}, bubbles: true}));
  }

  hover(number) {
    if (number === this.hovered) return;
    this.hovered = number;
    this.dispatch("hover", number);
  }

  press(group) {
    const number = Number(group.dataset.number);
    if (group.dataset.more) {
      this.folds.unfold(number);
      this.focused = number;
      this.draw(true);
      return;
    }
    this.focus(number);
    this.dispatch("node", number);
  }

  focus(number) {
    if (!this.groups.has(number)) return;
    this.groups.get(this.focused)?.setAttribute("tabindex", "-1");
    this.focused = number;
    const group = this.groups.get(number);
    group.setAttribute("tabindex", "0");
    group.focus({preventScroll: true});
    this.reach(number);
  }

  listen() {
    const {svg} = this, pointers = new Map();
    const group = (event) => event.target.closest?.("g[data-number]");
    let moved = false;
    svg.addEventListener("click", (event) => {
      const found = group(event);
      if (found && !moved) this.press(found);
    });
    svg.addEventListener("dblclick", (event) => {
      const found = group(event);
      if (found && !found.dataset.more && this.folds) this.fold(Number(found.dataset.number));
      else if (!found) this.fit();
    });
    svg.addEventListener("pointerover", (event) => this.hover(number(group(event))));
    svg.addEventListener("pointerleave", () => this.hover(null));
    svg.addEventListener("focusin", (event) => this.hover(number(group(event))));
    svg.addEventListener("focusout", () => this.hover(null));
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // without a modifier key, the wheel scrolls the page
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), this.within(event));
    }, {passive: false});
    svg.addEventListener("pointerdown", (event) => {
      moved = false;
      pointers.set(event.pointerId, event);
    });
    svg.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before || this.place.scale === 1 && pointers.size < 2) return;
      const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
      if (!moved && Math.hypot(dx, dy) < DRAG) return;
      if (!moved) svg.setPointerCapture(event.pointerId);
      moved = true;
      if (pointers.size === 2) {
        const other = [...pointers.values()].find((one) => one.pointerId !== event.pointerId);
        const apart = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
        this.zoom(apart(event) / Math.max(1, apart(before)), this.within(event));
      } else {
        const unit = this.unit();
        this.place.x -= dx * unit;
        this.place.y -= dy * unit;
        this.show();
      }
      pointers.set(event.pointerId, event);
    });
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
      svg.addEventListener(name, (event) => pointers.delete(event.pointerId));
    }
  }

  // Returns the length in the picture that corresponds to a pixel of the page.
  unit() {
    const box = this.svg.getBoundingClientRect();
    return this.scene.width / this.place.scale / Math.max(1, box.width);
  }

  within(event) {
    const box = this.svg.getBoundingClientRect();
    return [(event.clientX - box.left) / Math.max(1, box.width), (event.clientY - box.top) / Math.max(1, box.height)];
  }

  fold(node) {
    this.folds.toggle(node);
    this.focused = node;
    this.draw(true);
    this.focus(node);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const found = event.target.closest?.("g[data-number]");
    const acts = {
      Enter: () => found && this.press(found),
      " ": () => found && (found.dataset.more || !this.folds ? this.press(found) : this.fold(this.focused)),
      "+": () => this.zoom(1.4), "=": () => this.zoom(1.4), "-": () => this.zoom(1 / 1.4), 0: () => this.fit(),
      Home: () => this.focus(this.scene.boxes[0]?.number),
    };
    if (Object.hasOwn(acts, event.key)) acts[event.key]();
    else if (event.key.startsWith("Arrow")) this.walk(event.key.slice(5));
    else return;
    event.preventDefault();
  }

  walk(way) {
    if (this.folds && way === "Down" && !this.folds.open.get(this.focused) && this.folds.kids[this.focused]) {
      this.folds.unfold(this.focused);
      this.draw(true);
    }
    const next = this.folds ? this.relative(way) : this.nearest(way);
    if (next !== null) this.focus(next);
  }

  relative(way) {
    const {parents, first, next, open} = this.folds, node = this.focused;
    if (way === "Up") return node > 0 ? parents[node] : null;
    if (way === "Down") return open.get(node) ? first[node] : null;
    const row = this.boxes.get(node), near = {Left: -1, Right: 1}[way];
    let best = null; // the neighbor in the row; siblings are preferred
    if (node > 0) {
      const line = [];
      for (let kid = first[parents[node]], k = 0; k < open.get(parents[node]); k++, kid = next[kid]) line.push(kid);
      best = line[line.indexOf(node) + near] ?? null;
    }
    return best ?? this.nearest(way, (box) => box.y === row.y);
  }

  // Returns the nearest node in a direction.
  nearest(way, among = () => true) {
    const here = this.boxes.get(this.focused);
    if (!here) return null;
    const [ax, ay] = {Up: [0, -1], Down: [0, 1], Left: [-1, 0], Right: [1, 0]}[way];
    let best = null, least = Infinity;
    for (const [number, box] of this.boxes) {
      const [dx, dy] = [box.x - here.x, box.y - here.y], along = dx * ax + dy * ay;
      if (along <= 1 || !among(box)) continue;
      const far = along + 3 * Math.abs(dx * ay + dy * ax);
      if (far < least) [best, least] = [number, far];
    }
    return best;
  }
}

const number = (group) => (group && !group.dataset.more ? Number(group.dataset.number) : null);
const sameNumbers = (a, b) => a.length === b.length && a.every((value, k) => value === b[k]);
