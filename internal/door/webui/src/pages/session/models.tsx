// ModelPicker chooses a model: those of the agents, of local servers, and of the catalog.
import { useState } from "preact/hooks";
import { useGet } from "../../api";
import { count, tokens } from "../../format";
import { Picker, Problem } from "../../ui";
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
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (found.data?.items ?? []).filter((m) => words.every((w) => m.id.toLowerCase().includes(w)));
  const choices: { model: string; name: string; detail: string }[] = fits
    .slice(0, most)
    .map((m) => ({ model: m.id, name: m.id, detail: [m.local && "local", m.window && `${tokens(m.window)} window`].filter(Boolean).join(" · ") }));
  if (none && words.length === 0) choices.unshift({ model: "", name: none, detail: "" });
  return (
    <Picker
      title={title}
      label={title}
      list="Models"
      text={text}
      onText={setText}
      items={choices}
      id={(c) => c.model}
      choose={(c) => choose(c.model)}
      close={close}
      empty={found.loading || found.error ? undefined : "No matching models"}
      busy={found.loading}
      row={(c) => (
        <>
          <span class="palette-name">{c.name}</span>
          {c.model === current && <span class="faint">current</span>}
          <span class="faint palette-kind">{c.detail}</span>
        </>
      )}
    >
      {found.error && <Problem error={found.error} retry={found.reload} />}
      {fits.length > most && <p class="palette-none faint">{count(fits.length - most)} more; type to narrow</p>}
    </Picker>
  );
}
