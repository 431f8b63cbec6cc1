// FindBar finds words in the session and steps through the hits.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../../format";
import { Icon } from "../../ui";
import type { Talk } from "./talk";

interface Props {
  talk: Talk;
  jump: (entry: string) => void;
}

export function FindBar({ talk, jump }: Props) {
  const { finding } = talk;
  const text = useSignal(finding.words.peek());
  const box = useRef<HTMLInputElement>(null);
  const hits = finding.hits.value;
  useEffect(() => box.current?.select(), []);
  useEffect(() => {
    const t = setTimeout(() => void finding.ask(text.value.trim()), 200);
    return () => clearTimeout(t);
  }, [text.value]);
  const show = (at: number) => {
    if (hits.length === 0) return;
    finding.at.value = (at + hits.length) % hits.length;
    jump(hits[finding.at.value]!.entry);
  };
  // The latest hit is shown first.
  useEffect(() => show(hits.length - 1), [hits]);
  const found = hits.length ? `${count(finding.at.value + 1)} of ${count(hits.length)}${finding.more.value ? "+" : ""}` : finding.words.value ? "none" : "";
  return (
    <div class="find" role="search" aria-label="This session">
      <input
        ref={box}
        class="input"
        type="search"
        aria-label="Find in this session"
        placeholder="Find in this session"
        value={text.value}
        onInput={(e) => (text.value = e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter") {
            e.preventDefault();
            show(finding.at.value + (e.shiftKey ? 1 : -1));
          } else if (e.key === "Escape") {
            e.preventDefault();
            finding.close();
            talk.focus();
          }
        }}
      />
      <span class="num find-count" role="status">
        {found}
      </span>
      <button type="button" class="icon-button" aria-label="Previous hit" title="Previous hit (Enter)" disabled={hits.length === 0} onClick={() => show(finding.at.value - 1)}>
        <Icon name="up" />
      </button>
      <button type="button" class="icon-button" aria-label="Next hit" title="Next hit (Shift Enter)" disabled={hits.length === 0} onClick={() => show(finding.at.value + 1)}>
        <Icon name="down" />
      </button>
      <button type="button" class="icon-button" aria-label="Close find" title="Close (Esc)" onClick={() => finding.close()}>
        <Icon name="close" />
      </button>
    </div>
  );
}
