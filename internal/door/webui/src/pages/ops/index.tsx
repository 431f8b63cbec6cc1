// Ops is the operations page: health, storage, index, jobs, tokens.
import { useRef } from "preact/hooks";
import { useGet } from "../../api";
import { bytes, count, duration } from "../../format";
import { mayAdmin } from "../../me";
import { CopyCLI, Problem, Skeleton, Time } from "../../ui";
import type { Latency, Ops as State } from "../../wire";
import { Figure, Section, useEvery, useRows } from "../parts";
import { IndexSection, Maintenance, Verify } from "./care";
import { ClusterSection } from "./cluster";
import { Jobs } from "./jobs";
import { StorageSection } from "./storage";
import { Tokens } from "./tokens";

// Poll faster while an operation is running.
const calm = 5_000;
const busy = 800;

export function Ops() {
  const ops = useGet<State>("/v1/ops");
  const root = useRef<HTMLDivElement>(null);
  const o = ops.data;
  const going = !!o && (o.index.building || (!!o.verified && !o.verified.done && !o.verified.error));
  useEvery(ops.error ? calm : going ? busy : calm, ops.reload);
  useRows("Ops", root);
  return (
    <div class="page ops" ref={root}>
      <header class="page-head">
        <h1>Ops</h1>
        <span class="head-note num" role="status">
          {o && (o.ready ? <span class="good">ready</span> : <span class="bad">not ready: {o.why}</span>)}
        </span>
        <CopyCLI small command="firn status" />
      </header>
      {ops.error && <Problem error={ops.error} retry={ops.reload} />}
      {!o && !ops.error && <Skeleton />}
      {o && (
        <div class="page-body">
          <Health ops={o} />
          <Section title="Write latency" note="since the gateway started">
            <Latencies append={o.append} sync={o.sync} />
          </Section>
          <ClusterSection cluster={o.cluster} fault={o.clusterFault} />
          <StorageSection storage={o.storage} />
          <IndexSection index={o.index} reload={ops.reload} />
          <Verify verified={o.verified} reload={ops.reload} />
          {mayAdmin() && <Maintenance />}
          <Jobs />
          {mayAdmin() && <Tokens />}
        </div>
      )}
    </div>
  );
}

function Health({ ops: o }: { ops: State }) {
  const s = o.status;
  return (
    <div class="health">
      <dl class="figures">
        <Figure name="Sessions" value={<a href="/sessions">{count(s.sessions)}</a>} />
        <Figure name="Running" value={<a href="/live">{count(s.running)}</a>} />
        <Figure name="Queued" value={count(s.queued)} />
        <Figure name="Started" value={<Time at={s.started} />} />
        <Figure name="Memory" value={bytes(o.memory)} />
        <Figure name="Open files" value={count(o.files)} />
        <Figure name="Goroutines" value={count(o.goroutines)} />
      </dl>
      <p class="faint health-where">
        firn {s.version} · process {s.pid}
        {s.home && <span class="mono"> · {s.home}</span>}
        {s.tcp && <span class="mono"> · {s.tcp}</span>}
      </p>
    </div>
  );
}

function Latencies({ append, sync }: { append: Latency; sync: Latency }) {
  if (append.count === 0) return <p class="muted">No writes since the gateway started.</p>;
  const rows: [string, Latency][] = [
    ["append", append],
    ["fsync (part of append)", sync],
  ];
  return (
    <table class="table narrow">
      <thead>
        <tr>
          <th>
            <span class="sr">Operation</span>
          </th>
          <th class="num">Count</th>
          <th class="num">Median</th>
          <th class="num">p99</th>
          <th class="num">Max</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, l]) => (
          <tr key={name}>
            <td>{name}</td>
            <td class="num">{count(l.count)}</td>
            {[l.p50, l.p99, l.max].map((ms, i) => (
              <td key={i} class="num">
                {exact(ms)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

// exact formats a duration with fractions of a millisecond.
function exact(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  return ms < 10 ? `${ms.toFixed(1)} ms` : duration(ms);
}
