// Compares two trees: their kernel value, its dependence on the decay and the shared fragments, the table of all pairs of nodes, or
// the edits that turn one tree into the other.

import {LatestRequest} from "./ask.js";
import {ErrorLine, NAMES, TreeEditor, chip, choice, drawn, el, exampleRow, figures, fragmentList, make, savePicture, slider, stage} from "./parts.js";
import {StepTable} from "./steps.js";

const KERNELS = {st: "Subtrees", sst: "Subset trees", pt: "Partial trees"};
const DESCRIPTIONS = {
  st: "A fragment is a node with all its descendants.",
  sst: "A fragment contains all children of a node or none of them.",
  pt: "A fragment may leave out children of a node.",
};
const SHOW = {fragments: "Shared fragments", table: "Step by step", edits: "Edits"};
const ABOUT = {
  fragments: "The number is the contribution to the value. The color of a node shows the contribution of all " +
    "fragments rooted there. Point at a fragment to highlight it in both trees. A dashed box is a category that the fragment does " +
    "not expand.",
  table: "The table has one row per node of A and one column per node of B. Each cell is the contribution of all fragments that occur at " +
    "both nodes. It is computed from the cells of the children. Point at a cell to highlight both nodes and to see the product.",
  edits: "The fewest edits that turn A into B. An edit deletes, inserts or renames one node. When a node is deleted, its children move " +
    "up. The similarity is 1 − distance / number of nodes of the larger tree. Point at an edit to highlight it, or at a node to see " +
    "the same node in the other tree.",
};
const NO_LIMIT = 11; // end of the depth slider
const [WIDTH, HEIGHT, LEFT, FOOT] = [300, 96, 6, 16];

export class TreesView {
  constructor(link, about) {
    Object.assign(this, {link, about});
    this.compare = new LatestRequest("compare", (result) => this.update(result), (error) => this.fail(error, "fragments"));
    this.edits = new LatestRequest("edits", (result) => this.updateEdits(result), (error) => this.fail(error, "edits"));
    this.table = new LatestRequest("table", (result, fields) => this.updateTable(result, fields), (error) => this.fail(error, "table"));
    this.curve = new LatestRequest("curve", (result) => this.updateCurve(result), () => this.updateCurve(null));
    this.build();
  }

  get fields() {
    return this.link.fields.trees;
  }

  // The comparison that is shown: a key of SHOW.
  get shown() {
    return Object.hasOwn(SHOW, this.fields.show) ? this.fields.show : "fragments";
  }

  build() {
    const set = (fields) => (this.link.set("trees", fields), this.changed());
    const decimals = (value) => value.toFixed(2);
    this.show = choice("Comparison", SHOW, (show) => {
      this.fragments.highlighted = "";
      set({show, highlight: ""});
    });
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
    this.counts = make("ul", {class: "counts output"});
    this.errorLine = new ErrorLine();
    this.fragments = fragmentList(() => this.views, (highlight) => this.link.set("trees", {highlight}));
    this.views = [null, null];
    this.steps = new StepTable(() => this.views, (step) => this.link.set("trees", {step}));
    this.save = make("button", {type: "button", class: "save", title: "Save the picture as an SVG file", on: {click: () => this.download()}}, "Save picture");
    this.editors = ["a", "b"].map((name) => new TreeEditor(`Tree ${name.toUpperCase()}`, (text) => set({[name]: text})));
    this.partners = null; // per tree, the node of the other tree for each node that edits keep or rename
    this.stages = [0, 1].map((side) => stage({on: {
      "treelet:hover": ({detail: {number}}) => {
        this.fragments.touch(side, number);
        if (this.shown === "table") this.steps.touch(side, number);
        else this.views[1 - side]?.select(this.partners?.[side].get(number) ?? null);
      },
    }}));
    const examples = exampleRow(this.about.examples.trees.map((example) =>
      make("button", {type: "button", class: "plain", on: {click: () => {
        this.fragments.highlighted = "";
        this.link.set("trees", {...example.fields, step: "", highlight: ""});
        this.restore();
      }}}, example.name)));
    this.normalizedLabel = make("label", {class: "check", title: "Divide the value by the norms of both trees"}, this.normalized, "Normalized");
    this.kernelControls = make("div", {class: "controls"},
      this.kernel.element,
      make("div", {class: "sliders"}, this.lam.element, this.mu.element, this.depth.element,
        this.normalizedLabel),
      this.description);
    this.examples = examples.element;
    this.cards = this.stages.map((stage) => make("div", {class: "card"}, stage.element));
    this.inputs = make("div", {class: "pair inputs"}); // holds the editors below the table, so that the trees stay near the table
    this.listTitle = make("h2");
    this.listText = make("p", {class: "faint"});
    this.element = make("section", {class: "view"},
      make("h1", {class: "hidden"}, "Compare trees"),
      make("div", {class: "view-tools"}, this.show.element, this.save),
      make("div", {class: "top"},
        make("div", {class: "result output", role: "status"}, make("div", {class: "result-line"}, this.value, this.other), this.caption),
        this.chart,
        this.counts,
        this.kernelControls),
      this.errorLine.element,
      make("div", {class: "pair"}, ...this.cards, this.steps.formula),
      this.examples,
      make("div", {class: "card list wide-list output"}, this.listTitle, this.listText, this.fragments.element, this.steps.element),
      this.inputs);
  }

