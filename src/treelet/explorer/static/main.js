// The page: its views, its link, light and dark.

import {ask} from "./ask.js";
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
  const made = {};
  const link = new Link(() => show());
  const show = () => {
    made[link.view] ??= new VIEWS[link.view](link, about);
    main.replaceChildren(made[link.view].element);
    for (const tab of tabs) {
      if (tab.dataset.view === link.view) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    made[link.view].restore();
  };
  for (const tab of tabs) tab.addEventListener("click", () => (link.go(tab.dataset.view), show()));
  document.getElementById("copy").addEventListener("click", async (event) => {
    link.write();
    const said = await navigator.clipboard.writeText(location.href).then(() => "Copied", () => "It is in the address bar");
    event.target.textContent = said;
    setTimeout(() => (event.target.textContent = "Copy link"), 1500);
  });
  show();
}

function theme(name) {
  const button = document.getElementById("theme");
  button.textContent = `◐ ${name}`;
  if (THEMES[name]) document.documentElement.dataset.theme = THEMES[name];
  else delete document.documentElement.dataset.theme;
  button.onclick = () => {
    const names = Object.keys(THEMES), next = names[(names.indexOf(name) + 1) % names.length];
    try {
      localStorage.setItem("theme", next);
    } catch { /* then it is forgotten */ }
    theme(next);
  };
}

let kept = null;
try {
  kept = localStorage.getItem("theme");
} catch { /* a browser that keeps nothing */ }
theme(Object.hasOwn(THEMES, kept ?? "") ? kept : "Auto");
start();
