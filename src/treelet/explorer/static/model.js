// Explains a model's prediction for a tree, and shows how the scores change when the tree is edited.

import {LatestRequest, ask} from "./ask.js";
import {brackets, grown, pruned, renamed} from "./edits.js";
import {TreeEditor, aligned, bar, drawn, exampleRow, figures, fragmentList, make, scoreFigures, signed, stage} from "./parts.js";

const SHOWN = 8; // classes that are shown at first
const TASKS = {classify: "Classifier", regress: "Regressor", rank: "Ranker"};

export class ModelView {
  constructor(link, about) {
    Object.assign(this, {link, about, baseline: null, view: null, selected: null});
    this.predict = new LatestRequest("judge", (result, fields) => this.update(result, fields), (error) => this.fail(error));
    this.predictBaseline = new LatestRequest("judge", (result) => this.updateBaseline(result), () => this.updateBaseline(null));
    this.build();
  }

  get fields() {
    return this.link.fields.model;
  }

  build() {
    const set = (fields) => (this.link.set("model", fields), this.changed());
    this.label = make("span", {class: "hero", id: "label"});
    this.compared = make("span", {class: "beside"});
    this.source = make("p", {class: "faint"});
    this.kernel = make("p", {class: "faint"});
    this.scores = make("div", {class: "scores output"});
    this.editor = new TreeEditor("Tree", (tree) => set({tree}));
    this.stage = stage({on: {
      "treelet:node": (event) => this.select(event.detail.number),
      "treelet:hover": (event) => this.fragments.touch(0, event.detail.number),
    }});
    this.name = make("input", {id: "node-label", type: "text", class: "label-input", placeholder: "Label, e.g. NP", spellcheck: false, autocomplete: "off",
      on: {keydown: (event) => {
        if (event.key === "Enter") this.edit((tree, node) => renamed(tree, node, this.name.value.trim()));
        if (event.key === "Escape") this.select(null);
      }}});
    const button = (text, act) => make("button", {type: "button", on: {click: act}}, text);
    this.tools = make("div", {class: "tools", hidden: true}, make("label", {class: "field-label", for: "node-label"}, "Label of the selected node"), this.name,
      button("Rename", () => this.edit((tree, node) => renamed(tree, node, this.name.value.trim()))),
      button("Add child", () => this.edit((tree, node) => grown(tree, node, this.name.value.trim()))),
      button("Delete", () => this.edit((tree, node) => pruned(tree, node))));
    this.hint = make("p", {class: "faint"}, "Select a node to rename it, delete it or add a child. You can also edit the brackets.");
    this.baselineTools = make("div", {class: "tools", hidden: true},
      button("Reset", () => (this.link.set("model", {tree: this.fields.baseline}), this.restore())),
      button("Set as baseline", () => (this.link.set("model", {baseline: this.fields.tree}), this.restore())),
      make("span", {class: "faint"}, "The scores are compared with those of the baseline, the tree before your edits."));
    this.fragments = fragmentList(() => [this.view], (highlight) => this.link.set("model", {highlight}));
    this.sum = make("p", {class: "faint"});
    this.near = make("ol", {class: "near"});
    this.nearNote = make("p", {class: "faint"});
    this.examples = exampleRow();
    this.examples.element.hidden = true;
    this.heading = make("h2", {}, "Attribution");
    this.details = make("div", {class: "pair output", hidden: true},
      make("div", {class: "card list"}, this.heading, this.sum, this.fragments.element),
      make("div", {class: "card list"}, make("h2", {}, "Nearest trees"), this.nearNote, this.near));
    this.element = make("section", {class: "view"},
      make("h1", {class: "hidden"}, "Explain a model"),
      make("div", {class: "top model"},
        make("div", {class: "result", role: "status"}, make("div", {class: "result-line output"}, this.label, this.compared), this.source, this.kernel),
        this.scores),
      this.examples.element,
      make("div", {class: "card"}, this.stage.element, this.tools, this.hint, this.editor.element, this.baselineTools), this.details);
  }

