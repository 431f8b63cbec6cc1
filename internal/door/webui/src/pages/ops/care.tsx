// The sections for the index, verification and maintenance.
import { useState } from "preact/hooks";
import { post } from "../../api";
import { bytes, count, plural, shortId } from "../../format";
import { mayAdmin } from "../../me";
import { toSession } from "../../router";
import { attempt, Bar, CopyCLI, Dialog, notify, Time } from "../../ui";
import type { IndexReport, IndexState, Maintenance as Report, Verified } from "../../wire";
import { Section } from "../parts";

export function IndexSection({ index, reload }: { index: IndexState; reload: () => void }) {
  const [report, setReport] = useState<IndexReport>();
  const [checking, setChecking] = useState(false);
  const rebuild = async () => {
    if (!(await attempt(() => post<IndexState>("/v1/index/rebuild")))) return;
    reload();
    notify("Rebuilding the index; the current one stays in use");
  };
  const check = async () => {
    setChecking(true);
    setReport(await attempt(() => post<IndexReport>("/v1/index/check")));
    setChecking(false);
  };
  return (
    <Section
      title="Index"
      actions={
        mayAdmin() && (
          <>
            <button type="button" class="button" disabled={checking} onClick={() => void check()}>
              {checking ? "Comparing…" : "Compare with sessions"}
            </button>
            <CopyCLI small command="firn reindex --check" />
            <button type="button" class="button" disabled={index.building} onClick={() => void rebuild()}>
              Rebuild
            </button>
            <CopyCLI small command="firn reindex" />
          </>
        )
      }
    >
      <p role="status" class="going">
        {index.building ? (
          <>
            <Bar part={index.read ?? 0} of={index.bytes ?? 0} label="index progress" warn={2} />
            {index.rebuilding ? "Rebuilding" : "Building"}: {bytes(index.read ?? 0)} of {bytes(index.bytes ?? 0)}, {count(index.done)} of {count(index.total)} sessions
          </>
        ) : (
          <span class="muted">Up to date.</span>
        )}
        {index.failed && <span class="bad">Last attempt failed: {index.failed}</span>}
      </p>
      {report && <Differences report={report} />}
    </Section>
  );
}

function Differences({ report }: { report: IndexReport }) {
  if (report.ok) return <p class="good">The index matches the sessions.</p>;
  const all = report.differences ?? [];
  return (
    <ul class="faults">
      {all.slice(0, 50).map((d, i) => (
        <li key={i}>
          <span class="chip">{d.index}</span> {d.session && <a href={toSession(d.session)}>{shortId(d.session)}</a>} {d.detail}
        </li>
      ))}
      {all.length > 50 && <li class="faint">and {count(all.length - 50)} more. Rebuild to fix them.</li>}
    </ul>
  );
}

