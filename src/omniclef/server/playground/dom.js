// Elements by description. Text is always set as text, never as markup.

/** An element: `el("p.hint", {id: "x", onclick: f}, "text", child)`; null and undefined children are left out. */
export function el(description, attributes = {}, ...children) {
  const [name, ...classes] = description.split(".");
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in node && typeof value !== "string") node[key] = value;
    else if (key === "value") node.value = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Value of the checked radio button of a group. */
export const checked = (name) => document.querySelector(`input[name="${name}"]:checked`).value;

export function check(name, value) {
  document.querySelector(`input[name="${name}"][value="${value}"]`).checked = true;
}

/** Makes a textarea as high as its text. */
export function fit(area) {
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight + 2, 420)}px`;
}

export const percent = (share) => `${(share * 100).toFixed(1)} %`;

export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
