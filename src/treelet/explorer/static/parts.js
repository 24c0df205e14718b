// Elements that all views use. Texts are always set as text, never as markup.

import {ask} from "./ask.js";
import {html} from "./elements.js";
import {FragmentList} from "./fragments.js";
import {treeView} from "./tree-view.js";

export {NAMES, chip, el} from "./drawing.js";
export {html} from "./elements.js";
export {bar} from "./fragments.js";

export const BRACKETS_HINT = "Enter a tree in brackets, for example (NP (D the) (N apple))";

// Returns an element with properties and children. Children that are strings become text.
export function make(name, properties = {}, ...children) {
  const {class: className = "", data = {}, on = {}, ...others} = properties;
  const element = html(name, className);
  for (const [key, value] of Object.entries(others)) {
    if (key.startsWith("aria-") || key === "role" || key === "for" || key === "list") element.setAttribute(key, value);
    else element[key] = value;
  }
  Object.assign(element.dataset, data);
  for (const [event, act] of Object.entries(on)) element.addEventListener(event, act);
  element.append(...children.filter((child) => child !== null));
  return element;
}

// A box for a drawing. If the drawing is wider than the box, as on a phone, the box scrolls: the drawing fades at the edges that
// hide something, and a line below says so.
export function stage(properties = {}) {
  const {class: className = "", ...others} = properties;
  const cue = make("p", {class: "scroll-cue faint", hidden: true}, "← Scroll sideways to see the whole picture →");
  const box = make("div", {class: `stage ${className}`.trim(), ...others});
  const element = make("div", {class: "stage-frame output"}, box, cue);
  const update = () => {
    const hidden = box.scrollWidth - box.clientWidth;
    const scrolls = hidden > 4;
    if (scrolls && cue.hidden) center(box);
    cue.hidden = !scrolls;
    box.classList.toggle("more-left", scrolls && box.scrollLeft > 4);
    box.classList.toggle("more-right", scrolls && box.scrollLeft < hidden - 4);
  };
  box.addEventListener("scroll", update, {passive: true});
  const observer = new ResizeObserver(update);
  observer.observe(box);
  return {box, element, watch: (drawing) => (observer.observe(drawing), update())};
}

// Scrolls to the root of a tree, or to the middle of another picture.
function center(box) {
  const root = box.querySelector("[role=tree] g[data-number='0']")?.getBoundingClientRect(), frame = box.getBoundingClientRect();
  if (root) box.scrollLeft += root.left + root.width / 2 - frame.left - frame.width / 2;
  else box.scrollLeft = (box.scrollWidth - box.clientWidth) / 2;
}

// Draws a picture on a stage, in place of the previous one. The stage knows the natural width of the drawing, so narrow screens
// can limit how much the drawing shrinks.
export function drawn({box, watch}, view, picture) {
  if (view) view.update(picture);
  else view = treeView(box, picture);
  const svg = box.querySelector("svg");
  box.style.setProperty("--natural", `${svg.getAttribute("width")}px`);
  watch(svg);
  return view;
}

// Formats a number with four significant digits.
export function figures(number) {
  if (number === null || number === undefined) return "overflow";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1e6 || size < 1e-4) return number.toExponential(2).replace("e+", "e").replace("-", "−");
  const text = size >= 1000 ? number.toFixed(0) : number.toPrecision(4);
  return text.replace("-", "−");
}

// Returns a format for a column of numbers: all have as many decimals as the largest one needs.
export function aligned(numbers) {
  const most = Math.max(...numbers.filter((number) => number !== null).map(Math.abs), 0);
  const decimals = most > 0 ? Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(most)))) : 0;
  if (most >= 1e6 || most < 1e-4) return (number) => (number === null ? "" : scoreFigures(number));
  return (number) => {
    if (number === null) return "";
    const text = number.toFixed(decimals);
    return Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−");
  };
}

const NOISE = 1e-12; // scores and their differences are sums, so smaller values are rounding errors

// Formats a score, a share of a score or a difference of scores. Kernel values are products and may be smaller than NOISE.
export function scoreFigures(number) {
  return figures(number !== null && Math.abs(number) < NOISE ? 0 : number);
}

export function signed(number) {
  return (number >= NOISE ? "+" : "") + scoreFigures(number);
}

