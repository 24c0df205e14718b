// Draws a scene as SVG. All texts are set as text, never parsed as markup.

import {html} from "./elements.js";
import {FONT, HEIGHT, SMALL, TAG, shown, widthOf} from "./layouts.js";
import {signed} from "./scenes.js";

export const SVG = "http://www.w3.org/2000/svg";
export const SIGNS = {delete: "−", insert: "+", rename: "~"}, NAMES = {delete: "deleted", insert: "inserted", rename: "renamed"};
const TONES = 7, DESCRIBED = 500; // characters of a node's description
const SHARED = /^REL-/; // labels that treelet.cuts.mark_shared has marked

export function el(name, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  return made;
}

const toned = (tone) => (tone === undefined ? "" : `treelet-tone-${tone}`);

function frame({x, y, w, h}, off) {
  return {x: x - w / 2 - off, y: y - off, width: w + 2 * off, height: h + 2 * off};
}

// Draws a scene into an SVG element. Returns the elements that change later: the lines, and the groups and boxes of nodes by number.
export function drawn(svg, scene, {marks = [], folds, interactive}) {
  const description = scene.description.slice(0, DESCRIBED);
  svg.replaceChildren(el("title", {}, description));
  svg.setAttribute("width", Math.ceil(scene.width));
  svg.setAttribute("height", Math.ceil(scene.height));
  svg.setAttribute("role", interactive ? scene.role : "img");
  svg.setAttribute("aria-label", description);
  svg.classList.toggle("treelet-heated", scene.hottest > 0);
  svg.classList.toggle("treelet-edited", scene.edited === true);
  const lines = scene.lines.map((line) => ({...line, path: el("path", {d: line.d, class: `treelet-line ${toned(line.tone)}`})}));
  svg.append(...lines.map((line) => line.path));
  svg.append(...lines.flatMap(onLine), ...scene.dots.flatMap(dot), ...outlines(marks, scene, lines));
  const groups = new Map(), boxes = new Map();
  for (const box of scene.boxes) {
    const group = node(box, scene);
    if (interactive) label(group, box, scene, folds);
    svg.append(group);
    if (box.more) continue;
    groups.set(box.number, group);
    boxes.set(box.number, box);
  }
  return {lines, groups, boxes};
}

function onLine({arrow, label, tone}) {
  const made = [];
  if (arrow) made.push(el("path", {d: `M${arrow.x - 3.5} ${arrow.y - 5}h7l-3.5 6.5z`, class: `treelet-arrow ${toned(tone)}`}));
  if (label) {
    const d = `M${label.x - label.w / 2} ${label.y - 7}h${label.w}v14h${-label.w}z`;
    const at = {x: label.x, y: label.y + 3.8, "font-size": TAG};
    made.push(el("path", {d, class: "treelet-ground"}), el("text", {...at, class: `treelet-relation ${toned(tone)}`}, label.text));
  }
  return made;
}

function dot({x, y, tone, label, left}) {
  const made = [el("circle", {cx: x, cy: y, r: tone === "best" ? 3.2 : 2.8, class: `treelet-dot ${toned(tone)}`})];
  if (label) {
    const at = {x: x + (left ? -5 : 5), y: y + 3, "text-anchor": left ? "end" : "start", "font-size": SMALL};
    made.push(el("text", {...at, class: `treelet-chance ${toned(tone)}`}, label));
  }
  return made;
}

// Marks fragments: each node gets an outline in the color of its fragment. Outlines of several fragments surround each other.
function outlines(marks, scene, lines) {
  const made = [], around = new Map();
  for (const {nodes, tone = 0} of marks) {
    const inside = new Set(nodes), style = `treelet-mark ${toned(tone % TONES)}`;
    for (const {from, to, d} of lines) {
      if (from !== to && inside.has(from) && inside.has(to)) made.push(el("path", {d, class: `${style} treelet-marked-line`}));
    }
    for (const box of scene.boxes) {
      if (box.more || !inside.has(box.number)) continue;
      const off = 3.5 + 3 * (around.get(box.number) ?? 0);
      around.set(box.number, (around.get(box.number) ?? 0) + 1);
      made.push(el("rect", {...frame(box, off), rx: 5 + off, class: style}));
    }
  }
  return made;
}

