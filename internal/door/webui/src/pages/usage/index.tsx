// Usage shows token usage and cost of all sessions from one report: a calendar, a chart by day, cost
// by model and project, tools, and a table.
import { useRef } from "preact/hooks";
import { download, saveAs, useGet } from "../../api";
import { cost, count, percent, plural, shortPath, tokens } from "../../format";
import { param, setQuery, toSession } from "../../router";
import { attempt, Bar, CopyCLI, Empty, Problem, Skeleton, Stack, type Column } from "../../ui";
import type { Counters, Spending, SpendingRow, ToolUse, UsageReport } from "../../wire";
import { Choice, Figure, Section, useRows } from "../parts";
import { Calendar } from "./calendar";
import { dayOf, midnight } from "./days";

const bys = ["day", "model", "agent", "project", "session"] as const;
type By = (typeof bys)[number];

const spans: Record<string, { name: string; days: number }> = {
  "7d": { name: "last 7 days", days: 7 },
  "30d": { name: "last 30 days", days: 30 },
  "90d": { name: "last 90 days", days: 90 },
  "365d": { name: "last year", days: 365 },
};

// The chart has this many colors; the rest is combined.
const mostParts = 7;
// Above this number, days without usage are left out.
const mostDays = 400;
const mostRows = 500;

const used = (c: Counters) => c.input + c.output + c.cacheRead + c.cacheWrite;

// daysBetween returns all days of a range.
function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  const [y = 0, m = 1, d = 1] = first.split("-").map(Number);
  for (let i = 0; days.at(-1) !== last && i <= mostDays; i++) days.push(dayOf(new Date(y, m - 1, d + i)));
  return days;
}

export function Usage() {
  const by: By = bys.find((b) => b === param("by")) ?? "day";
  const stack = param("stack") === "agent" ? "agent" : "model";
  const measure = param("measure") === "cost" ? "cost" : "tokens";
  const since = param("since") === "all" ? "" : param("since") in spans ? param("since") : "30d";
  const from = since ? midnight(spans[since]!.days - 1).toISOString() : undefined;
  const report = useGet<UsageReport>("/v1/usage/report", { since: from });
  const root = useRef<HTMLDivElement>(null);
  useRows("Usage", root);
  // The command has no groups by project.
  const command = by === "project" ? "" : ["firn usage --by", by, ...(since ? ["--since", since] : [])].join(" ");
  // The report has no rows of sessions.
  const csv = () => download(by === "session" ? "/v1/usage" : "/v1/usage/report", { by: by === "session" ? by : undefined, since: from, format: "csv" }, "usage.csv");
  const r = report.data;
  return (
    <div class="page usage" ref={root} aria-busy={report.loading && !r}>
      <header class="page-head">
        <h1>Usage</h1>
        <span class="faint num head-note">{r && `${plural(r.sessions, "session")}${r.partial ? "; some sessions are not counted yet" : ""}`}</span>
        {command && <CopyCLI small command={`${command} --csv > usage.csv`} />}
        <button type="button" class="button" aria-label="Download CSV" onClick={() => void attempt(csv)}>
          <span class="wide">Download&nbsp;</span>CSV
        </button>
        <button type="button" class="button" aria-label="Download JSON" disabled={!r} onClick={() => r && saveAs(new Blob([JSON.stringify(r, null, 2)], { type: "application/json" }), "usage.json")}>
          <span class="wide">Download&nbsp;</span>JSON
        </button>
      </header>
      <div class="filters">
        <Choice name="since" label="Period" chosen={since || "all"} choices={[...Object.entries(spans).map(([k, s]): [string, string] => [k, s.name]), ["all", "all time"]]} />
        <Choice name="stack" label="Chart by" chosen={stack} choices={[["model", "model"], ["agent", "agent"]]} />
        <Choice name="measure" label="Measure" chosen={measure} choices={[["tokens", "tokens"], ["cost", "cost"]]} />
      </div>
      {report.error && <Problem error={report.error} retry={report.reload} />}
      {!r && !report.error && <Skeleton />}
      {r && r.total.answers === 0 && (
        <Empty
          icon="usage"
          title={since ? `No usage in the ${spans[since]!.name}` : "No usage yet"}
          action={since ? { label: "Show all time", run: () => setQuery({ since: "all" }, { push: true }) } : { label: "All sessions", href: "/sessions" }}
          command="firn usage"
        />
      )}
      {r && (
        <div class="page-body">
          {r.total.answers > 0 && <Totals of={r.total} />}
          {!!r.calendar?.length && <Calendar days={r.calendar} measure={measure} />}
          {r.total.answers > 0 && <Details report={r} by={by} stack={stack} measure={measure} since={since} from={from} command={command} />}
        </div>
      )}
    </div>
  );
}

interface DetailsProps {
  report: UsageReport;
  by: By;
  stack: "agent" | "model";
  measure: "tokens" | "cost";
  since: string;
  from?: string;
  command: string;
}

