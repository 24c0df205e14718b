// The table of a tree kernel, C(n1, n2), filled in step by step. Rows are nodes of tree A, and columns are nodes of tree B, children
// before their parents. Pointing at a cell, or moving to it with the arrow keys, highlights both nodes and shows the product.

import {make, slider} from "./parts.js";

const PLAY = 900; // milliseconds per step
const FACTOR = "·", ARROW = " → ";

export class StepTable {
  // `views` returns the two tree views. `onStep` gets the number of the step, or "" for the complete table.
  constructor(views, onStep) {
    Object.assign(this, {views, onStep, step: null, steps: [], result: null, shown: null, focused: [0, 0], timer: null});
    const button = (text, title, act) => make("button", {type: "button", title, "aria-label": title, on: {click: () => (this.stop(), act())}}, text);
    this.position = slider("Step", "Step of the computation", {min: 0, max: 0, step: 1, format: (value) => `${value} of ${this.steps.length}`},
      (value) => (this.stop(), this.go(value)));
    this.play = make("button", {type: "button", class: "play", on: {click: () => (this.timer === null ? this.start() : this.stop())}}, "Play");
    this.controls = make("div", {class: "tools step-tools"},
      button("|◀", "Empty table", () => this.go(0)), button("◀", "One step back", () => this.go(this.at - 1)), this.play,
      button("▶", "One step forward", () => this.go(this.at + 1)), button("▶|", "Complete table", () => this.go(this.steps.length)),
      this.position.element);
    this.formula = make("p", {class: "card formula output", role: "status"}); // the page puts it below the trees
    this.sum = make("p", {class: "faint sum"});
    this.table = make("table", {class: "steps", role: "grid", "aria-label": "Value of each pair of nodes"});
    this.table.addEventListener("keydown", (event) => this.key(event));
    this.table.addEventListener("pointerleave", () => this.show(this.current()));
    this.frame = make("div", {class: "steps-frame"}, this.table);
    this.element = make("div", {class: "step-table"}, this.controls, this.sum, this.frame);
  }

  // The number of steps that are done.
  get at() {
    return this.step === null ? this.steps.length : Math.min(this.step, this.steps.length);
  }

  update(result, kernel, step) {
    this.kernel = kernel;
    this.symbol = kernel === "pt" ? "Δ" : "C";
    this.step = step === "" || !Number.isInteger(Number(step)) || Number(step) < 0 ? null : Number(step);
    this.result = result;
    this.children = result.trees.map(({parents}) => {
      const children = parents.map(() => []);
      parents.forEach((parent, node) => parent >= 0 && children[parent].push(node));
      return children;
    });
    // Words have a value only in the partial-tree kernel.
    this.nodes = this.children.map((children) => bottomUp(children).filter((node) => kernel === "pt" || children[node].length));
    const pairs = this.nodes[0].flatMap((a) => this.nodes[1].map((b) => [a, b]));
    this.zeros = pairs.filter(([a, b]) => this.value(a, b) === 0);
    const others = pairs.filter(([a, b]) => this.value(a, b) !== 0);
    this.steps = this.zeros.length ? [null, ...others] : others;
    this.order = new Map(others.map(([a, b], k) => [`${a} ${b}`, k + (this.zeros.length ? 2 : 1)])); // step at which a cell is filled in
    this.position.input.max = this.steps.length;
    this.draw();
    this.go(this.at, false);
  }

  value(a, b) {
    return this.result.cells[a][b];
  }

  draw() {
    const name = (side, node) => production(this.result.trees[side].labels, this.children[side], node);
    const head = make("tr", {}, make("td", {class: "corner"}, "A ↓ B →"), ...this.nodes[1].map((node) =>
      make("th", {role: "columnheader", data: {column: node}, title: name(1, node)}, make("span", {}, name(1, node)))));
    this.cells = new Map();
    const rows = this.nodes[0].map((a) => make("tr", {}, make("th", {role: "rowheader", data: {row: a}, title: name(0, a)}, name(0, a)),
      ...this.nodes[1].map((b) => {
        const cell = make("td", {role: "gridcell", tabIndex: -1, on: {
          pointerenter: () => this.show([a, b]), focus: () => ((this.focused = [a, b]), this.show([a, b])), blur: () => this.show(this.current()),
        }});
        this.cells.set(`${a} ${b}`, cell);
        return cell;
      })));
    this.table.replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
    this.focused = [this.nodes[0].at(-1), this.nodes[1].at(-1)];
    const cell = this.cells.get(this.focused.join(" "));
    if (cell) cell.tabIndex = 0;
  }

