// Prose completes rendered text in the page: directions, code with a bar, tables that scroll, and
// formulas.
import { plural } from "./format";
import { copy } from "./ui";

// Lines of code shown at first.
const ceiling = 30;
// Formulas rendered per text, and their length.
const mostFormulas = 500;
const longest = 4000;

const blocks = "p, li, th, td, h3, h4, h5, h6";
// The direction of these is that of their first letter. The browser would not look into blocks that
// have their own.
const containers = "ul, ol, blockquote, table";
const rtl = /^[^A-Za-z\u00c0-\u02b8\u0370-\u058f\u0900-\ud7ff]*[\u0590-\u08ff\ufb1d-\ufefc]/;

// complete prepares the HTML of an element for reading.
export function complete(root: Element): void {
  for (const el of root.querySelectorAll(blocks)) el.setAttribute("dir", "auto");
  for (const el of root.querySelectorAll(containers)) el.setAttribute("dir", rtl.test(el.textContent!.slice(0, 200)) ? "rtl" : "ltr");
  for (const el of root.querySelectorAll("li")) if (/^[☑☐] /.test(el.textContent!)) el.classList.add("task");
  for (const el of root.querySelectorAll("table")) box(el);
  for (const el of root.querySelectorAll<HTMLElement>("pre.code")) if (!el.closest(".tool-text")) bar(el);
  for (const el of root.querySelectorAll<HTMLElement>("pre, .table-box")) reach(el);
  for (const el of root.querySelectorAll<HTMLElement>("sup.note-ref, sup.note-label")) noteLink(el);
  const formulas = [...root.querySelectorAll<HTMLElement>("code.math:not(.math-done)")].slice(0, mostFormulas).filter((el) => el.textContent!.length <= longest);
  if (formulas.length) void showMaths(formulas);
}

// reach lets the keyboard scroll an element that is larger than its place. Sizes are read once per
// frame, for all elements.
let waiting: HTMLElement[] = [];
function reach(el: HTMLElement): void {
  if (waiting.push(el) > 1) return;
  requestAnimationFrame(() => {
    const all = waiting;
    waiting = [];
    const large = all.filter((e) => e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight);
    for (const e of large) e.tabIndex = 0;
  });
}

addEventListener("resize", () => {
  for (const el of document.querySelectorAll<HTMLElement>(":is(.prose, .tool-text) pre, .table-box")) reach(el);
});

interface Maths {
  render: (el: HTMLElement) => void;
}
let maths: Promise<Maths> | undefined;

async function showMaths(formulas: HTMLElement[]): Promise<void> {
  const at = "/assets/maths.js";
  maths ??= import(at) as Promise<Maths>;
  try {
    const { render } = await maths;
    for (const el of formulas) if (!el.classList.contains("math-done")) render(el);
  } catch {
    maths = undefined; // the source stays; the next text tries again
  }
}

// noteLink makes a button of the label of a footnote or of a reference to one.
function noteLink(el: HTMLElement): void {
  const label = el.textContent!;
  const b = document.createElement("button");
  b.type = "button";
  b.className = "note-link";
  b.textContent = label;
  b.setAttribute("aria-label", el.classList.contains("note-ref") ? `Footnote ${label}` : `Back to the text of footnote ${label}`);
  el.replaceChildren(b);
}

// The other end of a footnote is in the same message, perhaps in another block.
document.addEventListener("click", (e) => {
  const b = (e.target as Element | null)?.closest?.<HTMLElement>(".note-link");
  if (!b) return;
  const other = b.closest(".note-ref") ? ".note-label" : ".note-ref";
  const all = (b.closest("article, .prose") ?? document).querySelectorAll<HTMLElement>(`${other} .note-link`);
  const to = [...all].find((el) => el.textContent === b.textContent);
  to?.scrollIntoView({ block: "center" });
  to?.focus({ preventScroll: true });
});

// box lets a wide table scroll.
function box(table: Element): void {
  const el = document.createElement("div");
  el.className = "table-box";
  table.replaceWith(el);
  el.append(table);
}

function button(action: string, text: string): HTMLButtonElement {
  const el = document.createElement("button");
  el.type = "button";
  el.className = "code-button";
  el.dataset["code"] = action;
  el.textContent = text;
  return el;
}

// bar puts the language and the buttons above code, and folds long code.
function bar(pre: HTMLElement): void {
  const language = /language-(\S+)/.exec(pre.firstElementChild?.className ?? "")?.[1] ?? "";
  const figure = document.createElement("div");
  figure.className = "code-box";
  const head = document.createElement("div");
  head.className = "code-bar";
  const name = document.createElement("span");
  name.textContent = language === "mermaid" ? "mermaid (diagram source)" : language;
  const wrap = button("wrap", "Wrap");
  wrap.setAttribute("aria-pressed", "false");
  head.append(name, wrap, button("copy", "Copy"));
  pre.replaceWith(figure);
  figure.append(head, pre);
  const lines = pre.textContent!.split("\n").length - 1;
  if (lines > ceiling) {
    figure.classList.add("capped");
    const all = button("all", `Show all ${plural(lines, "line")}`);
    all.className = "button small";
    figure.append(all);
  }
}

// The buttons of code are handled here, since rendered text has no handlers.
document.addEventListener("click", (e) => {
  const b = (e.target as Element | null)?.closest?.<HTMLElement>("[data-code]");
  const figure = b?.closest(".code-box");
  const pre = figure?.querySelector("pre");
  if (!b || !figure || !pre) return;
  switch (b.dataset["code"]) {
    case "copy":
      void copy(pre.textContent ?? "", "the code");
      break;
    case "wrap":
      b.setAttribute("aria-pressed", String(pre.classList.toggle("wrapped")));
      break;
    case "all":
      figure.classList.remove("capped");
      reach(pre);
      b.remove();
  }
});
