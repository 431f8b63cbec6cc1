// Html is the one place where HTML becomes part of a page. It comes from the
// gateway, which made it of plain text and let only harmless tags through; the
// browser takes it only from the policy below.
import { useLayoutEffect, useRef } from "preact/hooks";

interface Policy {
  createHTML: (s: string) => string;
}
interface Factory {
  createPolicy: (name: string, rules: { createHTML: (s: string) => string }) => Policy;
}

const rules = { createHTML: (s: string) => s };
const factory = (window as unknown as { trustedTypes?: Factory }).trustedTypes;
// Browsers without Trusted Types have the same words, only unguarded.
const policy: Policy = factory ? factory.createPolicy("firn", rules) : rules;

// setHTML shows HTML of the gateway in an element.
export function setHTML(el: Element, html: string): void {
  el.innerHTML = policy.createHTML(html);
}

export function Html({ html, class: name }: { html: string; class?: string }) {
  const el = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (el.current) setHTML(el.current, html);
  }, [html]);
  return <div ref={el} class={name} />;
}

// Growing shows blocks of HTML that become more. A block that stays as it is is
// not touched, so that what one has marked in it stays marked.
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