  // Fills in the cells of all steps up to this one.
  go(step, changed = true) {
    const at = Math.max(0, Math.min(step, this.steps.length));
    this.step = at === this.steps.length ? null : at;
    if (changed) this.onStep(this.step === null ? "" : String(at));
    this.position.set(at);
    const most = Math.max(...this.result.cells.flat(), 0) || 1;
    let sum = 0;
    for (const a of this.nodes[0]) {
      for (const b of this.nodes[1]) {
        const cell = this.cells.get(`${a} ${b}`), value = this.value(a, b), filled = this.filled(a, b);
        if (filled) sum += value;
        cell.textContent = filled ? short(value) : "";
        cell.classList.toggle("zero", filled && value === 0);
        cell.classList.toggle("value", filled && value !== 0);
        cell.style.setProperty("--share", filled ? (value / most).toFixed(3) : "0");
        cell.setAttribute("aria-label", `${this.name(a, b)}${filled ? ` = ${short(value)}` : ", not computed yet"}`);
      }
    }
    this.sum.textContent = this.step === null ? `The sum of all cells is the kernel value, ${short(this.result.value)}.`
      : `Sum of the cells so far: ${short(sum)}. The kernel value is the sum of all cells.`;
    const current = this.current();
    this.show(current);
    if (current) scrollTo(this.frame, this.cells.get(current.join(" ")), this.table.querySelector("tbody th"));
  }

  filled(a, b) {
    return (this.order.get(`${a} ${b}`) ?? 1) <= this.at;
  }

  // The cell of the latest step, or null.
  current() {
    return this.at > 0 ? this.steps[this.at - 1] : null;
  }

  name(a, b) {
    const [labels, others] = this.result.trees.map((tree) => tree.labels);
    return `${this.symbol}(${labels[a]}, ${others[b]})`;
  }

  // Highlights a pair of nodes with their children, and shows the product. Without a pair, describes the step.
  show(pair) {
    this.shown = pair;
    for (const cell of this.table.querySelectorAll(".here, .used, .along")) cell.classList.remove("here", "used", "along");
    this.views().forEach((view, side) => {
      view?.select(pair ? pair[side] : null);
      view?.mark(pair ? [pair[side], ...this.children[side][pair[side]]] : null);
      if (view && pair) reveal(view, pair[side]);
    });
    if (!pair) {
      this.formula.textContent = this.at === 0 ? "The table is empty. Press Play, or go forward step by step."
        : `${plural(this.zeros.length, "cell")} with ${WHY_ZERO[this.kernel]}: 0.`;
      return;
    }
    const [a, b] = pair;
    this.cells.get(`${a} ${b}`).classList.add("here");
    this.table.querySelector(`[data-row="${a}"]`).classList.add("along");
    this.table.querySelector(`[data-column="${b}"]`).classList.add("along");
    for (const [c, d] of this.factors(a, b)) this.cells.get(`${c} ${d}`)?.classList.add("used");
    this.formula.textContent = this.product(a, b);
  }

  // The pairs of children whose values are in the product.
  factors(a, b) {
    if (this.value(a, b) === 0 || this.kernel === "pt") return [];
    return this.children[0][a].map((child, k) => [child, this.children[1][b][k]]).filter(([c]) => this.children[0][c].length);
  }

