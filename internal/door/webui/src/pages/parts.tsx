// Shared components: filters and text boxes stored in the URL, figures, sections, and row
// navigation.
import type { ComponentChildren, Ref, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, plural, shortId } from "../format";
import { useKeys, type Binding } from "../keys";
import { setQuery, toSession } from "../router";
import { Icon, Menu } from "../ui";
import type { Session } from "../wire";

// Unread marks a session with unreadable places.
export function Unread({ session }: { session: Session }) {
  if (!session.unread) return null;
  const text = `${plural(session.unread, "place")} unreadable`;
  return (
    <span class="chip unread" title={`${text}; run: firn verify ${session.id}`}>
      ⚠ {session.unread} unread
    </span>
  );
}

interface ChoiceProps {
  // name is the query parameter.
  name: string;
  label: string;
  chosen: string;
  choices: [value: string, name: string][];
  // any is the label for no choice; without it a choice is required.
  any?: string;
  none?: string;
  // also are other query parameters to change.
  also?: Record<string, string>;
}

// Choice is a select menu stored in the URL.
export function Choice({ name, label, chosen, choices, any, none, also }: ChoiceProps) {
  const shownValue = choices.find(([value]) => value === chosen)?.[1] ?? chosen;
  const set = (value: string) => setQuery({ [name]: value, ...also }, { push: true });
  const items = [
    ...(any === undefined ? [] : [{ label: any, checked: chosen === "", run: () => set("") }]),
    ...choices.map(([value, text]) => ({ label: text, checked: value === chosen, run: () => set(value) })),
    ...(choices.length === 0 && none ? [{ label: none, disabled: true }] : []),
  ];
  const shown = any === undefined || chosen !== "";
  return (
    <Menu label={shown ? `${label}: ${shownValue}` : label} class={"button quiet choice" + (chosen && any !== undefined ? " on" : "")} items={items}>
      {shown ? (
        <>
          <span class="choice-label">{label}</span> <span class="choice-value">{shownValue}</span>
        </>
      ) : (
        label
      )}
      <Icon name="down" />
    </Menu>
  );
}

// withChosen adds the chosen value to the choices if it is missing.
export function withChosen(list: string[], chosen: string): [string, string][] {
  return (chosen && !list.includes(chosen) ? [...list, chosen] : list).map((v) => [v, v]);
}

interface BoxProps {
  name: string;
  label: string;
  placeholder?: string;
  value: string;
  box?: Ref<HTMLInputElement>;
  // wait is the delay after the last key before the URL changes; without it Enter is needed.
  wait?: number;
  class?: string;
  autofocus?: boolean;
}

// Box is a text box stored in the URL.
export function Box({ name, label, placeholder, value, box, wait, class: more, autofocus }: BoxProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (wait === undefined || text === value) return;
    const t = setTimeout(() => setQuery({ [name]: text.trim() }), wait);
    return () => clearTimeout(t);
  }, [text]);
  return (
    <span class={"filter-box " + (more ?? "")}>
      <Icon name="search" />
      <input
        ref={box}
        class="input"
        type="search"
        aria-label={label}
        placeholder={placeholder ?? label}
        value={text}
        autoFocus={autofocus}
        spellcheck={false}
        autocomplete="off"
        onInput={(e) => {
          setText(e.currentTarget.value);
          if (e.currentTarget.value === "") setQuery({ [name]: "" });
        }}
        onKeyDown={(e) => {
          if (e.key === "Enter" && !e.isComposing) setQuery({ [name]: text.trim() }, { push: text.trim() !== value });
          if (e.key === "Escape") e.currentTarget.blur();
        }}
      />
    </span>
  );
}

// useRows moves with j and k between elements with data-row, focusing the first link or button of
// the row.
export function useRows(name: string, root: RefObject<HTMLElement | null>, more: Binding[] = []): void {
  const step = (by: number) => {
    const rows = [...(root.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
    if (rows.length === 0) return;
    const at = rows.findIndex((r) => r.contains(document.activeElement));
    const row = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by))]!;
    const target = row.matches("a, button") ? row : row.querySelector<HTMLElement>("a, button");
    target?.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  };
  useKeys(name, [{ key: "j", does: "Next", run: () => step(1) }, { key: "k", does: "Previous", run: () => step(-1) }, ...more]);
}

// toBox returns the shortcut that focuses a text box.
export function toBox(box: RefObject<HTMLInputElement | null>, does = "Search"): Binding {
  return { key: "/", does, run: () => box.current?.select() };
}

// rowAt returns the data-row of the focused row.
export function rowAt(): string {
  return document.activeElement?.closest<HTMLElement>("[data-row]")?.dataset["row"] ?? "";
}

export function Figure({ name, value, title }: { name: string; value: ComponentChildren; title?: string }) {
  return (
    <div title={title}>
      <dt>{name}</dt>
      <dd class="num">{value}</dd>
    </div>
  );
}

interface SectionProps {
  title: string;
  // note is shown next to the title, actions at the end of the line.
  note?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

export function Section({ title, note, actions, children }: SectionProps) {
  return (
    <section class="section" aria-label={title}>
      <header class="section-head">
        <h2>{title}</h2>
        {note && <span class="faint section-note">{note}</span>}
        {actions && <span class="section-actions">{actions}</span>}
      </header>
      {children}
    </section>
  );
}

// Evidence links to the source entries of a fact.
export function Evidence({ sources }: { sources?: string[] | null }) {
  if (!sources || sources.length === 0) return null;
  return (
    <span class="evidence">
      from{" "}
      {sources.slice(0, 8).map((s, i) => {
        const [session = "", entry = ""] = s.split("/");
        return (
          <a key={s} class="mono" href={toSession(session, "", entry ? { at: entry } : {})} title={s}>
            {shortId(session)}
            {entry && "/" + entry.slice(-5)}
            {i < sources.length - 1 ? "," : ""}
          </a>
        );
      })}
      {sources.length > 8 && <span>and {count(sources.length - 8)} more</span>}
    </span>
  );
}

// useEvery runs a function periodically while the page is visible; zero disables it.
export function useEvery(ms: number, run: () => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (!ms) return;
    const t = setInterval(() => !document.hidden && latest.current(), ms);
    return () => clearInterval(t);
  }, [ms]);
}
