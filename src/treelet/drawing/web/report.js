// Replaces the static pictures of a report by interactive ones.

import {explained} from "./explained.js";

const cases = JSON.parse(document.getElementById("case-data").textContent);
for (const element of document.querySelectorAll("[data-case]")) {
  const children = [...element.children];
  explained(element, cases[Number(element.dataset.case)]);
  for (const child of children) child.remove();
}
