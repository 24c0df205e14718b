// A list of fragments: what each adds, and where it is. Who points at one sees it in the trees; who chooses one keeps it lit.
//
//   const list = new FragmentList({views: () => [...], chosen: (text) => ..., first: 12, numbers: (shares) => (share) => "..."});
//   element.append(list.element);
//   list.update([{text, share, places: [[...], ...], counts?}, ...], note);
//
// `places` has, tree by tree, the numbers of the nodes that the fragment covers; `views` gives the drawings of the trees. `first` are shown
// before "more". `chosen` is told the fragment that is to stay lit, or "".

import {html} from "./drawing.js";
import {signed} from "./scenes.js";

export class FragmentList {
  constructor({views, chosen = () => {}, first = Infinity, numbers = () => signed}) {
    Object.assign(this, {views, chosen, first, numbers, light: "", all: false, found: [], rows: new Map()});
    this.list = html("ol", "treelet-fragments");
    this.list.addEventListener("pointerleave", () => this.show(this.light));
    this.more = html("button", "treelet-more");
    this.more.type = "button";
    this.more.addEventListener("click", () => ((this.all = !this.all), this.draw()));
    this.note = html("p", "treelet-rest");
    this.element = html("div", "treelet-listed");
    this.element.append(this.list, this.more, this.note);
  }

  update(found, note = "") {
    const times = new Map(); // of several with one text, under several kernels say, each has a name of its own
    this.found = found.map((one) => {
      const before = times.get(one.text) ?? 0;
      times.set(one.text, before + 1);
      return {...one, name: before ? `${one.text} ${before + 1}` : one.text};
    });
    this.note.textContent = note;
    this.note.hidden = !note;
    this.draw();
    this.show(this.light);
  }

  draw() {
    const shares = this.found.map((one) => one.share), twoSided = shares.some((share) => share < 0);
    const most = shares.reduce((far, share) => Math.max(far, Math.abs(share)), 0), number = this.numbers(shares);
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const shown = this.all ? this.found : this.found.slice(0, this.first);
    this.rows = new Map(shown.map((one) => [one.name, this.row(one, number(one.share), bar(one.share, most, twoSided))]));
    this.list.replaceChildren(...[...this.rows.values()].map((row) => {
      const item = html("li", "");
      item.append(row);
      return item;
    }));
    this.press();
    if (focused !== null) this.rows.get(focused)?.focus({preventScroll: true});
    this.list.hidden = !this.found.length;
    this.more.hidden = this.found.length <= this.first;
    this.more.textContent = this.all ? "fewer" : `${this.found.length - this.first} more`;
  }

  row({name, text, counts}, number, share) {
    const row = html("button", "treelet-fragment");
    Object.assign(row, {type: "button", title: "Show it in the trees"});
    row.dataset.name = name;
    row.append(html("span", "treelet-value", number), share, html("code", "treelet-text", text));
    if (counts && counts[0] * counts[1] > 1) {
      const times = html("span", "treelet-times", `${counts[0]} × ${counts[1]}`);
      times.title = "how often it is in each";
      row.append(times);
    }
    for (const event of ["pointerenter", "focus"]) row.addEventListener(event, () => this.show(name));
    row.addEventListener("blur", () => this.show(this.light));
    row.addEventListener("click", () => this.choose(name));
    return row;
  }

  choose(name) {
    this.light = name === this.light ? "" : name;
    this.press();
    this.show(this.light || name);
    this.chosen(this.light);
  }

  press() {
    for (const [name, row] of this.rows) row.setAttribute("aria-pressed", String(name === this.light));
  }

  show(name) {
    const one = name ? this.found.find((other) => other.name === name) : null;
    this.views().forEach((view, number) => view?.mark(one ? one.places[number] : null));
  }

  // Which fragments a node is in.
  touch(tree, node) {
    for (const one of this.found) {
      this.rows.get(one.name)?.classList.toggle("treelet-has", node !== null && one.places[tree].includes(node));
    }
  }
}

// A bar from the middle to the left or the right, or from the left where nothing is below 0.
export function bar(share, most, twoSided) {
  const track = html("span", "treelet-bar"), inner = html("span", share < 0 ? "treelet-against" : "treelet-for");
  const part = most > 0 ? Math.min(1, Math.abs(share) / most) : 0;
  inner.style.width = `${(twoSided ? 50 : 100) * part}%`;
  if (twoSided) inner.style.marginLeft = share < 0 ? `${50 * (1 - part)}%` : "50%";
  track.setAttribute("aria-hidden", "true");
  track.append(inner);
  return track;
}
