// A model and a tree: what it says, why, and how that moves when the tree is changed.

import {ask, Latest} from "./ask.js";
import {brackets, grown, pruned, renamed} from "./edits.js";
import {Brackets, aligned, bar, drawn, figures, fragmentList, make, signed} from "./parts.js";

const SHOWN = 8; // classes before "more"
const TASKS = {classify: "classifier", regress: "regressor", rank: "ranker"};

export class ModelView {
  constructor(link, about) {
    Object.assign(this, {link, about, before: null, view: null, selected: null});
    this.judge = new Latest("judge", (found, asked) => this.answered(found, asked), (error) => this.failed(error));
    this.first = new Latest("judge", (found) => this.started(found), () => this.started(null));
    this.build();
  }

  get fields() {
    return this.link.fields.model;
  }

  build() {
    const set = (fields) => (this.link.set("model", fields), this.changed());
    this.label = make("span", {class: "hero", id: "label"});
    this.was = make("span", {class: "beside"});
    this.source = make("p", {class: "faint"});
    this.scores = make("div", {class: "scores"});
    this.editor = new Brackets("The tree, in brackets", (tree) => set({tree}));
    this.stage = make("div", {class: "stage", on: {
      "treelet:node": (event) => this.select(event.detail.number),
      "treelet:hover": (event) => this.fragments.touch(0, event.detail.number),
    }});
    this.name = make("input", {type: "text", class: "label-input", "aria-label": "Label of the chosen node", spellcheck: false, autocomplete: "off",
      on: {keydown: (event) => {
        if (event.key === "Enter") this.edit((tree, node) => renamed(tree, node, this.name.value.trim()));
        if (event.key === "Escape") this.select(null);
      }}});
    const button = (text, act) => make("button", {type: "button", on: {click: act}}, text);
    this.tools = make("div", {class: "tools", hidden: true}, this.name,
      button("Rename", () => this.edit((tree, node) => renamed(tree, node, this.name.value.trim()))),
      button("Add child", () => this.edit((tree, node) => grown(tree, node, this.name.value.trim()))),
      button("Delete", () => this.edit((tree, node) => pruned(tree, node))));
    this.hint = make("p", {class: "faint"}, "Choose a node to rename it, delete it or give it a child; or edit the brackets.");
    this.changedTools = make("div", {class: "tools", hidden: true},
      button("Back to the first tree", () => (this.link.set("model", {tree: this.fields.was}), this.restore())),
      button("Compare with this one from now on", () => (this.link.set("model", {was: this.fields.tree}), this.restore())));
    this.fragments = fragmentList(() => [this.view], (light) => this.link.set("model", {light}));
    this.sum = make("p", {class: "faint"});
    this.near = make("ol", {class: "near"});
    this.nearNote = make("p", {class: "faint"});
    this.examples = make("div", {class: "examples"});
    this.why = make("h2", {}, "Why");
    this.rest = make("div", {class: "pair", hidden: true},
      make("div", {class: "card list"}, this.why, this.sum, this.fragments.element),
      make("div", {class: "card list"}, make("h2", {}, "Nearest trees"), this.nearNote, this.near));
    this.element = make("section", {class: "view"},
      make("h1", {class: "hidden"}, "A model"),
      make("div", {class: "top model"},
        make("div", {class: "result", role: "status"}, make("div", {class: "result-line"}, this.label, this.was), this.source),
        this.scores),
      this.examples,
      make("div", {class: "card"}, this.stage, this.tools, this.hint, this.editor.element, this.changedTools), this.rest);
  }

  async restore() {
    if (!this.model) await this.ready();
    if (this.fields.tree === "" && this.model?.trees.length) Object.assign(this.fields, {tree: this.model.trees[0], was: this.model.trees[0]});
    if (this.fields.was === "") this.fields.was = this.fields.tree;
    this.editor.text = this.fields.tree;
    this.fragments.light = this.fields.light;
    this.before = null;
    const {was, tree, output} = this.fields;
    if (was !== tree) this.first.ask({tree: was, output: output || null});
    this.changed();
  }

  // What the model is. The embedded one is made when it is first asked for.
  async ready() {
    this.source.textContent = "The model is being made ready ...";
    try {
      this.model = await ask("examples");
    } catch (error) {
      this.failed(error);
      return;
    }
    const {name, task, kernel, trees} = this.model;
    this.source.textContent = `${TASKS[task]}: ${name}, ${kernel}` + (this.about.model ? "" : ". Your own: treelet explore m.treelet");
    this.examples.replaceChildren(make("span", {class: "faint"}, "Examples"), ...trees.map((tree) =>
      make("button", {type: "button", class: "plain", on: {click: () => {
        this.link.set("model", {tree, was: tree, light: "", output: ""});
        this.select(null);
        this.restore();
      }}}, words(tree))));
  }

  changed() {
    const {tree, output} = this.fields;
    this.changedTools.hidden = this.fields.was === tree;
    this.judge.ask({tree, output: output || null});
  }

  started(found) {
    this.before = found;
    if (this.found) this.drawScores();
  }

