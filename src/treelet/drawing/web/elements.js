// Creates elements. All texts are set as text, never parsed as markup.

export function html(name, className, text = null) {
  const made = document.createElement(name);
  made.className = className;
  if (text !== null) made.textContent = text;
  return made;
}