  async restore() {
    if (!this.model) await this.load();
    if (this.fields.tree === "" && this.model?.trees.length) Object.assign(this.fields, {tree: this.model.trees[0], baseline: this.model.trees[0]});
    if (this.fields.baseline === "") this.fields.baseline = this.fields.tree;
    this.editor.text = this.fields.tree;
    this.fragments.highlighted = this.fields.highlight;
    this.baseline = null;
    if (this.model && !this.result) this.compared.textContent = "Computing the score …";
    const {baseline, tree, output} = this.fields;
    if (baseline !== tree) this.predictBaseline.send({tree: baseline, output: output || null});
    this.changed();
  }

  // Loads the description of the model. The embedded model is trained when it is first needed.
  async load() {
    this.source.textContent = this.about.model ? "Loading the model …" : "Training a small ranker …";
    try {
      this.model = await ask("examples");
    } catch (error) {
      this.source.textContent = "";
      this.fail(error);
      return;
    }
    const {name, task, kernel, trees} = this.model;
    this.source.textContent = `${TASKS[task]}: ${name}.` +
      (this.about.model ? "" : " To explain your own model, start the explorer with it: treelet explore m.treelet.");
    this.kernel.textContent = `Kernel: ${kernel}`;
    this.examples.element.hidden = !trees.length;
    this.examples.list.replaceChildren(...trees.map((tree) =>
      make("button", {type: "button", class: "plain", on: {click: () => {
        this.link.set("model", {tree, baseline: tree, highlight: "", output: ""});
        this.select(null);
        this.restore();
      }}}, words(tree))));
  }

  changed() {
    const {tree, output} = this.fields;
    this.baselineTools.hidden = this.fields.baseline === tree;
    this.predict.send({tree, output: output || null});
  }

  updateBaseline(result) {
    this.baseline = result;
    if (this.result) this.drawScores();
  }

  update(result, fields) {
    this.editor.hide();
    this.element.classList.remove("stale");
    this.result = result;
    this.details.hidden = false;
    if (fields.tree === this.fields.baseline) this.baseline = result;
    this.view = drawn(this.stage, this.view, result.tree);
    if (this.selected !== null && this.selected >= result.tree.labels.length) this.select(null);
    this.drawScores();
    this.heading.textContent = result.unexplained ? "Attribution"
      : result.task === "classify" ? `Attribution of the score of ${result.output}` : "Attribution of the score";
    this.sum.textContent = result.unexplained ?? balance(result);
    const nothing = !result.unexplained && result.fragments.length === 0;
    this.fragments.update(result.fragments ?? [], nothing ? "This tree has no fragment in common with the model." : "");
    this.drawNear(result.near);
  }

  drawScores() {
    const {result, baseline} = this, compared = baseline && this.fields.baseline !== this.fields.tree;
    const before = compared ? new Map(baseline.scores.map(({label, score}) => [label, score])) : new Map();
    const single = result.task !== "classify";
    this.label.textContent = single ? scoreFigures(result.scores[0].score) : result.label;
    this.compared.textContent = !compared ? (single ? "score" : "")
      : single ? `baseline ${scoreFigures(baseline.scores[0].score)} (${signed(result.scores[0].score - baseline.scores[0].score)})`
        : baseline.label === result.label ? "same as the baseline" : `baseline: ${baseline.label}`;
    const most = Math.max(...result.scores.map(({score}) => Math.abs(score)), ...[...before.values()].map(Math.abs), 1e-12);
    const twoSided = result.scores.some(({score}) => score < 0) || [...before.values()].some((score) => score < 0);
    const rows = result.scores.map((row) => ({...row, before: before.get(row.label)})).sort((a, b) => b.score - a.score);
    const format = aligned(result.scores.map(({score}) => score));
    const formatChange = aligned(rows.map((row) => (row.before === undefined ? null : row.score - row.before)));
    this.scores.hidden = single;
    const shown = this.allScores ? rows : rows.filter((row, k) => k < SHOWN || row.label === result.output);
    const more = make("button", {type: "button", class: "plain", on: {click: () => ((this.allScores = !this.allScores), this.drawScores())}},
      this.allScores ? "Show fewer classes" : `Show ${rows.length - shown.length} more classes`);
    const change = ({score, before}) => (before === undefined ? "" : Math.abs(score - before) < 1e-9 ? "="
      : (score > before ? "+" : "") + formatChange(score - before));
    this.scores.replaceChildren(...shown.map((row) => make("button",
      {type: "button", class: `score${row.label === result.label ? " best" : ""}`, title: `Explain the score of ${row.label}`,
        "aria-pressed": String(row.label === result.output), on: {click: () => {
          this.link.set("model", {output: row.label, highlight: ""});
          this.fragments.highlighted = "";
          this.changed();
        }}},
      make("span", {class: "class-name"}, row.label), bar(row.score, most, twoSided), make("span", {class: "number"}, format(row.score)),
      make("span", {class: "number moved", title: "Difference from the baseline"}, change(row)))));
    if (rows.length > SHOWN + 1) this.scores.append(more);
  }