  answered(found, asked) {
    this.editor.hush();
    this.element.classList.remove("stale");
    this.found = found;
    this.rest.hidden = false;
    if (asked.tree === this.fields.was) this.before = found;
    this.view = drawn(this.stage, this.view, found.tree);
    if (this.selected !== null && this.selected >= found.tree.labels.length) this.select(null);
    this.drawScores();
    this.why.textContent = found.unexplained ? "Why" : found.task === "classify" ? `Why ${found.output}` : "Why this score";
    const {complete, intercept = 0, others = [], rest = 0} = found;
    const parts = [intercept ? `intercept ${signed(intercept)}` : "", ...others.filter((one) => one.share).map((one) => `${one.kernel} ${signed(one.share)}`)];
    const left = rest - intercept - others.reduce((sum, one) => sum + one.share, 0);
    if (!complete && !found.unexplained) parts.push(`pieces that are not listed ${signed(left)}`);
    this.sum.textContent = found.unexplained ?? `Score ${figures(found.score)}: the pieces below` + parts.filter(Boolean).map((part) => `, ${part}`).join("") + ".";
    const nothing = !found.unexplained && found.fragments.length === 0;
    this.fragments.update(found.fragments ?? [], nothing ? "This tree shares nothing with what the model has seen." : "");
    this.drawNear(found.near);
  }

  drawScores() {
    const {found, before} = this, moved = before && this.fields.was !== this.fields.tree;
    const first = moved ? new Map(before.scores.map((one) => [one.label, one.score])) : new Map();
    const single = found.task !== "classify";
    this.label.textContent = single ? figures(found.scores[0].score) : found.label;
    this.was.textContent = !moved ? (single ? "score" : "")
      : single ? `was ${figures(before.scores[0].score)} (${signed(found.scores[0].score - before.scores[0].score)})`
        : before.label === found.label ? "as before" : `was ${before.label}`;
    const most = Math.max(...found.scores.map((one) => Math.abs(one.score)), ...[...first.values()].map(Math.abs), 1e-12);
    const twoSided = found.scores.some((one) => one.score < 0) || [...first.values()].some((score) => score < 0);
    const rows = found.scores.map((one) => ({...one, was: first.get(one.label)})).sort((a, b) => b.score - a.score);
    const figure = aligned(found.scores.map((one) => one.score));
    const step = aligned(rows.map((one) => (one.was === undefined ? null : one.score - one.was)));
    this.scores.hidden = single;
    const kept = this.allScores ? rows : rows.filter((one, k) => k < SHOWN || one.label === found.output);
    const more = make("button", {type: "button", class: "plain", on: {click: () => ((this.allScores = !this.allScores), this.drawScores())}},
      this.allScores ? "fewer classes" : `${rows.length - kept.length} more classes`);
    this.scores.replaceChildren(...kept.map(({label, score, was}) => make("button",
      {type: "button", class: `score${label === found.label ? " best" : ""}`, title: `Why ${label}?`, on: {click: () => {
        this.link.set("model", {output: label, light: ""});
        this.fragments.light = "";
        this.changed();
      }}},
      make("span", {class: "class-name"}, label), bar(score, most, twoSided), make("span", {class: "number"}, figure(score)),
      make("span", {class: "number moved"}, was === undefined ? "" : Math.abs(score - was) < 1e-9 ? "=" : (score > was ? "+" : "") + step(score - was)))));
    if (rows.length > SHOWN + 1) this.scores.append(more);
    for (const row of this.scores.querySelectorAll(".score")) row.setAttribute("aria-pressed", String(row.firstChild.textContent === found.output));
  }

  drawNear(near) {
    this.near.replaceChildren();
    if (!near) {
      this.nearNote.textContent = "";
      return;
    }
    const {found} = this;
    this.nearNote.textContent = near.from === "data" ? `Of the ${near.of.toLocaleString("en")} trees in the file, by their cosine.`
      : `Of the ${near.of.toLocaleString("en")} support trees in the model, by their cosine, and what each weighs` +
        (found.task === "classify" ? ` for ${found.output}` : "") + ". Others of the training trees are not in its file: name them, treelet explore m.treelet --data train.tsv";
    this.near.append(...near.trees.map((one) => make("li", {}, make("button",
      {type: "button", class: "neighbor", title: one.tree, on: {click: () => {
        this.link.set("model", {tree: one.tree});
        this.select(null);
        this.restore();
      }}},
      make("span", {class: "number"}, figures(one.value)),
      make("span", {class: "tag"}, one.label ?? ""),
      make("span", {class: `number${one.weight < 0 ? " against" : ""}`}, one.weight === null ? "" : one.weight === 0 ? "0" : signed(one.weight)),
      make("span", {class: "words"}, one.words)))));
  }

  select(number) {
    this.selected = number;
    this.view?.select(number);
    this.tools.hidden = number === null;
    this.hint.hidden = number !== null;
    if (number === null) return;
    this.name.value = this.found.tree.labels[number];
    this.name.focus();
    this.name.select();
  }

  // Changes the tree at the chosen node.
  edit(change) {
    const {labels, parents} = this.found.tree;
    if (this.selected === null) return;
    const made = change({labels, parents}, this.selected);
    if (made === null) {
      this.editor.say({message: "the whole tree cannot be deleted: edit the brackets"});
      return;
    }
    const tree = brackets(made);
    this.select(null);
    this.link.set("model", {tree});
    this.editor.text = tree;
    this.changed();
  }

  failed(error) {
    this.element.classList.add("stale");
    this.editor.say(error);
  }
}

// The words of a tree in brackets.
function words(tree) {
  return [...tree.matchAll(/([^\s()]+)\s*\)/g)].map((found) => found[1]).join(" ");
}
