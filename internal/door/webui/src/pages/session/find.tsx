// FindBar finds words in the session and steps through the hits.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { count, sentence } from "../../format";
import { Icon } from "../../ui";
import type { Talk } from "./talk";

interface Props {
  talk: Talk;
  jump: (entry: string) => void;
}

export function FindBar({ talk, jump }: Props) {
  const { finding } = talk;
  const text = useSignal(finding.text.peek());
  const box = useRef<HTMLInputElement>(null);
  const hits = finding.hits.value;
  useEffect(() => box.current?.select(), []);
  useEffect(() => {
    const t = setTimeout(() => void finding.ask(text.value.trim()), 200);
    return () => clearTimeout(t);
  }, [text.value]);
  // show goes to a hit. Before the oldest loaded one come older ones, after the latest the oldest.
  const show = async (at: number) => {
    if (finding.hits.peek().length === 0) return;
    if (at < 0 && finding.more.peek()) {
      const older = await finding.older();
      if (!older) return; // they are being loaded already, or could not be
      at += older;
    }
    const all = finding.hits.peek();
    finding.at.value = (at + all.length) % all.length;
    jump(all[finding.at.value]!.entry);
  };
  // The latest hit is shown first.
  useEffect(() => void show(hits.length - 1), [hits.at(-1)]);
  const { error } = finding;
  // The number of a hit counts from the oldest loaded one, so it is shown only if all are loaded.
  const found = hits.length
    ? finding.more.value
      ? `${count(hits.length - finding.at.value)} of ${count(hits.length)}+ (from the end)`
      : `${count(finding.at.value + 1)} of ${count(hits.length)}`
    : finding.text.value && !finding.busy.value && !error.value
      ? "none"
      : "";
  return (
    <div class="find" role="search" aria-label="This session">
      <input
        ref={box}
        class="input"
        type="search"
        aria-label="Find in this session"
        aria-invalid={!!error.value}
        placeholder="Find in this session"
        value={text.value}
        onInput={(e) => (text.value = e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === "Enter") {
            e.preventDefault();
            void show(finding.at.value + (e.shiftKey ? 1 : -1));
          } else if (e.key === "Escape") {
            e.preventDefault();
            finding.close();
            talk.focus();
          }
        }}
      />
      <span class="num find-count" role="status">
        {found}
        {error.value && (
          <span class="find-error">
            {sentence(error.value.message)} {error.value.hint && sentence(error.value.hint)}
          </span>
        )}
      </span>
      <button type="button" class="icon-button" aria-label="Previous hit" title="Previous hit (Enter)" disabled={hits.length === 0} onClick={() => void show(finding.at.value - 1)}>
        <Icon name="up" />
      </button>
      <button type="button" class="icon-button" aria-label="Next hit" title="Next hit (Shift Enter)" disabled={hits.length === 0} onClick={() => void show(finding.at.value + 1)}>
        <Icon name="down" />
      </button>
      <button type="button" class="icon-button" aria-label="Close find" title="Close (Esc)" onClick={() => finding.close()}>
        <Icon name="close" />
      </button>
    </div>
  );
}
