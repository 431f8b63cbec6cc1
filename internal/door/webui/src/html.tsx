// Html is the only component that inserts HTML. The gateway renders and sanitizes it; the browser
// accepts it only through the Trusted Types policy below.
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
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

// Answers with more blocks than this have only the content near the window in the page.
const many = 60;

// useNear empties blocks far from the window, which keep their heights, and fills them again when
// they come near.
function useNear(html: { readonly current: readonly string[] }): (block: Element) => void {
  const observer = useRef<IntersectionObserver>(undefined);
  useEffect(() => () => observer.current?.disconnect(), []);
  return (block) => {
    observer.current ??= new IntersectionObserver(
      (changes) => {
        for (const { target, isIntersecting, boundingClientRect } of changes) {
          const el = target as HTMLElement;
          const text = html.current[[...(el.parentElement?.children ?? [])].indexOf(el)];
          if (isIntersecting && el.style.height) {
            el.style.height = "";
            setHTML(el, text ?? "");
          } else if (!isIntersecting && !el.style.height && boundingClientRect.height > 0) {
            el.style.height = boundingClientRect.height + "px";
            el.replaceChildren();
          }
        }
      },
      { root: block.closest(".log-scroll"), rootMargin: "150% 0px" },
    );
    observer.current.observe(block);
  };
}

// Growing shows a growing list of HTML blocks. Unchanged blocks are not touched, so that text
// selections survive.
export function Growing({ blocks, class: name }: { blocks: readonly string[]; class?: string }) {
  const el = useRef<HTMLDivElement>(null);
  const shown = useRef<string[]>([]);
  const near = useNear(shown);
  const watched = useRef(0);
  useLayoutEffect(() => {
    const root = el.current;
    if (!root) return;
    for (const [i, html] of blocks.entries()) {
      if (shown.current[i] === html) continue;
      let block = root.children[i] as HTMLElement | undefined;
      if (!block) {
        block = document.createElement("div");
        root.append(block);
      }
      block.style.height = "";
      setHTML(block, html);
    }
    while (root.children.length > blocks.length) root.lastElementChild!.remove();
    shown.current = [...blocks];
    if (blocks.length <= many) return;
    // The last block may still grow.
    for (; watched.current < blocks.length - 1; watched.current++) near(root.children[watched.current]!);
  }, [blocks]);
  return <div ref={el} class={name} />;
}
