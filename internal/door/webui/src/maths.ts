// Maths is a bundle of its own, loaded only for pages with formulas: it renders TeX as MathML.
import temml from "temml";

// render replaces the TeX of an element by MathML. It sets no HTML: Temml creates nodes. A formula
// that cannot be read stays as it is.
export function render(el: HTMLElement): void {
  const tex = el.textContent ?? "";
  const to = document.createElement("span");
  try {
    temml.render(tex, to, { displayMode: el.classList.contains("display"), throwOnError: true, trust: false, maxExpand: 500, maxSize: [20, 20] });
  } catch {
    el.classList.add("math-error");
    return;
  }
  el.replaceChildren(...to.childNodes);
  el.classList.add("math-done");
  el.title = tex;
}
