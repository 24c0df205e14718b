// The notebook widget: draws the content from Python and sends the selected node back to Python.

import {explained} from "./explained.js";

function render({model, el}) {
  let shown = null;
  const draw = () => {
    shown?.destroy();
    shown = explained(el, model.get("content"), {...model.get("options"), selected: model.get("selected")});
  };
  const select = () => shown.views[0]?.select(model.get("selected"));
  const onNode = (event) => {
    if (!shown.views[0]?.root.contains(event.target) && !event.target.contains(shown.views[0]?.root)) return;
    model.set("selected", event.detail.number);
    model.save_changes();
    select();
  };
  draw();
  model.on("change:content", draw);
  model.on("change:selected", select);
  el.addEventListener("treelet:node", onNode);
  return () => {
    model.off("change:content", draw);
    model.off("change:selected", select);
    el.removeEventListener("treelet:node", onNode);
    shown.destroy();
  };
}

export default {render};
