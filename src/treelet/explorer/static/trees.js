// Compares two trees: their kernel value, its dependence on the decay, and the shared fragments.

import {LatestRequest} from "./ask.js";
import {EXAMPLES} from "./examples.js";
import {ErrorLine, TreeEditor, choice, drawn, el, exampleRow, figures, fragmentList, make, slider, stage} from "./parts.js";

const KERNELS = {st: "Subtrees", sst: "Subset trees", pt: "Partial trees"};
const DESCRIPTIONS = {
  st: "A fragment is a node with all its descendants.",
  sst: "A fragment contains all children of a node or none of them.",
  pt: "A fragment may leave out children of a node.",
};
const NO_LIMIT = 11; // end of the depth slider
const [WIDTH, HEIGHT, LEFT, FOOT] = [300, 96, 6, 16];

export class TreesView {
  constructor(link) {
    this.link = link;
    this.compare = new LatestRequest("compare", (result) => this.update(result), (error) => this.fail(error));
    this.curve = new LatestRequest("curve", (result) => this.updateCurve(result), () => this.updateCurve(null));
    this.build();
  }

  get fields() {
    return this.link.fields.trees;
  }

  build() {
    const set = (fields) => (this.link.set("trees", fields), this.changed());
    const decimals = (value) => value.toFixed(2);
    this.kernel = choice("Kernel", KERNELS, (kernel) => set({kernel}));
    this.lam = slider("λ", "Decay λ per production. Smaller values reduce the weight of large fragments.",
      {min: 0.02, max: 1, step: 0.01, format: decimals}, (value) => set({lam: String(value)}));
    this.mu = slider("μ", "Decay μ per node", {min: 0.02, max: 1, step: 0.01, format: decimals}, (value) => set({mu: String(value)}));
    this.depth = slider("Max depth", "Maximum depth of a fragment",
      {min: 1, max: NO_LIMIT, step: 1, format: (value) => (value >= NO_LIMIT ? "no limit" : value)},
      (value) => set({depth: value >= NO_LIMIT ? "" : String(value)}));
    this.normalized = make("input", {type: "checkbox", on: {change: () => set({normalized: this.normalized.checked ? "1" : ""})}});
    this.value = make("span", {class: "hero", id: "value"});
    this.other = make("span", {class: "beside", id: "other"});
    this.caption = make("span", {class: "faint"});
    this.description = make("p", {class: "faint description"});
    this.chart = el("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curve output", role: "img"});
    this.errorLine = new ErrorLine();
    this.fragments = fragmentList(() => this.views, (highlight) => this.link.set("trees", {highlight}));
    this.views = [null, null];
    this.editors = ["a", "b"].map((name) => new TreeEditor(`Tree ${name.toUpperCase()}`, (text) => set({[name]: text})));
    this.stages = [0, 1].map((side) => stage({on: {
      "treelet:hover": (event) => this.fragments.touch(side, event.detail.number),
    }}));
    const examples = exampleRow(EXAMPLES.trees.map((example) =>
      make("button", {type: "button", class: "plain", on: {click: () => {
        this.fragments.highlighted = "";
        this.link.set("trees", {...example.fields, highlight: ""});
        this.restore();
      }}}, example.name)));
    this.element = make("section", {class: "view"},
      make("h1", {class: "hidden"}, "Compare trees"),
      make("div", {class: "top"},
        make("div", {class: "result output", role: "status"}, make("div", {class: "result-line"}, this.value, this.other), this.caption),
        this.chart,
        make("div", {class: "controls"},
          this.kernel.element,
          make("div", {class: "sliders"}, this.lam.element, this.mu.element, this.depth.element,
            make("label", {class: "check", title: "Divide the value by the norms of both trees"}, this.normalized, "Normalized")),
          this.description)),
      this.errorLine.element,
      make("div", {class: "pair only-plus"}, ...[0, 1].map((k) => make("div", {class: "card"}, this.stages[k].element, this.editors[k].element))),
      examples.element,
      make("div", {class: "card list wide-list output"}, make("h2", {}, "Shared fragments"),
        make("p", {class: "faint"}, "The number is the contribution to the value. The color of a node shows the contribution of all " +
          "fragments rooted there. Point at a fragment to highlight it in both trees."),
        this.fragments.element));
  }

  // Shows the state that is stored in the link.
  restore() {
    const {a, b, kernel, lam, mu, depth, normalized, highlight} = this.fields;
    this.editors[0].text = a;
    this.editors[1].text = b;
    this.kernel.set(kernel);
    this.lam.set(lam);
    this.mu.set(mu);
    this.depth.set(depth === "" ? NO_LIMIT : depth);
    this.normalized.checked = normalized !== "";
    this.fragments.highlighted = highlight;
    this.changed();
  }

  changed() {
    const {a, b, kernel, lam, mu, depth, normalized} = this.fields;
    this.mu.element.hidden = kernel !== "pt";
    this.depth.element.hidden = kernel !== "sst";
    this.description.textContent = Object.hasOwn(DESCRIPTIONS, kernel) ? DESCRIPTIONS[kernel] : "";
    const fields = {a, b, kernel, mu: Number(mu), depth: depth === "" ? null : Number(depth)};
    this.compare.send({...fields, lam: Number(lam), normalized: normalized !== ""});
    const key = JSON.stringify(fields);
    if (key !== this.curveKey) this.curve.send(fields);
    else this.drawCurve();
    this.curveKey = key;
  }

  update(result) {
    this.errorLine.hide();
    this.element.classList.remove("stale");
    this.editors.forEach((editor) => editor.hide());
    const normalized = this.fields.normalized !== "";
    this.value.textContent = figures(normalized ? result.cosine : result.value);
    this.other.textContent = normalized ? `value ${figures(result.value)}` : `cosine ${figures(result.cosine)}`;
    this.caption.textContent = normalized ? "Cosine of A and B" : "Kernel value of A and B";
    result.trees.forEach((picture, k) => (this.views[k] = drawn(this.stages[k], this.views[k], picture)));
    const note = result.fragments.length === 0 ? "A and B have no fragment of this kernel in common."
      : result.complete ? "" : "The list is incomplete: there are further fragments with smaller contributions.";
    this.fragments.update(result.fragments, note);
  }

  fail(error) {
    const side = {a: 0, b: 1}[error.field];
    this.element.classList.add("stale");
    const empty = this.editors.map((editor) => editor.text.trim() === "");
    // The server reports the first error. Two empty fields have the same one.
    this.editors.forEach((editor, k) => (k === side || (empty[0] && empty[1]) ? editor.show(error) : editor.hide()));
    if (side === undefined) this.errorLine.show(error);
    else this.errorLine.hide();
  }

  updateCurve(result) {
    this.points = result;
    this.drawCurve();
  }

  // Draws the value as a function of the decay, with a point at the value of the slider.
  drawCurve() {
    this.chart.replaceChildren();
    if (!this.points) return;
    const normalized = this.fields.normalized !== "";
    const values = normalized ? this.points.cosine : this.points.value;
    const known = this.points.lam.map((lam, k) => [lam, values[k]]).filter(([, value]) => value !== null);
    if (!known.length) return;
    const most = Math.max(...known.map(([, value]) => value)) || 1;
    const at = ([lam, value]) => [LEFT + (WIDTH - 2 * LEFT) * lam, HEIGHT - FOOT - (HEIGHT - FOOT - 14) * (value / most)];
    const path = known.map((point) => at(point).map((v) => v.toFixed(1)).join(" ")).join("L");
    const here = interpolated(known, Number(this.fields.lam));
    const [x, y] = at([Number(this.fields.lam), here]);
    const base = HEIGHT - FOOT;
    const name = normalized ? "Cosine" : "Value";
    this.chart.setAttribute("aria-label", `${name} as a function of λ from 0 to 1; maximum ${figures(most)}`);
    this.chart.append(
      el("path", {d: `M${LEFT} ${base}H${WIDTH - LEFT}`, class: "axis"}),
      el("path", {d: `M${path}L${at(known.at(-1))[0].toFixed(1)} ${base}L${at(known[0])[0].toFixed(1)} ${base}Z`, class: "area"}),
      el("path", {d: `M${path}`, class: "line"}),
      el("path", {d: `M${x.toFixed(1)} ${base}V${y.toFixed(1)}`, class: "drop"}),
      el("circle", {cx: x.toFixed(1), cy: y.toFixed(1), r: 4.5, class: "point"}),
      el("text", {x: LEFT, y: HEIGHT - 3}, "λ = 0"),
      el("text", {x: WIDTH - LEFT, y: HEIGHT - 3, class: "end"}, "1"),
      el("text", {x: LEFT, y: 11}, `${name}, maximum ${figures(most)}`),
    );
  }
}

// Interpolates a curve linearly between its points.
function interpolated(points, x) {
  const next = points.findIndex(([lam]) => lam >= x);
  if (next < 0) return points.at(-1)[1];
  if (next === 0) return points[0][1];
  const [[a, u], [b, v]] = [points[next - 1], points[next]];
  return u + ((v - u) * (x - a)) / (b - a);
}