function Details({ report: r, by, stack, measure, since, from, command }: DetailsProps) {
  const sessions = useGet<Spending>(by === "session" ? "/v1/usage" : "", { by, since: from });
  return (
    <>
      <Chart rows={(stack === "agent" ? r.agents : r.days) ?? []} free={r.total.cost === 0} since={since} stack={stack} measure={measure} />
      <div class="usage-pair">
        <Shares title="By model" rows={r.models ?? []} total={r.total} name={(n) => n || "unknown"} />
        <Shares title="By project" rows={r.projects ?? []} total={r.total} name={(n) => (n ? shortPath(n) : "no directory")} />
      </div>
      {(r.tools ?? []).length > 0 && <Tools tools={r.tools ?? []} />}
      <Section title="Table" actions={<ByTabs by={by} command={command} />}>
        {by === "session" && sessions.error && <Problem error={sessions.error} retry={sessions.reload} />}
        <Table by={by} rows={by === "session" ? (sessions.data?.rows ?? []) : rowsBy(r, by)} />
      </Section>
    </>
  );
}

// rowsBy returns the rows of the table, as the gateway orders them: days newest first, others by
// cost.
function rowsBy(r: UsageReport, by: By): SpendingRow[] {
  if (by === "model") return r.models ?? [];
  if (by === "project") return r.projects ?? [];
  const sums = new Map<string, SpendingRow>();
  for (const row of (by === "agent" ? r.agents : r.days) ?? []) {
    const name = (by === "agent" ? row.and : row.name) ?? "";
    const old = sums.get(name) ?? { name, answers: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost: 0 };
    sums.set(name, {
      ...old,
      answers: old.answers + row.answers,
      input: old.input + row.input,
      output: old.output + row.output,
      cacheRead: old.cacheRead + row.cacheRead,
      cacheWrite: old.cacheWrite + row.cacheWrite,
      cost: old.cost + row.cost,
    });
  }
  return [...sums.values()].sort((a, b) => (by === "day" ? b.name.localeCompare(a.name) : b.cost - a.cost || used(b) - used(a)));
}

function Totals({ of }: { of: Counters }) {
  return (
    <dl class="figures">
      <Figure name="Cost" value={cost(of.cost)} title={of.cost === 0 ? "No provider reported prices" : undefined} />
      <Figure name="Answers" value={count(of.answers)} />
      <Figure name="Input" value={tokens(of.input)} title={count(of.input)} />
      <Figure name="Output" value={tokens(of.output)} title={count(of.output)} />
      <Figure name="Cache read" value={tokens(of.cacheRead)} title={count(of.cacheRead)} />
      <Figure name="Cache write" value={tokens(of.cacheWrite)} title={count(of.cacheWrite)} />
      <Figure name="Cache hits" value={percent(of.cacheRead, of.input + of.cacheRead + of.cacheWrite)} title="Share of the input that was read from the cache" />
    </dl>
  );
}

// mostShares is the number of rows of a list of shares; the table has all.
const mostShares = 8;

interface SharesProps {
  title: string;
  rows: SpendingRow[];
  total: Counters;
  name: (name: string) => string;
}

