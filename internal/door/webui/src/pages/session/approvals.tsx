// Approvals asks about tool calls that wait for a yes or no. They are in the log,
// so they are here after a reload, and after a crash of the gateway too.
import { useState } from "preact/hooks";
import { post, sessionPath } from "../../api";
import { plural } from "../../format";
import { lost } from "../../lost";
import { attempt } from "../../ui";
import type { Approval, ApprovalAnswer } from "../../wire";
import type { Talk } from "./talk";

// So many lines of a diff are shown at first.
const folded = 20;

export function Approvals({ talk }: { talk: Talk }) {
  return (
    <>
      {talk.watch.approvals.value.map((a) => (
        <Question key={a.call + a.digest} talk={talk} approval={a} />
      ))}
    </>
  );
}

function Question({ talk, approval }: { talk: Talk; approval: Approval }) {
  const [reason, setReason] = useState("");
  const [sending, setBusy] = useState(false);
  const busy = sending || lost.value;
  const answer = async (decision: string, scope?: string) => {
    setBusy(true);
    const body: ApprovalAnswer = { decision, scope, digest: approval.digest, reason: decision === "refuse" ? reason : undefined };
    await attempt(() => post<ApprovalAnswer>(sessionPath(talk.id, "approvals", approval.call), body));
    setBusy(false);
    talk.focus();
    void talk.watch.loadApprovals();
  };
  return (
    <section class="approval" aria-label={`Allow ${approval.name}?`}>
      <p class="approval-title">
        Allow <code>{approval.name}</code>?
      </p>
      {approval.outside && (
        <p class="approval-outside">
          Outside the workspace: <code>{approval.outside}</code>
        </p>
      )}
      {approval.diff ? <Diff text={approval.diff} /> : <pre class="diff-text">{argumentText(approval.arguments)}</pre>}
      <div class="approval-foot">
        <button type="button" class="button primary" disabled={busy} onClick={() => void answer("allow")}>
          Allow
        </button>
        {approval.rule && (
          <>
            <button type="button" class="button" disabled={busy} title={approval.rule} onClick={() => void answer("allow", "session")}>
              Always in this session
            </button>
            <button type="button" class="button" disabled={busy} title={approval.rule} onClick={() => void answer("allow", "project")}>
              Always in this project
            </button>
          </>
        )}
        <input class="approval-reason" aria-label="Reason for denying" placeholder="Reason, for the agent" value={reason} onInput={(e) => setReason(e.currentTarget.value)} />
        <button type="button" class="button" disabled={busy} onClick={() => void answer("refuse")}>
          Deny
        </button>
      </div>
      {approval.rule && (
        <p class="faint">
          Always: <code>{approval.rule}</code>
        </p>
      )}
    </section>
  );
}

// argumentText returns the only text argument of a call, or all arguments.
function argumentText(args: unknown): string {
  if (args && typeof args === "object") {
    const values = Object.values(args);
    if (values.length === 1 && typeof values[0] === "string") return values[0];
  }
  return JSON.stringify(args ?? {}, null, 2);
}

// Diff shows a unified diff, folded when it is long.
export function Diff({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  const all = text.replace(/\n$/, "").split("\n");
  const shown = open ? all : all.slice(0, folded);
  return (
    <>
      <pre class="diff-text">
        {shown.map((line, i) => (
          <span key={i} class={kind(line, i)}>
            {line + "\n"}
          </span>
        ))}
      </pre>
      {all.length > shown.length && (
        <button type="button" class="button quiet" onClick={() => setOpen(true)}>
          … {plural(all.length - shown.length, "more line")}
        </button>
      )}
    </>
  );
}

// kind is the class of a line; the first two are the names of the file.
function kind(line: string, i: number): string {
  if (i < 2) return "diff-name";
  if (line.startsWith("+")) return "diff-plus";
  if (line.startsWith("-")) return "diff-minus";
  return line.startsWith("@@") ? "diff-place" : "";
}