export function Verify({ verified: v, reload }: { verified?: Verified; reload: () => void }) {
  const going = !!v && !v.done && !v.error;
  const verify = async () => {
    if (await attempt(() => post<Verified>("/v1/verify"))) reload();
  };
  return (
    <Section
      title="Verification"
      note={v?.done && <Time at={v.done} />}
      actions={
        mayAdmin() && (
          <>
            <button type="button" class="button" disabled={going} onClick={() => void verify()}>
              {going ? "Verifying…" : "Verify all sessions"}
            </button>
            <CopyCLI small command="firn verify" />
          </>
        )
      }
    >
      <p role="status" class="going">
        {!v && <span class="muted">Not run since the gateway started.</span>}
        {going && (
          <>
            <Bar part={v.sessions} of={v.of} label="verification progress" warn={2} /> {count(v.sessions)} of {plural(v.of, "session")}
          </>
        )}
        {v?.error && <span class="bad">Aborted: {v.error}</span>}
        {v?.done && !v.error && ((v.faults ?? []).length === 0 ? <span class="good">{plural(v.sessions, "session")}, no faults found.</span> : <span class="bad">{plural((v.faults ?? []).length, "fault")} in {plural(v.sessions, "session")}.</span>)}
      </p>
      {v?.faults && v.faults.length > 0 && (
        <ul class="faults">
          {v.faults.map((f, i) => (
            <li key={i} data-row={f.session}>
              <a class="mono" href={toSession(f.session)}>
                {f.session.slice(0, 36)}
              </a>{" "}
              {f.what} <CopyCLI small command={`firn repair ${f.session}`} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

export function Maintenance() {
  const [report, setReport] = useState<Report>();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const run = async (enforce: boolean) => {
    setBusy(true);
    const done = await attempt(() => post<Report>("/v1/maintenance", { enforce }));
    setBusy(false);
    setAsking(false);
    if (!done) return;
    setReport(done);
    if (enforce) notify(`${plural(done.removed, "session")} moved to the trash bin, ${count(done.archived)} archived. Undo with firn restore`);
  };
  const actions = report?.actions ?? [];
  return (
    <Section
      title="Maintenance"
      actions={
        <>
          <button type="button" class="button" disabled={busy} onClick={() => void run(false)}>
            Dry run
          </button>
          <CopyCLI small command="firn maintenance --dry-run" />
          <button type="button" class="button" disabled={busy} onClick={() => setAsking(true)}>
            Enforce…
          </button>
          <CopyCLI small command="firn maintenance --enforce" />
        </>
      }
    >
      <div role="status">
        {!report && <p class="muted">A dry run lists the sessions that the settings would remove. The defaults remove nothing.</p>}
        {report && <ReportSummary report={report} />}
      </div>
      {actions.length > 0 && <Actions report={report!} />}
      {asking && (
        <Dialog
          title="Run maintenance?"
          close={() => setAsking(false)}
          submit={() => void run(true)}
          actions={
            <>
              <CopyCLI small command="firn maintenance --enforce" />
              <button type="submit" class="button danger" disabled={busy}>
                Enforce
              </button>
            </>
          }
        >
          <p>
            {report && !report.done && actions.length > 0 ? `The dry run listed ${plural(actions.length, "session")}. ` : ""}
            Removed sessions go to the trash bin; firn restore brings them back. Running and pinned sessions, and those of main keys and groups, are protected.
          </p>
        </Dialog>
      )}
    </Section>
  );
}

function ReportSummary({ report: r }: { report: Report }) {
  const out = Object.entries(r.protected ?? {});
  return (
    <p class="muted">
      {(r.actions ?? []).length === 0
        ? `Nothing to remove in ${plural(r.sessions, "session")} of ${bytes(r.bytes)}.`
        : `${plural(r.removed, "session")} ${r.done ? "moved" : "would move"} to the trash bin (${bytes(r.bytesBinned)}), ${count(r.archived)} ${r.done ? "archived" : "would be archived"}.`}
      {out.length > 0 && ` Protected: ${out.map(([why, n]) => `${count(n)} ${why}`).join(", ")}.`}
      {!!r.failed && <span class="bad"> {count(r.failed)} failed.</span>}
    </p>
  );
}

function Actions({ report }: { report: Report }) {
  return (
    <table class="table stacks">
      <thead>
        <tr>
          <th>Session</th>
          <th>Action</th>
          <th>Reason</th>
          <th class="num">Size</th>
          <th class="num">Updated</th>
        </tr>
      </thead>
      <tbody>
        {(report.actions ?? []).slice(0, 200).map((a) => (
          <tr key={a.session} data-row={a.session}>
            <td class="cell-name">
              <a href={toSession(a.session)}>{a.title || a.session}</a>
            </td>
            <td>
              {a.do === "remove" ? "move to trash bin" : a.do}
              {a.outcome && a.outcome !== "done" && <span class={a.outcome === "failed" ? "bad" : "faint"}> {a.error || a.outcome}</span>}
            </td>
            <td class="mono">{a.why}</td>
            <td class="num">{bytes(a.bytes)}</td>
            <td class="num">
              <Time at={a.updated} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
