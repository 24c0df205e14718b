// Views of notebooks, without a notebook: the state that was saved with the page is given to the view's own code.

class Model {
  constructor(state) {
    this.state = state;
    this.heard = {};
  }
  get(name) { return this.state[name]; }
  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    for (const hear of this.heard[`change:${name}`] ?? []) hear();
  }
  on(event, hear) { (this.heard[event] ??= []).push(hear); }
  off(event, hear) { this.heard[event] = (this.heard[event] ?? []).filter((one) => one !== hear); }
  save_changes() {}
}

const saved = document.querySelector('script[type="application/vnd.jupyter.widget-state+json"]');
const states = saved ? JSON.parse(saved.textContent).state : {};
const modules = new Map();

for (const place of document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]')) {
  const state = states[JSON.parse(place.textContent).model_id]?.state;
  if (!state?._esm) continue;
  if (!modules.has(state._esm)) {
    const style = document.createElement("style");
    style.textContent = state._css ?? "";
    document.head.append(style);
    modules.set(state._esm, import(URL.createObjectURL(new Blob([state._esm], {type: "text/javascript"}))));
  }
  const el = document.createElement("div");
  place.after(el);
  const code = await modules.get(state._esm);
  code.default.render({model: new Model({...state}), el});
}
