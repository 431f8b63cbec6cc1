// The search, the color scheme and the copy buttons of the site.
const root = document.currentScript.dataset.root;
const input = document.getElementById("find");
const list = document.getElementById("hits");
let chosen = -1;

// loadIndex adds the index as a script, because pages opened from a disk cannot request files.
let loading;
function loadIndex() {
  loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = root + "search-index.js";
    script.onload = () => done(window.searchIndex.map((r) => ({ ...r, page: r.p.toLowerCase(), heading: (r.h ?? "").toLowerCase(), text: r.t.toLowerCase() })));
    script.onerror = failed;
    document.head.append(script);
  });
  return loading;
}

// score rates a section for the words of a query; 0 means that a word is missing.
function score(section, words) {
  let sum = 0;
  for (const word of words) {
    let found = 0;
    if (section.heading.includes(word)) found += section.heading.startsWith(word) ? 14 : 10;
    if (section.page.includes(word)) found += section.h ? 4 : 16;
    const at = section.text.indexOf(word);
    if (at >= 0) found += 2 + (section.text.indexOf(word, at + 1) >= 0 ? 1 : 0);
    if (!found) return 0;
    sum += found;
  }
  if (words.length > 1 && (section.heading + " " + section.text).includes(words.join(" "))) sum += 8;
  return sum;
}

// excerpt returns the text around the first word that is found.
function excerpt(section, words) {
  const at = Math.max(0, Math.min(...words.map((w) => section.text.indexOf(w)).filter((n) => n >= 0), section.t.length) - 40);
  const from = at >= section.t.length ? 0 : at;
  return (from ? "…" : "") + section.t.slice(from, from + 130) + "…";
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return show([], words);
  const index = await loadIndex();
  const hits = index.map((section) => ({ section, rank: score(section, words) })).filter((hit) => hit.rank > 0);
  hits.sort((a, b) => b.rank - a.rank);
  show(hits.slice(0, 12).map((hit) => hit.section), words);
}

function show(hits, words) {
  chosen = -1;
  list.replaceChildren(...hits.map((section, i) => {
    const item = document.createElement("li");
    item.role = "option";
    item.id = "hit" + i;
    const link = document.createElement("a");
    link.href = root + section.u;
    link.tabIndex = -1;
    const name = document.createElement("strong");
    name.textContent = section.h ? section.p + " › " + section.h : section.p;
    const about = document.createElement("span");
    about.textContent = excerpt(section, words);
    link.append(name, about);
    item.append(link);
    return item;
  }));
  if (!hits.length && words.length) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = "Nothing found";
    list.append(none);
  }
  list.hidden = !words.length;
  input.setAttribute("aria-expanded", String(!list.hidden));
}

function choose(step) {
  const items = [...list.querySelectorAll("[role=option]")];
  if (!items.length) return;
  items[chosen]?.removeAttribute("aria-selected");
  chosen = (chosen + step + items.length) % items.length;
  items[chosen].setAttribute("aria-selected", "true");
  items[chosen].scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", items[chosen].id);
}

input.addEventListener("focus", loadIndex, { once: true });
input.addEventListener("input", search);
input.addEventListener("keydown", (e) => {
  if (e.key === "ArrowDown") choose(1);
  else if (e.key === "ArrowUp") choose(-1);
  else if (e.key === "Enter") list.querySelectorAll("[role=option] a")[Math.max(chosen, 0)]?.click();
  else if (e.key === "Escape") { input.value = ""; show([], []); input.blur(); }
  else return;
  e.preventDefault();
});
document.addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea")) return;
  e.preventDefault();
  input.focus();
});
document.addEventListener("click", (e) => { if (!e.target.closest(".find")) list.hidden = true; });

// The color scheme: that of the system, light or dark.
const schemes = ["", "light", "dark"];
const button = document.getElementById("theme");
function label() { button.textContent = { light: "Light", dark: "Dark" }[document.documentElement.dataset.theme] ?? "System"; }
button.addEventListener("click", () => {
  const next = schemes[(schemes.indexOf(document.documentElement.dataset.theme ?? "") + 1) % schemes.length];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  try { localStorage.setItem("theme", next); } catch { /* not remembered without storage */ }
  label();
});
label();

// On narrow screens the navigation is closed at first.
if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".side").open = false;
document.querySelector("[aria-current=page]")?.scrollIntoView({ block: "nearest" });

// Blocks of commands can be copied: only what is typed, without the prompt and the output.
for (const block of document.querySelectorAll("pre.code")) {
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "copy";
  copy.textContent = "Copy";
  copy.addEventListener("click", async () => {
    const lines = block.querySelector("code").textContent.trimEnd().split("\n");
    const typed = lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2));
    await navigator.clipboard.writeText((typed.length ? typed : lines).join("\n"));
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
  const frame = document.createElement("div");
  frame.className = "block";
  block.replaceWith(frame);
  frame.append(block, copy);
}
