// DreamView plans and runs a dream, showing each edit with its sources.
import { useEffect, useState } from "preact/hooks";
import { post } from "../../api";
import { cost, plural } from "../../format";
import { mayWrite } from "../../me";
import { attempt, CopyCLI, Empty, notify } from "../../ui";
import type { Dream, DreamPage } from "../../wire";
import { Edits } from "./changes";
import { asQuery, command, type Place } from "./place";
import { undoChange } from "./undo";

export function DreamView({ place, changed }: { place: Place; changed: () => void }) {
  const [dreams, setDreams] = useState<Dream[]>();
  const [busy, setBusy] = useState<"" | "plan" | "run">("");
  const where = JSON.stringify(place);
  useEffect(() => setDreams(undefined), [where]);
  const ask = async (plan: boolean) => {
    setBusy(plan ? "plan" : "run");
    const done = await attempt(() => post<DreamPage>("/v1/memory/dream", { plan }, { query: asQuery(place) }));
    setBusy("");
    if (!done) return;
    const all = done.items ?? [];
    setDreams(all);
    if (plan) return;
    changed();
    const made = all.filter((d) => d.change.id);
    const edits = made.reduce((n, d) => n + (d.change.edits ?? []).length, 0);
    if (made.length === 0) notify("Nothing to change");
    else
      notify(`Consolidated: ${plural(edits, "edit")}`, async () => {
        for (const d of made) await undoChange(place, d.change.id, () => {})?.();
        setDreams(undefined);
        changed();
      });
  };
  const planned = dreams?.some((d) => d.planned && (d.change.edits ?? []).length > 0);
  if (!mayWrite()) {
    return (
      <Empty icon="hide" title="Dreaming needs write permission" command={command(place, "dream", "--plan")}>
        This login is read-only. Log in again with firn open.
      </Empty>
    );
  }
  return (
    <div class="page-body dream">
      <p class="muted dream-what">
        A dream extracts facts from new conversations, makes dates absolute, merges duplicates, and replaces outdated facts. The gateway runs one
        when it is idle. A plan changes nothing.
      </p>
      <div class="actions">
        <span class="act">
          <button type="button" class={"button" + (planned ? "" : " primary")} disabled={busy !== ""} onClick={() => void ask(true)}>
            {busy === "plan" ? "Planning…" : dreams ? "Plan again" : "Plan"}
          </button>
          <CopyCLI small command={command(place, "dream", "--plan")} />
        </span>
        <span class="act">
          <button type="button" class={"button" + (planned ? " primary" : "")} disabled={busy !== ""} onClick={() => void ask(false)}>
            {busy === "run" ? "Dreaming…" : "Dream now"}
          </button>
          <CopyCLI small command={command(place, "dream")} />
        </span>
      </div>
      <div role="status" class="dreams">
        {dreams?.map((d) => (
          <One key={d.scope} dream={d} />
        ))}
      </div>
    </div>
  );
}

function One({ dream: d }: { dream: Dream }) {
  const edits = d.change.edits ?? [];
  const outcome = d.shut ? (d.why ?? `not now: ${d.shut}`) : edits.length === 0 ? "nothing to change" : `${plural(edits.length, "edit")} ${d.planned ? "would be made" : "made"}`;
  return (
    <section class="change" aria-label={d.scope}>
      <header class="change-head">
        <h2>{d.scope}</h2>
        <span class="faint">
          {outcome} · {plural(d.sessions, "session")} read · {plural(d.found, "fact")} found · {plural(d.notes, "note")}
          {!!d.cost && ` · ${cost(d.cost)}`}
        </span>
      </header>
      {d.without?.map((w) => (
        <p key={w} class="faint">
          {w}
        </p>
      ))}
      <Edits edits={edits} />
    </section>
  );
}