  drawNear(near) {
    this.near.replaceChildren();
    if (!near) {
      this.nearNote.textContent = "The kernel of this model has no nearest trees.";
      return;
    }
    const count = near.of.toLocaleString("en");
    if (!near.trees.length) {
      this.nearNote.textContent = `None of ${count} ${near.from === "data" ? "training" : "support"} trees has a fragment in common with this tree.`;
      return;
    }
    this.nearNote.textContent = near.from === "data" ? `Of ${count} training trees, with their cosines.`
      : `Of ${count} support trees, with their cosines and their weights` + (this.result.task === "classify" ? ` for ${this.result.output}` : "") +
        ". To search all training trees, start the explorer with --data train.tsv.";
    const weight = aligned(near.trees.map((row) => row.weight));
    this.near.append(...near.trees.map((row) => make("li", {}, make("button",
      {type: "button", class: "neighbor", title: `Load ${row.tree}`, on: {click: () => {
        this.link.set("model", {tree: row.tree});
        this.select(null);
        this.restore();
      }}},
      make("span", {class: "number"}, figures(row.value)),
      make("span", {class: "tag"}, row.label ?? ""),
      make("span", {class: `number${row.weight < 0 ? " against" : ""}`}, row.weight === null ? "" : (row.weight > 0 ? "+" : "") + weight(row.weight)),
      make("span", {class: "words"}, row.words)))));
  }

  select(number) {
    this.selected = number;
    this.view?.select(number);
    this.tools.hidden = number === null;
    this.hint.hidden = number !== null;
    if (number === null) return;
    this.name.value = this.result.tree.labels[number];
    this.name.focus();
    this.name.select();
  }

  // Edits the tree at the selected node.
  edit(change) {
    const {labels, parents} = this.result.tree;
    if (this.selected === null) return;
    const edited = change({labels, parents}, this.selected);
    if (edited === null) {
      this.editor.show({message: "The whole tree cannot be deleted. Edit the brackets instead."});
      return;
    }
    const tree = brackets(edited);
    this.select(null);
    this.link.set("model", {tree});
    this.editor.text = tree;
    this.changed();
  }

  fail(error) {
    if (!this.result) this.compared.textContent = "";
    this.element.classList.add("stale");
    this.editor.show(error);
  }
}

// Describes how the score splits into the listed fragments and the rest.
function balance({score, fragments, complete, intercept = 0, others = [], rest = 0}) {
  const parts = [intercept ? `intercept ${signed(intercept)}` : "", ...others.filter(({share}) => share).map(({kernel, share}) => `${kernel} ${signed(share)}`)];
  const left = rest - intercept - others.reduce((sum, {share}) => sum + share, 0);
  if (!complete) parts.push(`fragments that are not listed ${signed(left)}`);
  const terms = [fragments.length ? "the sum of the fragments below" : "", ...parts].filter(Boolean);
  return `Score ${scoreFigures(score)}${terms.length ? `: ${terms.join(" and ")}` : ""}.`;
}

// Returns the words of a tree in brackets.
function words(tree) {
  return [...tree.matchAll(/([^\s()]+)\s*\)/g)].map((match) => match[1]).join(" ");
}