  product(a, b) {
    const {lam, mu} = this.result.parameters, value = this.value(a, b), filled = this.filled(a, b);
    const [first, second] = [a, b].map((node, side) => production(this.result.trees[side].labels, this.children[side], node));
    const whole = (symbols, numbers) => `${this.name(a, b)} = ${symbols}${filled && numbers !== symbols ? ` = ${numbers}` : ""}` +
      (filled ? (numbers === short(value) ? "" : ` = ${short(value)}`) : " (not computed yet)");
    if (value === 0) return `${this.name(a, b)} = 0: ${ZERO[this.kernel](first, second)}.`;
    if (this.kernel === "pt") {
      const rest = value / mu - lam * lam;
      return Math.abs(rest) < 1e-12 ? `${whole(`μ ${FACTOR} λ²`, `${short(mu)} ${FACTOR} ${short(lam * lam)}`)}: the labels are equal, but no children.`
        : `${whole(`μ ${FACTOR} (λ² + S)`, `${short(mu)} ${FACTOR} (${short(lam * lam)} + ${short(rest)})`)}. ` +
          "S is the sum over all equally long subsequences of children: λ per skipped child, times Δ of each pair of children.";
    }
    const pairs = this.factors(a, b), one = this.kernel === "sst";
    const symbols = pairs.map(([c, d]) => (one ? `(1 + ${this.name(c, d)})` : this.name(c, d)));
    const numbers = pairs.map(([c, d]) => (one ? `(1 + ${short(this.value(c, d))})` : short(this.value(c, d))));
    const text = whole(["λ", ...symbols].join(` ${FACTOR} `), [short(lam), ...numbers].join(` ${FACTOR} `));
    return pairs.length ? text : `${text}: both productions are ${first}, and all children are words.`;
  }

  // Emphasizes the row or column of a node that the pointer is at.
  touch(side, node) {
    for (const header of this.table.querySelectorAll(".touched")) header.classList.remove("touched");
    if (node !== null) this.table.querySelector(`[data-${side ? "column" : "row"}="${node}"]`)?.classList.add("touched");
  }

  start() {
    if (this.at === this.steps.length) this.go(0);
    this.play.textContent = "Pause";
    this.timer = setInterval(() => {
      this.go(this.at + 1);
      if (this.step === null) this.stop();
    }, PLAY);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.play.textContent = "Play";
  }

  key(event) {
    const way = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey) return;
    const [a, b] = this.focused.map((node, side) => {
      const place = this.nodes[side].indexOf(node) + way[side];
      return this.nodes[side][Math.max(0, Math.min(place, this.nodes[side].length - 1))];
    });
    this.cells.get(this.focused.join(" ")).tabIndex = -1;
    const cell = this.cells.get(`${a} ${b}`);
    cell.tabIndex = 0;
    cell.focus();
    event.preventDefault();
  }
}

const WHY_ZERO = {st: "different subtrees", sst: "different productions", pt: "different labels"};
const ZERO = {
  st: (first, second) => `the subtrees below ${first} and ${second} differ`,
  sst: (first, second) => `the productions ${first} and ${second} differ`,
  pt: (first, second) => `the labels of ${first} and ${second} differ`,
};
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

// Returns the nodes such that children come before their parents, from left to right. There is no recursion, because trees may be
// very deep.
function bottomUp(children) {
  const order = [], stack = [0];
  while (stack.length) {
    const node = stack.pop();
    order.push(node);
    stack.push(...children[node]);
  }
  return order.reverse();
}

// Scrolls the box of a drawing, which is small on a phone, to a node.
function reveal({element, groups}, number) {
  if (groups.has(number)) scrollTo(element, groups.get(number));
}

// Scrolls a box, but not the page, to an element inside. `header` is an element that covers the left of the box.
function scrollTo(box, element, header = null) {
  const inside = element.getBoundingClientRect(), frame = box.getBoundingClientRect();
  const left = header ? header.getBoundingClientRect().right : frame.left;
  if (inside.left < left || inside.right > frame.right) box.scrollLeft += (inside.left + inside.right - left - frame.right) / 2;
  if (inside.top < frame.top || inside.bottom > frame.bottom) box.scrollTop += (inside.top + inside.bottom - frame.top - frame.bottom) / 2;
}

function production(labels, children, node) {
  return children[node].length ? labels[node] + ARROW + children[node].map((child) => labels[child]).join(" ") : labels[node];
}

// Formats a number with up to four significant digits.
function short(number) {
  const size = Math.abs(number);
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) return number.toExponential(2).replace("e+", "e").replace("-", "−");
  return String(Number(number.toPrecision(4)));
}
