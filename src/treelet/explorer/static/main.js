// The page: its views, its link and its color theme.

import {ask} from "./ask.js";
import {EXAMPLES} from "./examples.js";
import {Link} from "./link.js";
import {ModelView} from "./model.js";
import {make} from "./parts.js";
import {SentenceView} from "./sentence.js";
import {TreesView} from "./trees.js";

const VIEWS = {trees: TreesView, sentence: SentenceView, model: ModelView};
const THEMES = {Auto: null, Light: "light", Dark: "dark"};
const main = document.getElementById("main");
const tabs = [...document.querySelectorAll("[data-view]")];

async function start() {
  let about;
  try {
    about = await ask("about");
  } catch (error) {
    main.append(make("p", {class: "error"}, error.message));
    return;
  }
  const views = {};
  const own = about.examples; // from the user's own treebank, data or model
  about.examples = {trees: own.trees ?? EXAMPLES.trees, sentences: own.sentences ?? EXAMPLES.sentences};
  const link = new Link(about.model ? "model" : "trees", about.examples, () => show());
  const show = () => {
    views[link.view] ??= new VIEWS[link.view](link, about);
    main.replaceChildren(views[link.view].element);
    for (const tab of tabs) {
      if (tab.dataset.view === link.view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    views[link.view].restore();
  };
  for (const tab of tabs) tab.addEventListener("click", () => (link.go(tab.dataset.view), show()));
  document.getElementById("copy").addEventListener("click", async (event) => {
    link.write();
    const status = await navigator.clipboard.writeText(location.href).then(() => "Copied", () => "Copy it from the address bar");
    event.target.textContent = status;
    setTimeout(() => (event.target.textContent = "Copy link"), 1500);
  });
  show();
}

function theme(name) {
  const button = document.getElementById("theme");
  button.textContent = `◐ ${name}`;
  button.setAttribute("aria-label", `Color theme: ${name}`);
  if (THEMES[name]) document.documentElement.dataset.theme = THEMES[name];
  else delete document.documentElement.dataset.theme;
  button.onclick = () => {
    const names = Object.keys(THEMES), next = names[(names.indexOf(name) + 1) % names.length];
    try {
      localStorage.setItem("theme", next);
    } catch { /* The browser does not store settings; the theme is lost on reload. */ }
    theme(next);
  };
}

let stored = null;
try {
  stored = localStorage.getItem("theme");
} catch { /* The browser does not store settings. */ }
theme(Object.hasOwn(THEMES, stored ?? "") ? stored : "Auto");
start();