function node(box, scene) {
  const {x, y, h} = box, kind = box.more ? "more" : box.root ? "hidden" : box.leaf ? "word" : "node";
  const group = el("g", {class: `treelet-${kind}${box.open ? " treelet-open" : ""}${box.edit ? ` treelet-${box.edit}` : ""}${SHARED.test(box.text) ? " treelet-shared" : ""}${box.best === false ? " treelet-faint" : box.best ? " treelet-best" : ""}`});
  group.dataset.number = box.number;
  if (box.more) group.dataset.more = box.more;
  group.append(el("title", {}, described(box)));
  if (box.root) group.append(el("circle", {cx: x, cy: y + HEIGHT / 2, r: 6, class: "treelet-box"}));
  else group.append(el("rect", {...frame(box, 0), rx: 5, class: "treelet-box"}));
  const shade = (style, strength) => {
    const made = el("rect", {...frame(box, 0), rx: 5, class: style});
    made.style.setProperty("--treelet-shade", strength.toFixed(3));
    group.append(made);
  };
  if (box.heat && scene.hottest) {
    shade(`treelet-heat ${box.heat > 0 ? "treelet-plus" : "treelet-minus"}`, Math.abs(box.heat) / scene.hottest);
  } else if (box.shade !== undefined && !box.leaf && !box.root) shade("treelet-likely", box.shade);
  const small = box.small && !box.size;
  const write = (down, size, text, style = "") => group.append(el("text", {x, y: y + down, "font-size": size, class: style}, shown(text)));
  if (!box.root) write(box.size ? 18 : small ? 14 : box.leaf ? 21 : 19.5, box.size ?? (box.leaf ? FONT + 1 : FONT), box.text);
  if (small) write(25.5, SMALL, box.small, "treelet-small");
  else if (box.small) write(h - 4, SMALL, box.small, "treelet-small");
  if (box.tag) write(35, TAG, box.tag, "treelet-small");
  if (box.below !== undefined) write(h + 20, FONT + 1, box.below, "treelet-under");
  if (box.edit === "delete") {
    const half = 0.45 * widthOf(shown(box.text), FONT) + 2; // the estimate is rather too large
    group.append(el("path", {d: `M${x - half} ${y + h / 2 + 0.5}h${2 * half}`, class: "treelet-strike"}));
  }
  if (box.edit) {
    const left = x - box.w / 2;
    group.append(el("circle", {cx: left, cy: y, r: 6.5, class: "treelet-sign"}),
      el("text", {x: left, y: y + 4, "font-size": 12, class: "treelet-sign-text"}, SIGNS[box.edit]));
  }
  return group;
}

// Adds the role, label and state of a node for screen readers.
function label(group, box, scene, folds) {
  const item = scene.role === "tree";
  group.setAttribute("role", item ? "treeitem" : "button");
  group.setAttribute("aria-label", described(box));
  group.setAttribute("tabindex", "-1");
  if (!item) return;
  group.setAttribute("aria-level", box.level);
  if (!box.more && folds.kids[box.number]) group.setAttribute("aria-expanded", String(!!folds.open.get(box.number)));
}

function described(box) {
  const name = box.more ? `${box.text} more nodes: click to show` : box.text || "hidden root";
  const all = [name, box.open ? "open category" : "", box.edit ? `${NAMES[box.edit]} ${box.small}`.trim() : "", box.below, box.tag, box.about, box.heat ? `share ${signed(box.heat)}` : ""];
  return all.filter(Boolean).join(", ").slice(0, DESCRIBED);
}

// Returns the sign of an operation as an element of a page.
export function chip(kind) {
  return html("span", `treelet-chip treelet-${kind}`, SIGNS[kind]);
}

// Returns the meaning of the signs that occur.
export function editLegend(edits) {
  const made = html("div", "treelet-legend"), kinds = new Set(edits.map((edit) => edit.kind));
  for (const kind of Object.keys(SIGNS).filter((kind) => kinds.has(kind))) {
    const item = html("span", "treelet-key");
    item.append(chip(kind), NAMES[kind]);
    made.append(item);
  }
  return made;
}

export function legend(hottest) {
  const made = html("div", "treelet-legend");
  made.append(html("span", "", signed(-hottest)), html("span", "treelet-scale"), html("span", "", signed(hottest)));
  made.append(html("span", "treelet-key", "orange: negative, blue: positive share"));
  return made;
}
