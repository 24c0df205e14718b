// A list of fragments with their contributions. Pointing at a fragment highlights it in the trees; a click keeps the highlight.
//
//   const list = new FragmentList({views: () => [...], onChoose: (name) => ..., first: 12, numbers: (shares) => (share) => "..."});
//   element.append(list.element);
//   list.update([{text, parts?, share, places: [[...], ...], counts?, kind?, picture?}, ...], note);
//
// `places` contains, per tree, the numbers of the nodes that the fragment covers. `views` returns the tree views. `first` is the
// number of fragments before "Show more". With `kind`, the row is an operation of an edit script: it has a sign instead of a number.
// `parts` is the text in parts, of which every second one is a word, set in italics. With `picture`, the fragment is drawn as a small
// tree instead of its text.
// `onChoose` gets the name of the fragment that stays highlighted, or "".

import {chip} from "./drawing.js";
import {html} from "./elements.js";
import {signed} from "./scenes.js";
import {treeView} from "./tree-view.js";

const SMALL_TREE = 0.72; // scale of a fragment that is drawn

export class FragmentList {
  constructor({views, onChoose = () => {}, first = Infinity, numbers = () => signed}) {
    Object.assign(this, {views, onChoose, first, numbers, highlighted: "", all: false, fragments: [], rows: new Map()});
    this.list = html("ol", "treelet-fragments");
    this.list.addEventListener("pointerleave", () => this.show(this.highlighted));
    this.more = html("button", "treelet-more");
    this.more.type = "button";
    this.more.addEventListener("click", () => ((this.all = !this.all), this.draw()));
    this.note = html("p", "treelet-rest");
    this.element = html("div", "treelet-listed");
    this.element.append(this.list, this.more, this.note);
  }

  update(fragments, note = "") {
    const seen = new Map(); // several kernels may list fragments with the same text; each gets a name of its own
    this.fragments = fragments.map((fragment) => {
      const before = seen.get(fragment.text) ?? 0;
      seen.set(fragment.text, before + 1);
      return {...fragment, name: before ? `${fragment.text} ${before + 1}` : fragment.text};
    });
    this.note.textContent = note;
    this.note.hidden = !note;
    this.draw();
    this.show(this.highlighted);
  }

  draw() {
    const shares = this.fragments.map((fragment) => fragment.share), twoSided = shares.some((share) => share < 0);
    const most = shares.reduce((far, share) => Math.max(far, Math.abs(share)), 0), number = this.numbers(shares);
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.name : null;
    const shown = this.all ? this.fragments : this.fragments.slice(0, this.first);
    this.rows = new Map(shown.map((fragment) =>
      [fragment.name, this.row(fragment, number(fragment.share), bar(fragment.share, most, twoSided))]));
    this.list.replaceChildren(...[...this.rows.values()].map((row) => {
      const item = html("li", "");
      item.append(row);
      return item;
    }));
    this.list.classList.toggle("treelet-cards", shown.some((fragment) => fragment.picture));
    this.press();
    if (focused !== null) this.rows.get(focused)?.focus({preventScroll: true});
    this.list.hidden = !this.fragments.length;
    this.more.hidden = this.fragments.length <= this.first;
    this.more.textContent = this.all ? "Show fewer" : `Show ${this.fragments.length - this.first} more`;
  }

  row({name, text, parts, counts, kind, picture}, number, share) {
    const row = html("button", `treelet-fragment${kind ? " treelet-operation" : ""}`);
    Object.assign(row, {type: "button", title: kind ? "Highlight this edit" : "Highlight this fragment"});
    row.dataset.name = name;
    row.append(...(kind ? [chip(kind)] : [html("span", "treelet-value", number), share]), picture ? smallTree(picture, text) : code(text, parts));
    if (counts && counts[0] * counts[1] > 1) {
      const times = html("span", "treelet-times", `${counts[0]} × ${counts[1]}`);
      times.title = `Occurrences: ${counts[0]} in A, ${counts[1]} in B`;
      row.append(times);
    }
    for (const event of ["pointerenter", "focus"]) row.addEventListener(event, () => this.show(name));
    row.addEventListener("blur", () => this.show(this.highlighted));
    row.addEventListener("click", () => this.choose(name));
    return row;
  }

  choose(name) {
    this.highlighted = name === this.highlighted ? "" : name;
    this.press();
    this.show(this.highlighted || name);
    this.onChoose(this.highlighted);
  }

  press() {
    for (const [name, row] of this.rows) row.setAttribute("aria-pressed", String(name === this.highlighted));
  }

  show(name) {
    const shown = name ? this.fragments.find((fragment) => fragment.name === name) : null;
    this.views().forEach((view, number) => view?.mark(shown ? shown.places[number] : null));
  }

  // Emphasizes the fragments that contain a node of a tree.
  touch(tree, node) {
    for (const fragment of this.fragments) {
      this.rows.get(fragment.name)?.classList.toggle("treelet-has", node !== null && fragment.places[tree].includes(node));
    }
  }
}

// Returns a fragment as a small tree. Its text is the name for screen readers.
function smallTree(picture, text) {
  const element = html("span", "treelet-small-tree"), label = html("code", "treelet-text", text);
  treeView(element, picture, {interactive: false});
  const svg = element.querySelector("svg");
  svg.style.width = `${SMALL_TREE * svg.getAttribute("width")}px`;
  element.firstChild.setAttribute("aria-hidden", "true");
  element.append(label);
  return element;
}

// Returns the text of a fragment, with words in italics.
function code(text, parts) {
  const element = html("code", "treelet-text", parts ? null : text);
  if (parts) element.append(...parts.map((part, k) => (k % 2 ? html("i", "", part) : part)));
  return element;
}

// Returns a bar that starts in the middle or, if no share is negative, at the left.
export function bar(share, most, twoSided) {
  const track = html("span", "treelet-bar"), inner = html("span", share < 0 ? "treelet-against" : "treelet-for");
  const part = most > 0 ? Math.min(1, Math.abs(share) / most) : 0;
  inner.style.width = `${(twoSided ? 50 : 100) * part}%`;
  if (twoSided) inner.style.marginLeft = share < 0 ? `${50 * (1 - part)}%` : "50%";
  track.setAttribute("aria-hidden", "true");
  track.append(inner);
  return track;
}
