// FileRewind shows what a rewind does to the files that tools changed, as diffs, and restores
// them: with the conversation, or alone.
import { useEffect, useState } from "preact/hooks";
import { asProblem, post, sessionPath, type Problem as Failure } from "../../api";
import { plural, shell } from "../../format";
import { CopyCLI, Dialog, Problem, Skeleton, attempt, notify } from "../../ui";
import type { FileStep, FilesRewound } from "../../wire";
import { Diff } from "./approvals";
import type { Talk } from "./talk";

interface Props {
  talk: Talk;
  entry: string;
  close: () => void;
}

const verbs: Record<string, string> = { create: "Create", change: "Change", delete: "Delete" };

export function FileRewind({ talk, entry, close }: Props) {
  const [plan, setPlan] = useState<FilesRewound>();
  const [error, setError] = useState<Failure>();
  const [force, setForce] = useState(false);
  const [busy, setBusy] = useState(false);
  const path = sessionPath(talk.id, "files", "rewind");
  const load = () => {
    setError(undefined);
    post<FilesRewound>(path, { to: entry, plan: true, diff: true }).then(setPlan, (err: unknown) => setError(asProblem(err)));
  };
  useEffect(load, [entry]);
  const steps = plan?.steps ?? [];
  const left = steps.filter((s) => s.problem);
  const can = steps.length - left.length + (force ? left.filter((s) => s.problem === "changed since").length : 0);
  const restore = async (both: boolean) => {
    setBusy(true);
    const done = await attempt(() => post<FilesRewound>(path, { to: entry, force }));
    setBusy(false);
    if (!done) return;
    close();
    const n = (done.steps ?? []).filter((s) => s.done).length;
    const back = () => attempt(() => post<FilesRewound>(path, { to: done.from, from: done.to || entry }));
    const note = plural(n, "file") + " restored";
    if (both && (await talk.rewind(entry, { files: back, note }))) return;
    notify(note, done.from ? back : undefined);
  };
  return (
    <Dialog
      title="Rewind files"
      close={close}
      class="wide-dialog"
      actions={
        <>
          <CopyCLI command={`firn rewind ${shell(talk.id)} ${shell(entry)} --files${force ? " --force" : ""}`} />
          <button type="button" class="button" disabled={busy || !can} onClick={() => void restore(false)}>
            Files only
          </button>
          <button type="button" class="button primary" disabled={busy || !can} onClick={() => void restore(true)}>
            Files and conversation
          </button>
        </>
      }
    >
      {error && <Problem error={error} retry={load} />}
      {!plan && !error && <Skeleton rows={4} text />}
      {plan && steps.length === 0 && <p>No tool changed a file after this entry.</p>}
      {steps.map((s) => (
        <Step key={s.path} step={s} />
      ))}
      {left.some((s) => s.problem === "changed since") && (
        <label class="check">
          <input type="checkbox" checked={force} onChange={(e) => setForce(e.currentTarget.checked)} /> Restore files that something else changed too; their content is kept
        </label>
      )}
    </Dialog>
  );
}

function Step({ step }: { step: FileStep }) {
  const lines = step.binary ? "binary" : [step.added && `+${step.added}`, step.removed && `−${step.removed}`].filter(Boolean).join(" ");
  return (
    <section class="file-step" aria-label={step.path}>
      <p>
        {verbs[step.action] ?? step.action} <code>{step.path}</code> <span class="faint num">{lines}</span>
        {step.problem && <span class="bad"> left alone: {step.problem}</span>}
      </p>
      {step.diff && <Diff text={step.diff} />}
    </section>
  );
}
