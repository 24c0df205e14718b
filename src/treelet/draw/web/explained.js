// Trees with the fragments behind a score: who points at a fragment sees where it is, and at a node which fragments have it.
//
//   explained(element, {trees: [{title, picture}], fragments: [{text, share, places: [[...], ...]}], rest?, ...}, options)
//
// The fragments are as fragments.js takes them. The views are given back.

import {html} from "./drawing.js";
import {FragmentList} from "./fragments.js";
import {treeView} from "./tree-view.js";

export function explained(element, told, options = {}) {
  const root = html("div", "treelet-explained"), row = html("div", "treelet-trees");
  const list = new FragmentList({views: () => views});
  const views = told.trees.map(({title, picture}, k) => {
    const figure = html("div", "treelet-tree");
    if (title) figure.append(html("div", "treelet-title", title));
    row.append(figure);
    const view = treeView(figure, picture, {...options, selected: k === 0 ? options.selected : null});
    figure.addEventListener("treelet:hover", (event) => list.touch(k, event.detail.number));
    return view;
  });
  root.append(row);
  if (told.fragments.length || told.rest) root.append(list.element);
  list.update(told.fragments, told.rest);
  element.append(root);
  return {views, destroy: () => (views.forEach((view) => view.destroy()), root.remove())};
}