// Shares shows the share of each row in the cost, or in the tokens if nothing has a price.
function Shares({ title, rows, total, name }: SharesProps) {
  const free = total.cost === 0;
  const all = free ? used(total) : total.cost;
  const value = (r: SpendingRow) => (free ? used(r) : r.cost);
  return (
    <Section title={title} note={rows.length > mostShares ? `${mostShares} of ${count(rows.length)}` : undefined}>
      <table class="table shares">
        <colgroup>
          <col />
          <col class="share-part" />
          <col class="share-sum" span={2} />
        </colgroup>
        <thead class="sr">
          <tr>
            <th>Name</th>
            <th>Share</th>
            <th>Cost</th>
            <th>Tokens</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, mostShares).map((r) => (
            <tr key={r.name}>
              <td class="share-name" title={r.name}>
                {name(r.name)}
              </td>
              <td class="share-bar">
                <Bar part={value(r)} of={all} label={`${percent(value(r), all)} of ${free ? "the tokens" : "the cost"}`} warn={2} />
              </td>
              <td class="num">{cost(r.cost)}</td>
              <td class="num faint" title={count(used(r))}>
                {tokens(used(r))}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

const mostTools = 20;

function Tools({ tools }: { tools: ToolUse[] }) {
  return (
    <Section title="Tools" note={tools.length > mostTools ? `${mostTools} of ${count(tools.length)}` : undefined}>
      <table class="table tools-table">
        <thead>
          <tr>
            <th>Tool</th>
            <th class="num">Calls</th>
            <th class="num">Failed</th>
            <th class="num">Failure rate</th>
          </tr>
        </thead>
        <tbody>
          {tools.slice(0, mostTools).map((t) => (
            <tr key={t.name}>
              <td class="cell-name mono">{t.name || "unknown"}</td>
              <td class="num">{count(t.calls)}</td>
              <td class={"num" + (t.failures ? " bad" : "")}>{count(t.failures)}</td>
              <td class="num">{percent(t.failures, t.calls)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

function ByTabs({ by, command }: { by: By; command: string }) {
  return (
    <span class="segments" role="group" aria-label="Group by">
      {bys.map((b) => (
        <button key={b} type="button" aria-pressed={b === by} onClick={() => setQuery({ by: b === "day" ? "" : b }, { push: true })}>
          By {b}
        </button>
      ))}
      {command && <CopyCLI small command={command} />}
    </span>
  );
}

interface ChartProps {
  rows: SpendingRow[];
  // free is set if nothing has a price.
  free: boolean;
  since: string;
  stack: string;
  measure: "tokens" | "cost";
}

function Chart({ rows, free, since, stack, measure }: ChartProps) {
  const value = (r: SpendingRow) => (measure === "cost" ? r.cost : used(r));
  const { columns, names, holes } = stacked(rows, since, value);
  if (columns.length === 0) return null;
  if (measure === "cost" && free) {
    return <p class="muted">No provider reported prices for these answers. Local models and the offline model are free.</p>;
  }
  const format = measure === "cost" ? cost : tokens;
  return (
    <div class="usage-chart">
      <Stack label={`${measure === "cost" ? "Cost" : "Tokens"} by day and ${stack}`} names={names} format={format} columns={columns} axis={axisOf(columns)} />
      {holes && <p class="faint">Over {mostDays} days: days without usage are left out.</p>}
    </div>
  );
}

// axisOf returns the axis labels: the first day, the last, and some between.
function axisOf(columns: Column[]): string[] {
  const last = columns.length - 1;
  const places = last < 8 ? [0, last] : [0, Math.round(last / 3), Math.round((2 * last) / 3), last];
  return [...new Set(places)].map((i) => columns[i]!.label);
}

// stacked returns the chart's columns, one per day, split by the second dimension.
function stacked(rows: SpendingRow[], since: string, value: (r: SpendingRow) => number): { columns: Column[]; names: string[]; holes: boolean } {
  const sums = new Map<string, number>();
  for (const r of rows) sums.set(r.and ?? "", (sums.get(r.and ?? "") ?? 0) + value(r));
  const order = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const kept = order.length > mostParts ? order.slice(0, mostParts - 1) : order;
  const names = [...kept.map((n) => n || "unknown"), ...(order.length > kept.length ? [`${order.length - kept.length} others`] : [])];
  const place = (name: string) => (kept.includes(name) ? kept.indexOf(name) : names.length - 1);
  const byDay = new Map<string, number[]>();
  for (const r of rows) {
    const values = byDay.get(r.name) ?? names.map(() => 0);
    values[place(r.and ?? "")]! += value(r);
    byDay.set(r.name, values);
  }
  const known = [...byDay.keys()].filter((d) => /^\d{4}-\d\d-\d\d$/.test(d)).sort();
  const today = dayOf(new Date());
  const first = since ? dayOf(midnight(spans[since]!.days - 1)) : known[0];
  const filled = first ? daysBetween(first, known.at(-1)! > today ? known.at(-1)! : today) : [];
  const holes = filled.length === 0 || filled.length > mostDays;
  const days = holes ? known : filled;
  return { names, holes: holes && days.length > 0, columns: days.map((d) => ({ key: d, label: d, values: byDay.get(d) ?? names.map(() => 0) })) };
}

function Table({ by, rows }: { by: By; rows: SpendingRow[] }) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={`Usage by ${by}`}>
      <table class="table">
        <thead>
          <tr>
            <th>{by[0]!.toUpperCase() + by.slice(1)}</th>
            <th class="num">Answers</th>
            <th class="num">Input</th>
            <th class="num">Output</th>
            <th class="num">Cache read</th>
            <th class="num">Cache write</th>
            <th class="num">Cost</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, mostRows).map((r) => (
            <tr key={r.name} data-row={r.name}>
              <td class="cell-name">
                <Name by={by} row={r} />
              </td>
              <td class="num">{count(r.answers)}</td>
              <td class="num">{count(r.input)}</td>
              <td class="num">{count(r.output)}</td>
              <td class="num">{count(r.cacheRead)}</td>
              <td class="num">{count(r.cacheWrite)}</td>
              <td class="num">{cost(r.cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > mostRows && (
        <p class="faint">
          Showing {mostRows} of {count(rows.length)} rows. The CSV contains all.
        </p>
      )}
    </div>
  );
}

function Name({ by, row }: { by: By; row: SpendingRow }) {
  if (by === "session") return <a href={toSession(row.name, "usage")}>{row.title || row.name}</a>;
  if (by === "agent") return <a href={`/sessions?agent=${encodeURIComponent(row.name)}`}>{row.name || "unknown"}</a>;
  if (by === "project") return <span title={row.name}>{row.name ? shortPath(row.name) : "no directory"}</span>;
  return <span class="num">{row.name || "unknown"}</span>;
}
