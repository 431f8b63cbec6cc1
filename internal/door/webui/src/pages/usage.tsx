// Usage shows token usage and cost: a chart by day, and a table by day, model, agent or session.
import { useRef } from "preact/hooks";
import { download, useGet } from "../api";
import { cost, count, plural, tokens } from "../format";
import { param, setQuery, toSession } from "../router";
import { attempt, CopyCLI, Empty, Problem, Stack, type Column } from "../ui";
import type { Counters, Spending, SpendingRow } from "../wire";
import { Choice, Figure, Section, useRows } from "./parts";

const bys = ["day", "model", "agent", "session"] as const;
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

// dayOf returns the local date as the gateway formats it.
function dayOf(t: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
}

function midnight(daysAgo: number): Date {
  const now = new Date();
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo);
}

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
  const table = useGet<Spending>("/v1/usage", { by, since: from });
  const days = useGet<Spending>("/v1/usage", { by: "day", and: stack, since: from });
  const root = useRef<HTMLDivElement>(null);
  useRows("Usage", root);
  const command = ["firn usage --by", by, ...(since ? ["--since", since] : [])].join(" ");
  const rows = table.data?.rows ?? [];
  const total = table.data?.total;
  return (
    <div class="page usage" ref={root}>
      <header class="page-head">
        <h1>Usage</h1>
        <span class="faint num head-note">{table.data && `${plural(table.data.sessions, "session")}${table.data.partial ? "; some could not be read" : ""}`}</span>
        <CopyCLI small command={`${command} --csv > usage-by-${by}.csv`} />
        <button type="button" class="button" onClick={() => void attempt(() => download("/v1/usage", { by, since: from, format: "csv" }, `usage-by-${by}.csv`))}>
          Download CSV
        </button>
      </header>
      <div class="filters">
        <Choice name="since" label="Period" chosen={since || "all"} choices={[...Object.entries(spans).map(([k, s]): [string, string] => [k, s.name]), ["all", "all time"]]} />
        <Choice name="stack" label="Chart by" chosen={stack} choices={[["model", "model"], ["agent", "agent"]]} />
        <Choice name="measure" label="Measure" chosen={measure} choices={[["tokens", "tokens"], ["cost", "cost"]]} />
      </div>
      {table.error && <Problem error={table.error} retry={table.reload} />}
      {total && total.answers === 0 && (
        <Empty title={since ? `No usage in the ${spans[since]!.name}` : "No usage yet"} command="firn usage">
          {since && (
            <button type="button" class="button" onClick={() => setQuery({ since: "all" }, { push: true })}>
              Show all time
            </button>
          )}
        </Empty>
      )}
      {total && total.answers > 0 && (
        <div class="page-body">
          <Totals of={total} />
          {days.data && <Chart spending={days.data} since={since} stack={stack} measure={measure} />}
          <Section title="Table" actions={<ByTabs by={by} command={command} />}>
            <Table by={by} rows={rows} />
          </Section>
        </div>
      )}
    </div>
  );
}

function Totals({ of }: { of: Counters }) {
  return (
    <dl class="figures">
      <Figure name="Cost" value={cost(of.cost)} title={of.cost === 0 ? "No provider reported prices" : undefined} />
      <Figure name="Answers" value={count(of.answers)} />
      <Figure name="Input" value={tokens(of.input)} />
      <Figure name="Output" value={tokens(of.output)} />
      <Figure name="Cache read" value={tokens(of.cacheRead)} />
      <Figure name="Cache write" value={tokens(of.cacheWrite)} />
    </dl>
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
      <CopyCLI small command={command} />
    </span>
  );
}

interface ChartProps {
  spending: Spending;
  since: string;
  stack: string;
  measure: "tokens" | "cost";
}

function Chart({ spending, since, stack, measure }: ChartProps) {
  const value = (r: SpendingRow) => (measure === "cost" ? r.cost : used(r));
  const { columns, names, holes } = stacked(spending.rows ?? [], since, value);
  if (columns.length === 0) return null;
  if (measure === "cost" && spending.total.cost === 0) {
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
  return <span class="num">{row.name || "unknown"}</span>;
}
