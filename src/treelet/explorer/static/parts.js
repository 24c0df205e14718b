// Small parts that all views are made of. Texts are only ever set as text.

import {html} from "./drawing.js";
import {FragmentList} from "./fragments.js";
import {treeView} from "./tree-view.js";

export {el, html} from "./drawing.js";
export {bar} from "./fragments.js";

// An element with properties and children; what is a string becomes text.
export function make(name, properties = {}, ...children) {
  const {class: className = "", data = {}, on = {}, ...others} = properties;
  const made = html(name, className);
  for (const [key, value] of Object.entries(others)) {
    if (key.startsWith("aria-") || key === "role" || key === "for" || key === "list") made.setAttribute(key, value);
    else made[key] = value;
  }
  Object.assign(made.dataset, data);
  for (const [event, act] of Object.entries(on)) made.addEventListener(event, act);
  made.append(...children.filter((child) => child !== null));
  return made;
}

// Draws a picture in the place of the one before. The stage learns its own width, so that narrow screens need not shrink it too far.
export function drawn(stage, view, picture) {
  if (view) view.update(picture);
  else view = treeView(stage, picture);
  stage.style.setProperty("--natural", `${stage.querySelector("svg").getAttribute("width")}px`);
  return view;
}

// Four figures, whatever the size.
export function figures(number) {
  if (number === null || number === undefined) return "too large";
  if (number === 0) return "0";
  const size = Math.abs(number);
  if (size >= 1e6 || size < 1e-4) return number.toExponential(2).replace("e+", "e").replace("-", "−");
  const text = size >= 1000 ? number.toFixed(0) : number.toPrecision(4);
  return text.replace("-", "−");
}

// For numbers below each other: as many decimals as the largest needs.
export function aligned(numbers) {
  const most = Math.max(...numbers.filter((number) => number !== null).map(Math.abs), 0);
  const decimals = most > 0 ? Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(most)))) : 0;
  if (most >= 1e6 || most < 1e-4) return figures;
  return (number) => (number === null ? "" : number.toFixed(decimals).replace("-", "−"));
}

export function signed(number) {
  return (number > 0 ? "+" : "") + figures(number);
}

// One line that says what is wrong, where it is wrong; hidden while nothing is.
export class Complaint {
  constructor() {
    this.element = make("p", {class: "error", hidden: true, role: "alert"});
  }

  say(error) {
    const place = error.column ? `${error.line > 1 ? `line ${error.line}, ` : ""}column ${error.column}: ` : "";
    this.element.textContent = place + error.message;
    this.element.hidden = false;
  }

  hush() {
    this.element.hidden = true;
  }
}

// Brackets that can be edited, with what is wrong in them below; `changed` is told each new text.
export class Brackets {
  constructor(label, changed) {
    this.area = make("textarea", {
      class: "brackets", rows: 2, spellcheck: false, autocomplete: "off", "aria-label": label,
      on: {input: () => (this.fit(), changed(this.area.value))},
    });
    this.complaint = new Complaint();
    this.complaint.element.addEventListener("click", () => this.show());
    this.element = make("div", {class: "editor"}, this.area, this.complaint.element);
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

  say(error) {
    this.area.setAttribute("aria-invalid", "true");
    this.error = error;
    this.complaint.say(error);
  }

  hush() {
    this.area.removeAttribute("aria-invalid");
    this.complaint.hush();
  }

  // Puts the cursor where the error is. Columns are counted in characters, JavaScript counts in halves of some.
  show() {
    const {line, column} = this.error ?? {};
    if (!column) return;
    const lines = this.area.value.split("\n");
    const before = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    const at = before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
    this.area.focus();
    this.area.setSelectionRange(at, Math.min(at + 1, this.area.value.length));
  }
}

// A slider with its name and value.
export function slider(name, title, {min, max, step, shown = (value) => value}, changed) {
  const told = make("output", {class: "told"});
  const input = make("input", {type: "range", min, max, step, title, on: {input: () => (tell(), changed(Number(input.value)))}});
  const tell = () => {
    told.textContent = shown(Number(input.value));
    input.setAttribute("aria-valuetext", told.textContent);
  };
  const element = make("label", {class: "slider", title}, make("span", {class: "what"}, name), input, told);
  return {element, input, set: (value) => ((input.value = value), tell())};
}

// A choice of one among a few, as buttons side by side.
export function choice(label, options, changed) {
  const name = `choice-${label.replaceAll(" ", "-")}`;
  const inputs = Object.entries(options).map(([value, text]) => {
    const input = make("input", {type: "radio", name, value, on: {change: () => changed(value)}});
    return {input, element: make("label", {}, input, make("span", {}, text))};
  });
  const element = make("fieldset", {class: "choice", "aria-label": label}, ...inputs.map((one) => one.element));
  return {element, set: (value) => inputs.forEach(({input}) => (input.checked = input.value === value))};
}

// The pieces behind a number, as many of them as are looked at.
export function fragmentList(views, chosen) {
  const numbers = (shares) => {
    const figure = aligned(shares), twoSided = shares.some((share) => share < 0);
    return (share) => (twoSided && share > 0 ? "+" : "") + figure(share);
  };
  return new FragmentList({views, chosen, first: 12, numbers});
}
