// The state of the page is stored in its link: #view?view.field=value&...

// Returns the fields of each view. The first examples are the initial content.
const defaults = (examples) => ({
  trees: {...examples.trees[0].fields, kernel: "sst", lam: "0.4", mu: "0.4", depth: "", normalized: "", show: "fragments", step: "", highlight: ""},
  sentence: {words: examples.sentences[0] ?? "", k: "10", prune: "3", a: "", b: "", show: "parses", highlight: ""},
  model: {tree: "", baseline: "", output: "", highlight: ""},
});
// Names of fields in links of earlier versions.
const RENAMED = {light: "highlight", norm: "normalized", this: "a", that: "b", was: "baseline"};
const LONGEST = 500_000; // characters of a link
const WAIT = 250; // milliseconds from a change to a new link

export class Link {
  // `home` is the view that opens if the link does not name one.
  constructor(home, examples, onRestore) {
    this.home = home;
    this.defaults = defaults(examples);
    this.read();
    addEventListener("hashchange", () => {
      if (location.hash === this.written) return;
      clearTimeout(this.timer);
      this.read();
      onRestore();
    });
  }

  read() {
    this.written = location.hash;
    const [view, query = ""] = location.hash.slice(1).split("?");
    const params = new URLSearchParams(query);
    this.view = Object.hasOwn(this.defaults, view) ? view : this.home;
    this.fields = structuredClone(this.defaults);
    for (const [key, value] of params) {
      const [owner, given] = key.split(".");
      const name = Object.hasOwn(RENAMED, given ?? "") ? RENAMED[given] : given;
      if (Object.hasOwn(this.defaults, owner) && Object.hasOwn(this.defaults[owner], name)) this.fields[owner][name] = value;
    }
  }

  // Contains all fields of the current view, and the changed fields of the other views.
  text() {
    const params = new URLSearchParams();
    for (const [view, fields] of Object.entries(this.fields)) {
      for (const [name, value] of Object.entries(fields)) {
        if (view === this.view ? value !== "" : value !== this.defaults[view][name]) params.set(`${view}.${name}`, value);
        else if (view === this.view && this.defaults[view][name] !== "") params.set(`${view}.${name}`, "");
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

  // Does nothing if the address has changed since it was read or written: the user has followed another link, and the event
  // that reads that link is on its way.
  write(push = false) {
    clearTimeout(this.timer);
    if (location.hash !== this.written) return;
    const text = this.text();
    if (text !== location.hash && text.length < LONGEST) history[push ? "pushState" : "replaceState"](null, "", text);
    this.written = location.hash;
  }
}
