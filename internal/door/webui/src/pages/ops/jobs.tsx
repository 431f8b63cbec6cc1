// The scheduled jobs section.
import { post, useGet } from "../../api";
import { count, moment, shell } from "../../format";
import { mayWrite } from "../../me";
import { go, toSession } from "../../router";
import { attempt, CopyCLI, Problem, Skeleton, notify, Time } from "../../ui";
import type { Job, Page, Routed } from "../../wire";
import { Section } from "../parts";

// jobCommand returns the command that runs a job.
const jobCommand = (id: string) => `firn jobs run ${shell(id)}`;

export function Jobs() {
  const jobs = useGet<Page<Job>>("/v1/jobs");
  const all = jobs.data?.items ?? [];
  const run = async (j: Job) => {
    const done = await attempt(() => post<Routed>(`/v1/jobs/${encodeURIComponent(j.id)}/run`));
    if (!done) return;
    jobs.reload();
    notify(`Started ${j.id}`);
    if (done.session) go(toSession(done.session));
  };
  if (jobs.error) return <Problem error={jobs.error} retry={jobs.reload} />;
  return (
    <Section title="Jobs">
      {!jobs.data && <Skeleton rows={2} />}
      {jobs.data && all.length === 0 && (
        <p class="muted">
          No jobs. Add them under <code>[[cron]]</code> in firn.toml, each with a schedule and a message.
        </p>
      )}
      {all.length > 0 && (
        <table class="table stacks">
          <thead>
            <tr>
              <th>Job</th>
              <th>Agent</th>
              <th>Schedule</th>
              <th>Next</th>
              <th>Last</th>
              <th class="num">Runs</th>
              {mayWrite() && <th class="cell-acts"><span class="sr">Actions</span></th>}
            </tr>
          </thead>
          <tbody>
            {all.map((j) => (
              <tr key={j.id} data-row={j.id}>
                <td class="cell-name" title={j.message}>
                  <a href={`/keys/${encodeURIComponent(j.key)}`}>{j.id}</a> {!j.enabled && <span class="chip">off</span>} {j.running && <span class="chip">running</span>}
                  {j.error && <span class="bad"> {j.error}</span>}
                </td>
                <td>{j.agent}</td>
                <td class="mono">{j.schedule}</td>
                <td data-label="next">{j.next ? <time dateTime={j.next}>{moment(new Date(j.next))}</time> : "never"}</td>
                <td data-label="last">{j.last ? j.session ? <a href={toSession(j.session)}><Time at={j.last} /></a> : <Time at={j.last} /> : <span class="faint">never</span>}</td>
                <td class="num" data-label="runs">{count(j.runs)}</td>
                {mayWrite() && (
                  <td class="cell-acts">
                    <button type="button" class="button quiet" aria-label={`Run now: ${j.id}`} onClick={() => void run(j)}>
                      Run now
                    </button>
                    <CopyCLI small command={jobCommand(j.id)} />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}
