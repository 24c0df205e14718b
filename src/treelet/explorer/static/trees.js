// Two trees side by side: how alike they are, and what they share.

import {Latest} from "./ask.js";
import {EXAMPLES} from "./examples.js";
import {Brackets, Complaint, choice, drawn, el, figures, fragmentList, make, slider} from "./parts.js";

const KERNELS = {st: "Subtrees", sst: "Subset trees", pt: "Partial trees"};
const MEANS = {
  st: "Pieces are nodes with all that is below them.",
  sst: "Pieces keep all children of a node, or none.",
  pt: "Pieces may leave out children.",
};
const ANY = 11; // where the slider of depths ends: no limit
const [WIDTH, HEIGHT, LEFT, FOOT] = [300, 96, 6, 16];

export class TreesView {
  constructor(link) {
    this.link = link;
    this.compare = new Latest("compare", (found) => this.answered(found), (error) => this.failed(error));
    this.curve = new Latest("curve", (found) => this.curved(found), () => this.curved(null));
    this.build();
  }

  get fields() {
    return this.link.fields.trees;
  }

  build() {
    const set = (fields) => (this.link.set("trees", fields), this.changed());
    this.kernel = choice("kernel", KERNELS, (kernel) => set({kernel}));
    this.lam = slider("λ", "Decay: how much larger pieces count", {min: 0.02, max: 1, step: 0.01, shown: (v) => v.toFixed(2)},
      (value) => set({lam: String(value)}));
    this.mu = slider("μ", "Decay a level", {min: 0.02, max: 1, step: 0.01, shown: (v) => v.toFixed(2)},
      (value) => set({mu: String(value)}));
    this.depth = slider("depth", "The deepest pieces that count", {min: 1, max: ANY, step: 1, shown: (v) => (v >= ANY ? "any" : v)},
      (value) => set({depth: value >= ANY ? "" : String(value)}));
    this.norm = make("input", {type: "checkbox", on: {change: () => set({norm: this.norm.checked ? "1" : ""})}});
    this.value = make("span", {class: "hero", id: "value"});
    this.other = make("span", {class: "beside", id: "other"});
    this.caption = make("span", {class: "faint"});
    this.means = make("p", {class: "faint means"});
    this.chart = el("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curve", role: "img"});
    this.complaint = new Complaint();
    this.fragments = fragmentList(() => this.views, (light) => this.link.set("trees", {light}));
    this.views = [null, null];
    this.editors = ["a", "b"].map((name, k) => new Brackets(`Tree ${k + 1}, in brackets`, (text) => set({[name]: text})));
    this.stages = [0, 1].map((side) => make("div", {class: "stage", on: {
      "treelet:hover": (event) => this.fragments.touch(side, event.detail.number),
    }}));
    const examples = make("div", {class: "examples"}, make("span", {class: "faint"}, "Examples"), ...EXAMPLES.trees.map((one) =>
      make("button", {type: "button", class: "plain", on: {click: () => {
        this.fragments.light = "";
        this.link.set("trees", {...one.fields, light: ""});
        this.restore();
      }}}, one.name)));
    this.element = make("section", {class: "view"},
      make("h1", {class: "hidden"}, "Two trees"),
      make("div", {class: "top"},
        make("div", {class: "result", role: "status"}, make("div", {class: "result-line"}, this.value, this.other), this.caption),
        this.chart,
        make("div", {class: "controls"},
          this.kernel.element,
          make("div", {class: "sliders"}, this.lam.element, this.mu.element, this.depth.element,
            make("label", {class: "check"}, this.norm, "normalized")),
          this.means)),
      this.complaint.element,
      make("div", {class: "pair only-plus"}, ...[0, 1].map((k) => make("div", {class: "card"}, this.stages[k], this.editors[k].element))),
      examples,
      make("div", {class: "card list wide-list"}, make("h2", {}, "What they share"),
        make("p", {class: "faint"}, "Each piece with what it adds; a node's color is what all pieces that begin there add. Point at a piece to see where it is."),
        this.fragments.element));
  }

  // Shows what the link says.
  restore() {
    const {a, b, kernel, lam, mu, depth, norm, light} = this.fields;
    this.editors[0].text = a;
    this.editors[1].text = b;
    this.kernel.set(kernel);
    this.lam.set(lam);
    this.mu.set(mu);
    this.depth.set(depth === "" ? ANY : depth);
    this.norm.checked = norm !== "";
    this.fragments.light = light;
    this.changed();
  }

  changed() {
    const {a, b, kernel, lam, mu, depth, norm} = this.fields;
    this.mu.element.hidden = kernel !== "pt";
    this.depth.element.hidden = kernel !== "sst";
    this.means.textContent = Object.hasOwn(MEANS, kernel) ? MEANS[kernel] : "";
    const asked = {a, b, kernel, mu: Number(mu), depth: depth === "" ? null : Number(depth)};
    this.compare.ask({...asked, lam: Number(lam), normalized: norm !== ""});
    const key = JSON.stringify(asked);
    if (key !== this.curveOf) this.curve.ask(asked);
    else this.drawCurve();
    this.curveOf = key;
  }

  answered(found) {
    this.complaint.hush();
    this.element.classList.remove("stale");
    this.editors.forEach((editor) => editor.hush());
    this.found = found;
    const normal = this.fields.norm !== "";
    this.value.textContent = figures(normal ? found.cosine : found.value);
    this.other.textContent = normal ? `value ${figures(found.value)}` : `cosine ${figures(found.cosine)}`;
    this.caption.textContent = normal ? "cosine of the two trees" : "kernel value of the two trees";
    found.trees.forEach((picture, k) => (this.views[k] = drawn(this.stages[k], this.views[k], picture)));
    const note = found.fragments.length === 0 ? "They share nothing that this kernel sees."
      : found.complete ? "" : "There are more; these add the most of those that were looked at.";
    this.fragments.update(found.fragments, note);
  }

  failed(error) {
    const side = {a: 0, b: 1}[error.field];
    this.element.classList.add("stale");
    this.editors.forEach((editor, k) => (k === side ? editor.say(error) : editor.hush()));
    if (side === undefined) this.complaint.say(error);
    else this.complaint.hush();
  }

  curved(found) {
    this.points = found;
    this.drawCurve();
  }

  // How the value depends on the decay, with the slider's point.
  drawCurve() {
    this.chart.replaceChildren();
    if (!this.points) return;
    const normal = this.fields.norm !== "";
    const values = normal ? this.points.cosine : this.points.value;
    const known = this.points.lam.map((lam, k) => [lam, values[k]]).filter(([, value]) => value !== null);
    if (!known.length) return;
    const most = Math.max(...known.map(([, value]) => value)) || 1;
    const at = ([lam, value]) => [LEFT + (WIDTH - 2 * LEFT) * lam, HEIGHT - FOOT - (HEIGHT - FOOT - 14) * (value / most)];
    const path = known.map((point) => at(point).map((v) => v.toFixed(1)).join(" ")).join("L");
    const here = between(known, Number(this.fields.lam));
    const [x, y] = at([Number(this.fields.lam), here]);
    const base = HEIGHT - FOOT;
    const name = normal ? "cosine" : "value";
    this.chart.setAttribute("aria-label", `The ${name} by λ, from 0 to 1; at most ${figures(most)}`);
    this.chart.append(
      el("path", {d: `M${LEFT} ${base}H${WIDTH - LEFT}`, class: "axis"}),
      el("path", {d: `M${path}L${at(known.at(-1))[0].toFixed(1)} ${base}L${at(known[0])[0].toFixed(1)} ${base}Z`, class: "area"}),
      el("path", {d: `M${path}`, class: "line"}),
      el("path", {d: `M${x.toFixed(1)} ${base}V${y.toFixed(1)}`, class: "drop"}),
      el("circle", {cx: x.toFixed(1), cy: y.toFixed(1), r: 4.5, class: "point"}),
      el("text", {x: LEFT, y: HEIGHT - 3}, "λ 0"),
      el("text", {x: WIDTH - LEFT, y: HEIGHT - 3, class: "end"}, "1"),
      el("text", {x: LEFT, y: 11}, `${name}, up to ${figures(most)}`),
    );
  }
}

// The value of a curve between its points.
function between(points, x) {
  const next = points.findIndex(([lam]) => lam >= x);
  if (next < 0) return points.at(-1)[1];
  if (next === 0) return points[0][1];
  const [[a, u], [b, v]] = [points[next - 1], points[next]];
  return u + ((v - u) * (x - a)) / (b - a);
}
