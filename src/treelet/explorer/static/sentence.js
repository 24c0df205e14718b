// A sentence: its parses in a ranker's order, its forest, and why this parse and not that one.

import {Latest} from "./ask.js";
import {EXAMPLES} from "./examples.js";
import {Complaint, aligned, choice, drawn, figures, fragmentList, make, signed, slider} from "./parts.js";

export class SentenceView {
  constructor(link, about) {
    Object.assign(this, {link, about, found: null, views: [null, null]});
    this.parse = new Latest("sentence", (found) => this.answered(found), (error) => this.failed(error));
    this.why = new Latest("why", (found) => this.told(found), (error) => this.failed(error));
    this.build();
  }

  get fields() {
    return this.link.fields.sentence;
  }

  build() {
    const set = (fields) => (this.link.set("sentence", fields), this.changed());
    this.input = make("input", {class: "sentence", type: "text", spellcheck: false, autocomplete: "off", "aria-label": "Sentence",
      placeholder: "a sentence, its words separated by blanks",
      on: {input: () => set({words: this.input.value, this: "", that: "", light: ""})}});
    this.k = slider("parses", "How many parses at most", {min: 1, max: 30, step: 1}, (value) => set({k: String(value), this: "", that: ""}));
    this.prune = slider("forest", "Parses so much less likely than the best are in the forest (logarithm)",
      {min: 0, max: 8, step: 0.5, shown: (v) => v.toFixed(1)}, (value) => set({prune: String(value)}));
    this.show = choice("show", {parses: "Parses", forest: "Forest"}, (show) => (this.link.set("sentence", {show}), this.arrange()));
    this.complaint = new Complaint();
    this.source = make("p", {class: "faint"});
    this.list = make("ol", {class: "parses"});
    this.stages = [make("div", {class: "stage"}), make("div", {class: "stage"})];
    this.heads = [make("h3", {}), make("h3", {})];
    this.fragments = fragmentList(() => this.views, (light) => this.link.set("sentence", {light}));
    this.stages.forEach((stage, side) => stage.addEventListener("treelet:hover", (event) => this.fragments.touch(side, event.detail.number)));
    this.balance = make("p", {class: "balance"});
    this.forestStage = make("div", {class: "stage wide"});
    this.forestNote = make("p", {class: "faint"});
    this.forest = make("div", {class: "card"}, this.forestNote, this.forestStage);
    const examples = make("div", {class: "examples"}, make("span", {class: "faint"}, "Examples"), ...EXAMPLES.sentences.map((words) =>
      make("button", {type: "button", class: "plain", on: {click: () => (set({words, this: "", that: "", light: ""}), this.restore())}}, words)));
    this.column = make("div", {class: "column", hidden: true},
      make("div", {class: "pair"}, ...[0, 1].map((k) => (this[`card${k}`] = make("div", {class: "card"}, this.heads[k], this.stages[k])))),
      (this.reasons = make("div", {class: "card list"}, make("h2", {}, "Why this one and not that one"), this.balance, this.fragments.element)));
    this.parses = make("div", {class: "beside-list"},
      make("div", {class: "card"}, make("h2", {}, "Parses"), this.source, this.list), this.column);
    this.element = make("section", {class: "view"},
      make("h1", {class: "hidden"}, "A sentence"),
      make("div", {class: "ask"}, this.input, make("div", {class: "sliders"}, this.show.element, this.k.element, this.prune.element)),
      this.complaint.element, examples, this.parses, this.forest);
  }

  restore() {
    const {words, k, prune, show, light} = this.fields;
    this.input.value = words;
    this.k.set(k);
    this.prune.set(prune);
    this.show.set(show);
    this.fragments.light = light;
    if (!this.found) this.source.textContent = "The grammar and the ranker are being made ready ...";
    this.changed();
  }

  changed() {
    const {words, k, prune} = this.fields;
    this.arrange();
    this.parse.ask({sentence: words, k: Number(k), prune: Number(prune)});
  }

  arrange() {
    const forest = this.fields.show === "forest";
    this.parses.hidden = forest;
    this.forest.hidden = !forest;
    this.prune.element.hidden = !forest;
    this.k.element.hidden = forest;
    if (forest && this.found) this.drawForest();
  }

