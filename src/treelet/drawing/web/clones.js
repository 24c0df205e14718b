// Shows the functions of a family of clones side by side with their medoid, and filters the list of families.
//
// The block of JSON of a family has `sources`, one per listed member with the medoid first ({first, lines, more} or null), and
// `pairs`, one per listed member ({blocks, left, right} or null). A block [a, b, c, d] puts the lines a to b - 1 of the medoid
// beside the lines c to d - 1 of the member. `left` and `right` have one sign per line.

import {html} from "./elements.js";

const KINDS = {" ": "", ".": "text-only", "~": "changed", "+": "inserted", "-": "deleted", m: "moved", v: "variables"};
const SHOWN = {" ": "", ".": "≈", "~": "~", "+": "+", "-": "−", m: "↕", v: "≠"};
const MEANINGS = {".": "differs in text only", "~": "changed", "+": "inserted", "-": "deleted", m: "moved", v: "other variables"};
const CONTEXT = 3, FOLDED = 8; // lines that stay visible around a difference; fewest lines that are folded

const families = [...document.querySelectorAll(".family")];

// Which tokens of two lines differ: one by one if the lines have equally many, otherwise all between the common ends.
function differing(left, right) {
  const [a, b] = [left, right].map((line) => line.match(/[\p{L}\p{N}_]+|\s+|./gu) ?? []);
  let begin = 0, end = 0;
  if (a.length === b.length) return [a, b].map((tokens) => tokens.map((token, k) => [token, a[k] !== b[k]]));
  while (begin < Math.min(a.length, b.length) && a[begin] === b[begin]) begin++;
  while (end < Math.min(a.length, b.length) - begin && a.at(-1 - end) === b.at(-1 - end)) end++;
  return [a, b].map((tokens) => tokens.map((token, k) => [token, begin <= k && k < tokens.length - end]));
}

function lineElement(source, number, sign, tokens) {
  if (number === null) return html("div", "line filler");
  const element = html("div", `line ${KINDS[sign]}`), gutter = html("span", "gutter");
  gutter.dataset.line = source.first + number;
  gutter.dataset.sign = SHOWN[sign];
  if (sign in MEANINGS) gutter.title = MEANINGS[sign];
  const code = html("code", "");
  let run = null, marked = null; // neighbors with the same mark become one element
  for (const [token, differs] of tokens ?? [[source.lines[number], false]]) {
    const mark = differs && token.trim() !== "";
    if (mark !== marked) code.append((run = mark ? html("mark", "") : document.createTextNode("")));
    run.textContent += token;
    marked = mark;
  }
  element.append(gutter, code);
  return element;
}

function rowElements(sources, row, signs) {
  const [a, b] = row;
  const both = a === null || b === null ? "" : signs[0][a] + signs[1][b], paired = !["", "  ", "-+"].includes(both);
  const tokens = paired ? differing(sources[0].lines[a], sources[1].lines[b]) : [null, null];
  return [0, 1].map((side) => lineElement(sources[side], row[side], signs[side][row[side]], tokens[side]));
}

function isQuiet([a, b], [left, right]) {
  return (a === null || " .".includes(left[a])) && (b === null || " .".includes(right[b]));
}

// Appends rows to both sides. The inner lines of a long stretch without differences are folded.
function fill(boxes, sources, rows, signs) {
  const add = (targets, chosen) => {
    for (const row of chosen) rowElements(sources, row, signs).forEach((element, side) => targets[side].append(element));
  };
  for (let begin = 0, end; begin < rows.length; begin = end) {
    const quiet = isQuiet(rows[begin], signs);
    for (end = begin + 1; end < rows.length && isQuiet(rows[end], signs) === quiet;) end++;
    if (!quiet || end - begin < FOLDED + 2 * CONTEXT) {
      add(boxes, rows.slice(begin, end));
      continue;
    }
    add(boxes, rows.slice(begin, begin + CONTEXT));
    const inner = rows.slice(begin + CONTEXT, end - CONTEXT);
    const folds = boxes.map((box, side) => {
      const lines = inner.filter((row) => row[side] !== null).length;
      const button = html("button", "fold", `⋯ ${lines} lines without differences`);
      button.type = "button";
      box.append(button);
      return button;
    });
    for (const button of folds)
      button.addEventListener("click", () => {
        const opened = boxes.map(() => html("div", ""));
        add(opened, inner);
        folds.forEach((fold, side) => fold.replaceWith(opened[side]));
      });
    add(boxes, rows.slice(end - CONTEXT, end));
  }
}

function sideBySide(data, place, member) {
  const sources = [data.sources[0], data.sources[member]], {blocks, left, right} = data.pairs[member];
  const rows = blocks.flatMap(([a, b, c, d]) => Array.from({length: Math.max(b - a, d - c)},
    (_, k) => [a + k < b ? a + k : null, c + k < d ? c + k : null]));
  const boxes = sources.map(() => html("div", "lines"));
  fill(boxes, sources, rows, [left, right]);
  return boxes.map((box, side) => {
    const figure = html("figure", "side"), code = html("div", "code"), caption = html("figcaption", "");
    caption.append(html("b", "", side ? "Member" : "Medoid"), " ", place(side ? member : 0));
    code.tabIndex = 0; // a box that scrolls must be reachable by keyboard
    code.role = "region";
    code.setAttribute("aria-label", caption.textContent);
    code.append(box);
    figure.append(caption, code);
    const {more} = sources[side];
    if (more) figure.append(html("p", "aside", `${more} more ${more === 1 ? "line is" : "lines are"} not in this page.`));
    return figure;
  });
}

function prepare(family) {
  const buttons = [...family.querySelectorAll("button.member")], block = family.querySelector("script");
  if (!buttons.length || !block) return;
  const data = JSON.parse(block.textContent), comparison = html("div", "comparison");
  const place = (member) => family.querySelector(`[data-member="${member}"] code`).cloneNode(true);
  const show = (chosen) => {
    for (const button of buttons) button.setAttribute("aria-pressed", button === chosen);
    comparison.replaceChildren(...sideBySide(data, place, Number(chosen.dataset.member)));
  };
  for (const button of buttons) button.addEventListener("click", () => show(button));
  family.append(comparison);
  show(buttons[0]);
}

// Sources are unpacked when a family is opened for the first time.
for (const family of families) {
  const once = () => {
    if (!family.open) return;
    family.removeEventListener("toggle", once);
    prepare(family);
  };
  family.addEventListener("toggle", once);
  once();
}

const list = document.querySelector(".families");
if (list) {
  const texts = families.map((family) => [...family.querySelectorAll("summary, .members")].map((part) => part.textContent).join("\n").toLowerCase());
  const label = html("label", "filter", "Filter by file or name "), field = html("input", ""), count = html("span", "aside");
  field.type = "search";
  count.role = "status";
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    families.forEach((family, k) => (family.hidden = !texts[k].includes(wanted)));
    const kept = families.filter((family) => !family.hidden).length;
    count.textContent = wanted ? ` ${kept} of ${families.length} families` : "";
  });
  label.append(field, count);
  list.before(label);
}
