// Parses a sentence: the parses in the order of the ranker, the packed forest, and the difference of two parses, A and B.

import {LatestRequest} from "./ask.js";
import {ErrorLine, aligned, choice, drawn, exampleRow, fragmentList, make, savePicture, scoreFigures, signed, slider, stage} from "./parts.js";

const SIDES = ["a", "b"];

export class SentenceView {
  constructor(link, about) {
    Object.assign(this, {link, about, result: null, views: [null, null], chosen: {a: null, b: null}});
    this.parse = new LatestRequest("sentence", (result) => this.update(result), (error) => this.fail(error));
    this.explain = new LatestRequest("why", (result) => this.updateAttribution(result), (error) => this.fail(error));
    this.build();
  }

  get fields() {
    return this.link.fields.sentence;
  }

  build() {
    const set = (fields) => (this.link.set("sentence", fields), this.changed());
    this.input = make("input", {id: "sentence", class: "sentence", type: "text", spellcheck: false, autocomplete: "off",
      placeholder: "Enter a sentence with spaces between the words, for example: show me flights to dallas",
      on: {input: () => set({words: this.input.value, a: "", b: "", highlight: ""})}});
    this.k = slider("Parses", "Maximum number of parses", {min: 1, max: 30, step: 1}, (value) => set({k: String(value), a: "", b: ""}));
    this.prune = slider("Log-probability range", "The forest contains all parses whose log probability is at most this much below the best one",
      {min: 0, max: 8, step: 0.5, format: (value) => value.toFixed(1)}, (value) => set({prune: String(value)}));
    this.show = choice("Show", {parses: "Parses", forest: "Forest"}, (show) => (this.link.set("sentence", {show}), this.arrange()));
    this.errorLine = new ErrorLine();
    this.source = make("p", {class: "faint"});
    this.note = make("p", {class: "warning", role: "status", hidden: true});
    this.list = make("ol", {class: "parses"});
    this.stages = SIDES.map((name, side) => stage({on: {
      "treelet:hover": (event) => this.fragments.touch(side, event.detail.number),
    }}));
    this.headings = SIDES.map(() => make("h3", {}));
    this.cards = SIDES.map((name, side) => make("div", {class: "card"}, this.headings[side], this.stages[side].element));
    this.fragments = fragmentList(() => this.views, (highlight) => this.link.set("sentence", {highlight}));
    this.balance = make("p", {class: "balance"});
    this.forestStage = stage({class: "wide"});
    this.forestNote = make("p", {class: "faint"});
    const save = () => savePicture({sentence: this.fields.words, prune: Number(this.fields.prune), show: "forest"}, this.errorLine);
    this.forest = make("div", {class: "card output"},
      make("div", {class: "view-tools"}, this.forestNote, make("button", {type: "button", title: "Save the picture as an SVG file", on: {click: save}}, "Save picture")),
      this.forestStage.element);
    const examples = exampleRow(this.about.examples.sentences.map((words) =>
      make("button", {type: "button", class: "plain", on: {click: () => (set({words, a: "", b: "", highlight: ""}), this.restore())}}, words)));
    this.attribution = make("div", {class: "card list output"}, make("h2", {}, "Difference between A and B"), this.balance, this.fragments.element);
    this.column = make("div", {class: "column", hidden: true}, make("div", {class: "pair output"}, ...this.cards), this.attribution);
    this.parses = make("div", {class: "beside-list"},
      make("div", {class: "card output"}, make("h2", {}, "Parses"), this.source, this.list), this.column);
    this.element = make("section", {class: "view"},
      make("h1", {class: "hidden"}, "Parse a sentence"),
      make("div", {class: "ask"},
        make("div", {}, make("label", {class: "field-label", for: "sentence"}, "Sentence"), this.input),
        make("div", {class: "sliders"}, this.show.element, this.k.element, this.prune.element)),
      this.errorLine.element, this.note, examples.element, this.parses, this.forest);
  }

  restore() {
    const {words, k, prune, show, highlight} = this.fields;
    this.input.value = words;
    this.k.set(k);
    this.prune.set(prune);
    this.show.set(show);
    this.fragments.highlighted = highlight;
    if (!this.result) this.source.textContent = "Loading the grammar and the ranker …";
    this.changed();
  }

  changed() {
    const {words, k, prune} = this.fields;
    this.arrange();
    if (words.trim() === "") {
      this.fail({message: "There is no sentence yet. Enter one with spaces between the words."});
      return;
    }
    this.parse.send({sentence: words, k: Number(k), prune: Number(prune)});
  }

  arrange() {
    const forest = this.fields.show === "forest";
    this.parses.hidden = forest;
    this.forest.hidden = !forest;
    this.prune.element.hidden = !forest;
    this.k.element.hidden = forest;
    if (forest && this.result) this.drawForest();
  }