  // Shows the state that is stored in the link.
  restore() {
    const {a, b, kernel, lam, mu, depth, normalized, highlight} = this.fields;
    this.show.set(this.shown);
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
    const edits = this.shown === "edits", table = this.shown === "table";
    this.listTitle.textContent = SHOW[this.shown];
    this.listText.textContent = ABOUT[this.shown];
    this.fragments.element.hidden = table;
    this.steps.element.hidden = this.steps.formula.hidden = !table;
    this.normalizedLabel.hidden = table;
    if (!table) this.steps.stop();
    this.element.classList.toggle("with-table", table);
    const homes = table ? [this.inputs, this.inputs] : this.cards;
    this.editors.forEach((editor, k) => {
      if (editor.element.parentElement === homes[k]) return;
      homes[k].append(editor.element);
      editor.fit();
    });
    this.element.classList.toggle("only-plus", !edits);
    this.chart.toggleAttribute("hidden", edits);
    this.counts.hidden = !edits;
    this.kernelControls.hidden = edits;
    if (edits) {
      this.edits.send({a, b});
      return;
    }
    this.mu.element.hidden = kernel !== "pt";
    this.depth.element.hidden = kernel !== "sst" || table;
    this.description.textContent = Object.hasOwn(DESCRIPTIONS, kernel) ? DESCRIPTIONS[kernel] : "";
    const fields = {a, b, kernel, mu: Number(mu), depth: depth === "" || table ? null : Number(depth)};
    if (table) this.table.send({...fields, lam: Number(lam)});
    else this.compare.send({...fields, lam: Number(lam), normalized: normalized !== ""});
    const key = JSON.stringify(fields);
    if (key !== this.curveKey) this.curve.send(fields);
    else this.drawCurve();
    this.curveKey = key;
  }

  // Clears the errors before a result is shown.
  succeed() {
    this.errorLine.hide();
    this.element.classList.remove("stale");
    this.editors.forEach((editor) => editor.hide());
  }

  draw(pictures, partners = null) {
    this.partners = partners;
    pictures.forEach((picture, k) => {
      this.views[k]?.select(null);
      this.views[k] = drawn(this.stages[k], this.views[k], picture);
    });
  }

  update(result) {
    if (this.shown !== "fragments") return;
    this.succeed();
    const normalized = this.fields.normalized !== "";
    this.value.textContent = figures(normalized ? result.cosine : result.value);
    this.other.textContent = normalized ? `value ${figures(result.value)}` : `cosine ${figures(result.cosine)}`;
    this.caption.textContent = normalized ? "Cosine of A and B" : "Kernel value of A and B";
    this.draw(result.trees);
    const note = result.fragments.length === 0 ? "A and B have no fragment of this kernel in common."
      : result.complete ? "" : "The list is incomplete: there are further fragments with smaller contributions.";
    this.fragments.update(result.fragments, note);
  }

  updateTable(result, {kernel}) {
    if (this.shown !== "table") return;
    this.succeed();
    this.value.textContent = figures(result.value);
    this.other.textContent = "";
    this.caption.textContent = "Kernel value of A and B, the sum of the table";
    this.draw(result.trees);
    this.steps.update(result, kernel, this.fields.step);
  }

  // Saves the picture of this comparison, which the server draws as `treelet.draw` does.
  async download() {
    const {a, b, kernel, lam, mu, depth, normalized} = this.fields, table = this.shown === "table";
    const fields = {a, b, kernel, lam: Number(lam), mu: Number(mu), depth: depth === "" || table ? null : Number(depth), normalized: normalized !== ""};
    await savePicture({...fields, show: this.shown}, this.errorLine);
  }

  updateEdits(result) {
    if (this.shown !== "edits") return;
    this.succeed();
    this.value.textContent = figures(result.similarity);
    this.other.textContent = `distance ${result.distance}`;
    this.caption.textContent = "Edit similarity of A and B";
    const {keep, ...changes} = result.counts, count = Object.values(changes).reduce((sum, number) => sum + number, 0);
    this.counts.replaceChildren(make("li", {}, `${keep.toLocaleString("en")} kept`), ...Object.entries(changes).map(([kind, number]) =>
      make("li", {}, chip(kind), `${number.toLocaleString("en")} ${NAMES[kind]}`)));
    this.draw(result.trees, [new Map(result.pairs), new Map(result.pairs.map(([a, b]) => [b, a]))]);
    const {length} = result.operations;
    const note = count === 0 ? "A and B are equal."
      : length < count ? `The first ${length} of ${count.toLocaleString("en")} edits are listed.` : "";
    this.fragments.update(result.operations, note);
  }

  fail(error, shown) {
    if (this.shown !== shown) return;
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
    const normalized = this.fields.normalized !== "" && this.shown !== "table";
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
