// Html is the only component that inserts HTML. The gateway renders and sanitizes it; the browser
// accepts it only through the Trusted Types policy below.
import { useLayoutEffect, useRef } from "preact/hooks";
import { complete } from "./prose";

interface Policy {
  createHTML: (s: string) => string;
}
interface Factory {
  createPolicy: (name: string, rules: { createHTML: (s: string) => string }) => Policy;
}

const rules = { createHTML: (s: string) => s };
const factory = (window as unknown as { trustedTypes?: Factory }).trustedTypes;
// Browsers without Trusted Types use the rules directly.
const policy: Policy = factory ? factory.createPolicy("firn", rules) : rules;

// setHTML sets the HTML of an element.
export function setHTML(el: Element, html: string): void {
  el.innerHTML = policy.createHTML(html);
  complete(el);
}

export function Html({ html, class: name }: { html: string; class?: string }) {
  const el = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (el.current) setHTML(el.current, html);
  }, [html]);
  return <div ref={el} class={name} />;
}

// Growing shows a growing list of HTML blocks. Unchanged blocks are not touched, so that text
// selections survive.
export function Growing({ blocks, class: name }: { blocks: readonly string[]; class?: string }) {
  const el = useRef<HTMLDivElement>(null);
  const shown = useRef<string[]>([]);
  useLayoutEffect(() => {
    const root = el.current;
    if (!root) return;
    for (const [i, html] of blocks.entries()) {
      if (shown.current[i] === html) continue;
      let block = root.children[i];
      if (!block) {
        block = document.createElement("div");
        root.append(block);
      }
      setHTML(block, html);
    }
    while (root.children.length > blocks.length) root.lastElementChild!.remove();
    shown.current = [...blocks];
  }, [blocks]);
  return <div ref={el} class={name} />;
}
