// Trees with the fragments behind a score. Pointing at a fragment highlights its nodes; pointing at a node emphasizes the
// fragments that contain it.
//
//   explained(element, {trees: [{title, picture}], fragments: [{text, share, places: [[...], ...]}], rest?, ...}, options)
//
// Fragments have the form that fragments.js takes. Returns the tree views and a function that removes everything.

import {html} from "./elements.js";
import {FragmentList} from "./fragments.js";
import {treeView} from "./tree-view.js";

export function explained(element, content, options = {}) {
  const root = html("div", "treelet-explained"), row = html("div", "treelet-trees");
  const list = new FragmentList({views: () => views});
  const views = content.trees.map(({title, picture}, k) => {
    const figure = html("div", "treelet-tree");
    if (title) figure.append(html("div", "treelet-title", title));
    row.append(figure);
    const view = treeView(figure, picture, {...options, selected: k === 0 ? options.selected : null});
    figure.addEventListener("treelet:hover", (event) => list.touch(k, event.detail.number));
    return view;
  });
  root.append(row);
  if (content.fragments.length || content.rest) root.append(list.element);
  list.update(content.fragments, content.rest);
  element.append(root);
  return {views, destroy: () => (views.forEach((view) => view.destroy()), root.remove())};
}