  update(result) {
    if (this.fields.words.trim() === "") return; // the sentence was deleted meanwhile
    this.errorLine.hide();
    this.element.classList.remove("stale");
    this.result = result;
    this.column.hidden = false;
    this.note.hidden = result.note === null;
    this.note.textContent = result.note ?? "";
    this.source.textContent = `Grammar: ${result.grammar}. ` + (result.ranker !== null ? `Ranker: ${result.ranker}.`
      : "The parses are in the order of the grammar. To rank them, start the explorer with a ranker: treelet explore ranker.treelet.") +
      " Log p is the log probability relative to the best parse.";
    const numbers = result.parses.map((parse) => parse.number);
    const stored = (name, otherwise) => (this.fields[name] !== "" && numbers.includes(Number(this.fields[name])) ? Number(this.fields[name]) : otherwise);
    const a = stored("a", numbers[0]);
    const b = stored("b", numbers.includes(0) && a !== 0 ? 0 : numbers.find((number) => number !== a) ?? null);
    this.chosen = {a, b};
    this.drawList();
    this.arrange();
    this.drawPair();
  }

  drawList() {
    const best = Math.max(...this.result.parses.map((parse) => parse.logp ?? -Infinity));
    const score = aligned(this.result.parses.map((parse) => parse.score));
    const logp = aligned(this.result.parses.map((parse) => (parse.logp === null ? null : parse.logp - best)));
    const row = (parse, index) => {
      const moved = parse.number - index;
      const picks = SIDES.map((name) => make("button", {type: "button", class: "plain pick", title: `Set as ${name.toUpperCase()}`,
        "aria-label": `Set parse ${index + 1} as ${name.toUpperCase()}`, "aria-pressed": String(parse.number === this.chosen[name]),
        on: {click: () => this.pick(name, parse.number)}}, name.toUpperCase()));
      return make("li", {class: "parse"},
        make("span", {class: "rank"}, String(index + 1)),
        make("span", {class: "move faint", title: `Rank ${parse.number + 1} in the order of the grammar`},
          this.result.ranker === null || moved === 0 ? "" : moved > 0 ? `↑${moved}` : `↓${-moved}`),
        make("span", {class: "number"}, score(parse.score)),
        make("span", {class: "number faint", title: "Log probability relative to the best parse"}, parse.logp === null ? "none" : logp(parse.logp - best)),
        make("span", {class: "picks"}, ...picks));
    };
    const head = make("li", {class: "parse head faint", "aria-hidden": "true"}, make("span", {}, ""), make("span", {}, ""),
      make("span", {class: "number"}, this.result.ranker === null ? "" : "Score"), make("span", {class: "number"}, "Log p"),
      make("span", {class: "picks"}, "Compare"));
    this.list.replaceChildren(head, ...this.result.parses.map(row));
  }

  pick(name, number) {
    const other = name === "a" ? "b" : "a", chosen = {...this.chosen};
    if (chosen[other] === number) chosen[other] = chosen[name];
    chosen[name] = number;
    this.chosen = chosen;
    this.fragments.highlighted = "";
    this.link.set("sentence", {a: String(chosen.a), b: String(chosen.b ?? ""), highlight: ""});
    this.drawList();
    this.drawPair();
  }

  drawPair() {
    const {parses} = this.result;
    SIDES.forEach((name, side) => {
      const number = this.chosen[name];
      this.cards[side].hidden = number === null;
      if (number === null) return;
      const index = parses.findIndex((parse) => parse.number === number);
      this.headings[side].textContent = `${name.toUpperCase()}: parse ${index + 1}`;
      this.draw(side, parses[index].picture);
    });
    const explained = this.result.ranker !== null && this.chosen.b !== null;
    this.attribution.hidden = !explained;
    const {words, k} = this.fields;
    if (explained) this.explain.send({sentence: words, k: Number(k), ...this.chosen});
  }

  draw(side, picture) {
    this.views[side] = drawn(this.stages[side], this.views[side], picture);
  }

  updateAttribution(result) {
    result.trees.forEach((picture, side) => this.draw(side, picture));
    const others = result.others.map((other) => `${signed(other.share)} from ${other.kernel.startsWith("logp") ? "the log probability" : other.kernel}`);
    this.balance.textContent = `The score of A is ${scoreFigures(Math.abs(result.score))} ${result.score < 0 ? "lower" : "higher"} than the score of B` +
      (others.length ? `, including ${others.join(", ")}.` : ".");
    const listed = result.fragments.reduce((sum, fragment) => sum + fragment.share, 0);
    const left = result.score - listed - result.others.reduce((sum, other) => sum + other.share, 0);
    this.fragments.update(result.fragments, result.complete ? "" : `Fragments that are not listed: ${signed(left)}.`);
  }

  drawForest() {
    const {picture, trees, nodes} = this.result.forest;
    this.forestNote.textContent = `${trees} ${trees === "1" ? "tree" : "trees"} in ${nodes} nodes` +
      (picture ? "." : ": too many to draw. Reduce the log-probability range.");
    this.forestView?.destroy();
    this.forestView = picture ? drawn(this.forestStage, null, picture) : null;
  }

  fail(error) {
    this.note.hidden = true;
    this.element.classList.add("stale");
    this.errorLine.show(error);
  }
}