  answered(found) {
    this.complaint.hush();
    this.element.classList.remove("stale");
    this.found = found;
    this.column.hidden = false;
    const ranked = found.ranker !== null;
    this.source.textContent = `By the grammar of ${found.grammar}` + (ranked ? `, put in order by ${found.ranker}.`
      : "; there is no ranker to put them in another order: give one, treelet explore ranker.treelet.");
    const numbers = found.parses.map((one) => one.number);
    const picked = (name, other) => (this.fields[name] !== "" && numbers.includes(Number(this.fields[name])) ? Number(this.fields[name]) : other);
    this.thisOne = picked("this", numbers[0]);
    this.thatOne = picked("that", numbers.includes(0) && this.thisOne !== 0 ? 0 : numbers.find((number) => number !== this.thisOne) ?? null);
    this.drawList();
    this.arrange();
    this.drawPair();
  }

  drawList() {
    const best = Math.max(...this.found.parses.map((one) => one.logp ?? -Infinity));
    const score = aligned(this.found.parses.map((one) => one.score));
    const logp = aligned(this.found.parses.map((one) => (one.logp === null ? null : one.logp - best)));
    const row = (one, place) => {
      const pick = (name) => make("button", {type: "button", class: "plain pick", title: `Show it as ${name} one`,
        on: {click: () => this.pick(name, one.number)}}, name);
      const moved = one.number - place;
      const picks = [pick("this"), pick("that")];
      picks[0].setAttribute("aria-pressed", String(one.number === this.thisOne));
      picks[1].setAttribute("aria-pressed", String(one.number === this.thatOne));
      return make("li", {class: "parse"},
        make("span", {class: "rank"}, String(place + 1)),
        make("span", {class: "move faint", title: `number ${one.number + 1} of the parser`},
          this.found.ranker === null || moved === 0 ? "" : moved > 0 ? `↑${moved}` : `↓${-moved}`),
        make("span", {class: "number"}, score(one.score)),
        make("span", {class: "number faint", title: "log probability, less that of the best"}, one.logp === null ? "none" : logp(one.logp - best)),
        make("span", {class: "picks"}, ...picks));
    };
    const head = make("li", {class: "parse head faint", "aria-hidden": "true"}, make("span", {}, ""), make("span", {}, ""),
      make("span", {class: "number"}, this.found.ranker === null ? "" : "score"), make("span", {class: "number"}, "log p"), make("span", {}, ""));
    this.list.replaceChildren(head, ...this.found.parses.map(row));
  }

  pick(name, number) {
    const other = name === "this" ? "that" : "this";
    const now = {this: this.thisOne, that: this.thatOne};
    if (now[other] === number) now[other] = now[name];
    now[name] = number;
    [this.thisOne, this.thatOne] = [now.this, now.that];
    this.fragments.light = "";
    this.link.set("sentence", {this: String(now.this), that: String(now.that ?? ""), light: ""});
    this.drawList();
    this.drawPair();
  }

  drawPair() {
    const {parses} = this.found;
    const one = (number) => parses.find((parse) => parse.number === number);
    const place = (number) => parses.findIndex((parse) => parse.number === number) + 1;
    [this.thisOne, this.thatOne].forEach((number, side) => {
      this[`card${side}`].hidden = number === null;
      if (number === null) return;
      this.heads[side].textContent = `${["This", "That"][side]}: number ${place(number)}`;
      this.draw(side, one(number).picture);
    });
    const reasons = this.found.ranker !== null && this.thatOne !== null;
    this.reasons.hidden = !reasons;
    const {words, k} = this.fields;
    if (reasons) this.why.ask({sentence: words, k: Number(k), this: this.thisOne, that: this.thatOne});
  }

  draw(side, picture) {
    this.views[side] = drawn(this.stages[side], this.views[side], picture);
  }

  told(found) {
    found.trees.forEach((picture, side) => this.draw(side, picture));
    const others = found.others.map((one) => `${signed(one.share)} of it by ${one.kernel === "Linear()" ? "the parser's probability" : one.kernel}`);
    this.balance.textContent = `This one's score is ${figures(Math.abs(found.score))} ${found.score < 0 ? "lower" : "higher"} than that one's` +
      (others.length ? `; ${others.join(", ")}.` : ".");
    const listed = found.fragments.reduce((sum, one) => sum + one.share, 0);
    const left = found.score - listed - found.others.reduce((sum, one) => sum + one.share, 0);
    this.fragments.update(found.fragments, found.complete ? "" : `Pieces that are not listed: ${signed(left)}.`);
  }

  drawForest() {
    const {picture, trees, nodes} = this.found.forest;
    this.forestNote.textContent = `${trees} trees in ${nodes} nodes` +
      (picture ? "" : ": too many to draw; move the slider to the left for fewer.");
    this.forestView?.destroy();
    this.forestView = picture ? drawn(this.forestStage, null, picture) : null;
  }

  failed(error) {
    this.element.classList.add("stale");
    this.complaint.say(error);
  }
}
