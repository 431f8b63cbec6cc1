// Dialogs for a whole session: tags, export, compact, its commands.
import { useSignal } from "@preact/signals";
import { del, download, post, sessionPath, useGet, useLoad } from "../../api";
import { plural, shell, tokens } from "../../format";
import { attempt, CopyCLI, Dialog, Problem, say } from "../../ui";
import type { Compacted, FormatPage, Session } from "../../wire";
import { Commands } from "./dialogs";
import { change, commands } from "./order";
import type { Watch } from "./watch";

interface Props {
  session: Session;
  close: () => void;
}

export function CliDialog({ session, close }: Props) {
  return (
    <Dialog title="On the command line" close={close} class="cli-dialog">
      <Commands of={commands(session)} />
    </Dialog>
  );
}

export function TagDialog({ watch, session, close }: Props & { watch: Watch }) {
  const old = session.tags ?? [];
  const text = useSignal(old.join(" "));
  const tags = [...new Set(text.value.split(/[\s,]+/).filter(Boolean))];
  const differ = [...tags.filter((t) => !old.includes(t)).map((t) => "+" + t), ...old.filter((t) => !tags.includes(t)).map((t) => "-" + t)];
  return (
    <Dialog
      title="Tags"
      close={close}
      submit={() => {
        close();
        if (differ.length) void change(watch, { tags }, { tags: old }, "Tags changed");
      }}
      actions={
        <>
          <CopyCLI command={`firn tag ${shell(session.id)} ${differ.map(shell).join(" ") || "+NAME"}`} />
          <button type="submit" class="button primary" disabled={!differ.length}>
            Save
          </button>
        </>
      }
    >
      <label class="field">
        <span>Words, with spaces between them.</span>
        <input class="input" value={text.value} autoFocus autocomplete="off" onInput={(e) => (text.value = e.currentTarget.value)} />
      </label>
    </Dialog>
  );
}

export function ExportDialog({ session, close }: Props) {
  const format = useSignal("html");
  const busy = useSignal(false);
  const formats = useGet<FormatPage>("/v1/formats");
  const f = format.value;
  const limits = formats.data?.items?.find((x) => x.name === f)?.limits ?? [];
  const file = `${session.id}.${f === "html" ? "html" : "jsonl"}`;
  return (
    <Dialog
      title="Export"
      close={close}
      submit={() => {
        busy.value = true;
        void attempt(() => download(sessionPath(session.id, "export"), { format: f }, file)).then(() => {
          busy.value = false;
          close();
        });
      }}
      actions={
        <>
          <CopyCLI command={`firn export ${shell(session.id)} --format ${f} -o ${shell(file)}`} />
          <button type="submit" class="button primary" disabled={busy.value}>
            Download
          </button>
        </>
      }
    >
      <label class="field">
        <span>Format</span>
        <select class="select" value={f} onChange={(e) => (format.value = e.currentTarget.value)}>
          <option value="html">A page to read, without secrets (html)</option>
          <option value="native">firn's own lines (native)</option>
          {formats.data?.items?.filter((x) => x.name !== "native" && x.name !== "html").map((x) => (
            <option key={x.name} value={x.name}>
              {x.name}
            </option>
          ))}
        </select>
      </label>
      {limits.length > 0 && <p class="log-quiet">It cannot say: {limits.map((l) => l.what).join(", ")}.</p>}
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
    say(`Compacted: ${tokens(done.before ?? 0)} → ${tokens(done.after ?? 0)} tokens`, id ? () => del(sessionPath(session.id, "compactions", id)).then(watch.soon) : undefined);
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
      <p>A summary stands for all but the latest messages. Everything stays in the log, and it can be undone.</p>
      <label class="field">
        <span>What the summary should heed</span>
        <input class="input" value={hint.value} autoFocus onInput={(e) => (hint.value = e.currentTarget.value)} />
      </label>
      <label class="field">
        <span>Tokens of the latest messages that stay as they are</span>
        <input class="input" inputMode="numeric" pattern="[0-9]*" placeholder="by the settings" value={keep.value} onInput={(e) => (keep.value = e.currentTarget.value)} />
      </label>
      {plan.error && <Problem error={plan.error} />}
      {p?.nothing && !plan.error && <p class="log-quiet">There is nothing to compact yet: {p.nothing.replace(/:[^:]*$/, "")}. Say more first, or let fewer tokens stay.</p>}
      {p && !p.nothing && !plan.error && (
        <p class="log-quiet num">
          {plural(p.summarised, "entry")} (~{tokens(p.summarisedTokens)} tokens) summed up, {plural(p.kept, "entry")} (~{tokens(p.keptTokens)}) kept
          {p.model && `, by ${p.model}`}.
        </p>
      )}
    </Dialog>
  );
}
