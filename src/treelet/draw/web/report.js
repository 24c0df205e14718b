// In a report: pictures that can be walked through, in the place of those that were drawn before.

import {explained} from "./explained.js";

const cases = JSON.parse(document.getElementById("told").textContent);
for (const place of document.querySelectorAll("[data-told]")) {
  const still = [...place.children];
  explained(place, cases[Number(place.dataset.told)]);
  for (const one of still) one.remove();
}
