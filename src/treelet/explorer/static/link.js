// The whole state of the page is in its link: #view?view.field=value&...

import {EXAMPLES} from "./examples.js";

const DEFAULTS = {
  trees: {...EXAMPLES.trees[0].fields, kernel: "sst", lam: "0.4", mu: "0.4", depth: "", norm: "", light: ""},
  sentence: {words: EXAMPLES.sentences[0], k: "10", prune: "3", this: "", that: "", show: "parses", light: ""},
  model: {tree: "", was: "", output: "", light: ""},
};
const LONGEST = 500_000; // letters of a link
const WAIT = 250; // milliseconds from a change to a new link

export class Link {
  constructor(restored) {
    this.restored = restored;
    this.read();
    addEventListener("hashchange", () => {
      if (location.hash === this.written) return;
      this.read();
      restored();
    });
  }

  read() {
    const [view, query = ""] = location.hash.slice(1).split("?");
    const given = new URLSearchParams(query);
    this.view = Object.hasOwn(DEFAULTS, view) ? view : "trees";
    this.fields = structuredClone(DEFAULTS);
    for (const [key, value] of given) {
      const [of, name] = key.split(".");
      if (Object.hasOwn(DEFAULTS, of) && Object.hasOwn(DEFAULTS[of], name)) this.fields[of][name] = value;
    }
  }

  // All of the view that is shown, and of the others what was changed.
  text() {
    const params = new URLSearchParams();
    for (const [view, fields] of Object.entries(this.fields)) {
      for (const [name, value] of Object.entries(fields)) {
        if (view === this.view ? value !== "" : value !== DEFAULTS[view][name]) params.set(`${view}.${name}`, value);
        else if (view === this.view && DEFAULTS[view][name] !== "") params.set(`${view}.${name}`, "");
      }
    }
    return `#${this.view}?${params}`;
  }

  set(view, fields) {
    Object.assign(this.fields[view], fields);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.write(), WAIT);
  }

  go(view) {
    this.write();
    this.view = view;
    this.write(true);
  }

  write(push = false) {
    clearTimeout(this.timer);
    this.written = this.text();
    if (this.written !== location.hash && this.written.length < LONGEST) {
      history[push ? "pushState" : "replaceState"](null, "", this.written);
    }
    this.written = location.hash;
  }
}
