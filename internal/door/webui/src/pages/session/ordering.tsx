// Dialogs for a session: compact, CLI commands.
import { useSignal } from "@preact/signals";
import { del, post, sessionPath, useLoad } from "../../api";
import { plural, shell, tokens } from "../../format";
import { attempt, CopyCLI, Dialog, Problem, notify } from "../../ui";
import type { Compacted, Session } from "../../wire";
import { Commands } from "./dialogs";
import { sessionCommands } from "./order";
import type { Watch } from "./watch";

interface Props {
  session: Session;
  close: () => void;
}

export function CliDialog({ session, close }: Props) {
  return (
    <Dialog title="CLI commands" close={close} class="cli-dialog">
      <Commands of={sessionCommands(session)} />
    </Dialog>
  );
}

export function CompactDialog({ watch, session, close }: Props & { watch: Watch }) {
  const hint = useSignal("");
  const keep = useSignal("");
  const busy = useSignal(false);
  const order = { hint: hint.value.trim() || undefined, keepRecent: Number(keep.value) || undefined };
  const plan = useLoad<Compacted>("plan " + keep.value, (signal) =>
    post<Compacted>(sessionPath(session.id, "compactions"), { keepRecent: order.keepRecent, plan: true }, { signal }),
  );
  const p = plan.data?.plan;
  const run = async () => {
    busy.value = true;
    const done = await attempt(() => post<Compacted>(sessionPath(session.id, "compactions"), order));
    busy.value = false;
    if (!done) return;
    close();
    watch.soon();
    const id = done.id;
    notify(`Compacted: ${tokens(done.before ?? 0)} → ${tokens(done.after ?? 0)} tokens`, id ? () => del(sessionPath(session.id, "compactions", id)).then(watch.soon) : undefined);
  };
  const flags = [order.hint && `--hint ${shell(order.hint)}`, order.keepRecent && `--keep-recent ${order.keepRecent}`].filter(Boolean).join(" ");
  return (
    <Dialog
      title="Compact"
      close={close}
      submit={() => void run()}
      actions={
        <>
          <CopyCLI command={`firn compact ${shell(session.id)} ${flags}`.trim()} />
          <button type="submit" class="button primary" disabled={busy.value || !p || !!p.nothing}>
            {busy.value ? "Writing the summary…" : "Compact"}
          </button>
        </>
      }
    >
      <p>Replaces all but the latest messages with a summary in the window. The log keeps everything, and you can undo it.</p>
      <label class="field">
        <span>Instructions for the summary</span>
        <input class="input" value={hint.value} autoFocus onInput={(e) => (hint.value = e.currentTarget.value)} />
      </label>
      <label class="field">
        <span>Recent tokens to keep</span>
        <input class="input" inputMode="numeric" pattern="[0-9]*" placeholder="default" value={keep.value} onInput={(e) => (keep.value = e.currentTarget.value)} />
      </label>
      {plan.error && <Problem error={plan.error} />}
      {p?.nothing && !plan.error && <p class="log-quiet">Nothing to compact yet: {p.nothing.replace(/:[^:]*$/, "")}. Keep fewer recent tokens.</p>}
      {p && !p.nothing && !plan.error && (
        <p class="log-quiet num">
          {plural(p.summarised, "entry")} (~{tokens(p.summarisedTokens)} tokens) summarized, {plural(p.kept, "entry")} (~{tokens(p.keptTokens)}) kept
          {p.model && `, using ${p.model}`}.
        </p>
      )}
    </Dialog>
  );
}