// A line that reports an error; hidden while there is none.
export class ErrorLine {
  constructor() {
    this.element = make("p", {class: "error", hidden: true, role: "alert"});
  }

  show(error) {
    const position = error.column ? `${error.line > 1 ? `Line ${error.line}, column` : "Column"} ${error.column}: ` : "";
    this.element.textContent = position + error.message;
    this.element.hidden = false;
  }

  hide() {
    this.element.hidden = true;
  }
}

let editors = 0; // number of editors, for the ids that labels refer to

// A text box for a tree in brackets, with its label above and its error below. `onChange` gets each new text.
export class TreeEditor {
  constructor(label, onChange) {
    const id = `tree-editor-${++editors}`;
    this.area = make("textarea", {
      id, class: "brackets", rows: 2, spellcheck: false, autocomplete: "off", placeholder: BRACKETS_HINT,
      on: {input: () => (this.fit(), onChange(this.area.value))},
    });
    this.errorLine = new ErrorLine();
    this.errorLine.element.addEventListener("click", () => this.goToError());
    this.element = make("div", {class: "editor"}, make("label", {class: "field-label", for: id}, label), this.area, this.errorLine.element);
  }

  get text() {
    return this.area.value;
  }

  set text(text) {
    if (text !== this.area.value) this.area.value = text;
    this.fit();
  }

  fit() {
    this.area.style.height = "auto";
    this.area.style.height = `${Math.min(220, this.area.scrollHeight + 2)}px`;
  }

  show(error) {
    this.area.setAttribute("aria-invalid", "true");
    this.error = error;
    this.errorLine.show(error);
  }

  hide() {
    this.area.removeAttribute("aria-invalid");
    this.errorLine.hide();
  }

  // Puts the cursor at the error. Columns count characters; JavaScript counts UTF-16 code units.
  goToError() {
    const {line, column} = this.error ?? {};
    if (!column) return;
    const lines = this.area.value.split("\n");
    const before = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const at = before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
    this.area.focus();
    this.area.setSelectionRange(at, Math.min(at + 1, this.area.value.length));
  }
}

// A row of example buttons. Wrapped rows start below the first button, not below the label.
export function exampleRow(buttons = []) {
  const list = make("div", {class: "example-list"}, ...buttons);
  return {element: make("div", {class: "examples"}, make("span", {class: "faint"}, "Examples"), list), list};
}

// A slider with its name and value.
export function slider(name, title, {min, max, step, format = (value) => value}, onChange) {
  const value = make("output", {class: "slider-value"});
  const input = make("input", {type: "range", min, max, step, title, on: {input: () => (update(), onChange(Number(input.value)))}});
  const update = () => {
    value.textContent = format(Number(input.value));
    input.setAttribute("aria-valuetext", value.textContent);
  };
  const element = make("label", {class: "slider", title}, make("span", {class: "slider-name"}, name), input, value);
  return {element, input, set: (number) => ((input.value = number), update())};
}

// A choice of one among a few options, shown as buttons side by side.
export function choice(label, options, onChange) {
  const name = `choice-${label.replaceAll(" ", "-")}`;
  const inputs = Object.entries(options).map(([value, text]) => {
    const input = make("input", {type: "radio", name, value, on: {change: () => onChange(value)}});
    return {input, element: make("label", {}, input, make("span", {}, text))};
  });
  const element = make("fieldset", {class: "choice", "aria-label": label}, ...inputs.map((option) => option.element));
  return {element, set: (value) => inputs.forEach(({input}) => (input.checked = input.value === value))};
}

// A list of fragments and their contributions. It starts with the first twelve.
export function fragmentList(views, onChoose) {
  const numbers = (shares) => {
    const format = aligned(shares), twoSided = shares.some((share) => share < 0);
    return (share) => (twoSided && share > 0 ? "+" : "") + format(share);
  };
  return new FragmentList({views, onChoose, first: 12, numbers});
}

// Saves a picture as an SVG file. The server draws it as `treelet.draw` does.
export async function savePicture(fields, errorLine) {
  try {
    const {svg} = await ask("save", fields);
    const link = make("a", {href: URL.createObjectURL(new Blob([svg], {type: "image/svg+xml"})), download: `treelet-${fields.show}.svg`});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still be reading
  } catch (error) {
    errorLine.show(error);
  }
}
