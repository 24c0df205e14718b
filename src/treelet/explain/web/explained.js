// Trees with the fragments behind a score: who points at a fragment sees where it is, and at a node which fragments have it.
//
//   explained(element, {trees: [{title, picture}], fragments: [{text, share, places: [[...], ...]}], rest?, ...}, options)
//
// `places` has, tree by tree, the numbers of the nodes that the fragment covers. The views are given back.

import {html} from "./drawing.js";
import {signed} from "./scenes.js";
import {treeView} from "./tree-view.js";

export function explained(element, told, options = {}) {
  const root = html("div", "treelet-explained"), row = html("div", "treelet-trees");
  const views = told.trees.map(({title, picture}, k) => {
    const figure = html("div", "treelet-tree");
    if (title) figure.append(html("div", "treelet-title", title));
    row.append(figure);
    const view = treeView(figure, picture, {...options, selected: k === 0 ? options.selected : null});
    figure.addEventListener("treelet:hover", (event) => point(k, event.detail.number));
    return view;
  });
  const list = html("ol", "treelet-fragments");
  const most = told.fragments.reduce((far, one) => Math.max(far, Math.abs(one.share)), 0);
  let pinned = null;
  const light = (fragment) => views.forEach((view, k) => view.mark(fragment ? fragment.places[k] : null));
  const items = told.fragments.map((fragment) => {
    const item = html("li", ""), button = html("button", "treelet-fragment");
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    const bar = html("span", `treelet-bar ${fragment.share < 0 ? "treelet-against" : "treelet-for"}`);
    bar.style.setProperty("--treelet-share", most ? (Math.abs(fragment.share) / most).toFixed(3) : "0");
    button.append(html("span", "treelet-value", signed(fragment.share)), bar, html("code", "treelet-text", fragment.text));
    button.addEventListener("pointerenter", () => light(fragment));
    button.addEventListener("focus", () => light(fragment));
    for (const name of ["pointerleave", "blur"]) button.addEventListener(name, () => light(pinned));
    button.addEventListener("click", () => {
      pinned = pinned === fragment ? null : fragment;
      items.forEach((other, k) => other.setAttribute("aria-pressed", String(told.fragments[k] === pinned)));
      light(pinned ?? fragment);
    });
    item.append(button);
    list.append(item);
    return button;
  });
  const point = (tree, number) => items.forEach((button, k) => {
    const has = number !== null && told.fragments[k].places[tree].includes(number);
    button.classList.toggle("treelet-has", has);
  });
  root.append(row);
  if (items.length) root.append(list);
  if (told.rest) root.append(html("p", "treelet-rest", told.rest));
  element.append(root);
  return {views, destroy: () => (views.forEach((view) => view.destroy()), root.remove())};
}
