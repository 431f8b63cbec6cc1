// ModelPicker chooses a model: those of the agents, of local servers, and of the catalogue.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { useGet } from "../../api";
import { tokens } from "../../format";
import { Dialog, Problem } from "../../ui";
import type { Model, Page } from "../../wire";

interface Props {
  title: string;
  // none is the name of the choice without a model.
  none?: string;
  current?: string;
  choose: (model: string) => void;
  close: () => void;
}

// So many models are listed; more words find the others.
const most = 100;

export function ModelPicker({ title, none, current, choose, close }: Props) {
  const found = useGet<Page<Model>>("/v1/models", { local: true });
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (found.data?.items ?? []).filter((m) => words.every((w) => m.id.toLowerCase().includes(w)));
  const choices: { model: string; name: string; detail: string }[] = fits
    .slice(0, most)
    .map((m) => ({ model: m.id, name: m.id, detail: [m.local && "local", m.window && `${tokens(m.window)} window`].filter(Boolean).join(" · ") }));
  if (none && words.length === 0) choices.unshift({ model: "", name: none, detail: "" });
  const here = Math.min(at, choices.length - 1);
  useEffect(() => {
    list.current?.children[here]?.scrollIntoView({ block: "nearest" });
  }, [here]);
  const take = (i: number) => {
    const c = choices[i];
    if (!c) return;
    close();
    choose(c.model);
  };
  return (
    <Dialog title={title} bare close={close} class="palette" submit={() => take(here)}>
      <input
        class="palette-input"
        type="text"
        role="combobox"
        aria-label={title}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={choices[here] ? `${id}-${here}` : undefined}
        placeholder={title}
        autocomplete="off"
        spellcheck={false}
        autofocus
        value={text}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
          if (!step || choices.length === 0) return;
          e.preventDefault();
          setAt((here + step + choices.length) % choices.length);
        }}
      />
      {found.error && <Problem error={found.error} retry={found.reload} />}
      <div class="palette-list" role="listbox" aria-label="Models" id={id} ref={list} aria-busy={found.loading}>
        {choices.map((c, i) => (
          <div key={c.model} id={`${id}-${i}`} role="option" aria-selected={i === here} class="palette-item" onMouseMove={() => i !== here && setAt(i)} onClick={() => take(i)}>
            <span class="palette-name">{c.name}</span>
            {c.model === current && <span class="faint">current</span>}
            <span class="faint palette-kind">{c.detail}</span>
          </div>
        ))}
      </div>
      {!found.loading && !found.error && choices.length === 0 && <p class="palette-none faint">No model fits</p>}
      {fits.length > most && <p class="palette-none faint">{fits.length - most} more; type to narrow</p>}
    </Dialog>
  );
}
