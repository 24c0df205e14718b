// A list of fragments: what each adds, and where it is. Hovering one lights it up in the trees, choosing one keeps it lit.

import {aligned, bar, make} from "./parts.js";

const FIRST = 12; // shown before "more"

export class Fragments {
  // `views` gives the drawings, one for each list of places; `chosen` is told the fragment that is to stay lit, or "".
  constructor(views, chosen) {
    Object.assign(this, {views, chosen, light: "", all: false, found: [], lit: null});
    this.list = make("ol", {class: "fragments"});
    this.more = make("button", {type: "button", class: "plain", hidden: true, on: {click: () => ((this.all = !this.all), this.draw())}});
    this.note = make("p", {class: "faint"});
    this.element = make("div", {}, this.list, this.more, this.note);
    this.list.addEventListener("pointerleave", () => this.show(this.light));
  }

  update(found, note = "") {
    this.found = found;
    this.note.textContent = note;
    this.draw();
    this.show(this.light);
  }

  draw() {
    const most = Math.max(...this.found.map((one) => Math.abs(one.share)), 0);
    const twoSided = this.found.some((one) => one.share < 0);
    const figure = aligned(this.found.map((one) => one.share));
    const shown = this.all ? this.found : this.found.slice(0, FIRST);
    this.rows = new Map();
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.tree : null;
    this.list.replaceChildren(...shown.map((one) => {
      const row = make(
        "button",
        {
          type: "button", class: "fragment", data: {tree: one.tree}, title: "Show it in the trees",
          on: {
            pointerenter: () => this.show(one.tree), focus: () => this.show(one.tree), blur: () => this.show(this.light),
            click: () => this.choose(one.tree),
          },
        },
        make("span", {class: "number"}, (twoSided && one.share > 0 ? "+" : "") + figure(one.share)),
        bar(one.share, most, twoSided),
        make("code", {}, one.tree),
        one.counts && one.counts[0] * one.counts[1] > 1 ? make("span", {class: "faint times", title: "how often it is in each"}, `${one.counts[0]} × ${one.counts[1]}`) : null,
      );
      row.setAttribute("aria-pressed", String(one.tree === this.light));
      this.rows.set(one.tree, row);
      return make("li", {}, row);
    }));
    if (focused !== null) this.rows.get(focused)?.focus({preventScroll: true});
    this.more.hidden = this.found.length <= FIRST;
    this.more.textContent = this.all ? "fewer" : `${this.found.length - FIRST} more`;
  }

  choose(tree) {
    this.light = tree === this.light ? "" : tree;
    for (const [name, row] of this.rows) row.setAttribute("aria-pressed", String(name === this.light));
    this.show(this.light || tree);
    this.chosen(this.light);
  }

  show(tree) {
    const one = tree ? this.found.find((other) => other.tree === tree) : null;
    this.views().forEach((view, number) => view?.mark(one ? one.places[number] : null));
  }

  // Which fragments a node is in.
  touch(side, node) {
    for (const one of this.found) {
      this.rows.get(one.tree)?.classList.toggle("touched", node !== null && one.places[side].includes(node));
    }
  }
}
