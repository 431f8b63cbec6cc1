// Stack is a stacked column chart, such as tokens by turn or cost by day. The caption describes the
// column under the pointer; screen readers get a table.
import { useSignal } from "@preact/signals";

export interface Column {
  key: string;
  // label names the column: a turn, a day.
  label: string;
  values: number[];
  // mark is the label of a line before the column.
  mark?: string;
}

interface Props {
  columns: Column[];
  // names are the names of the parts, from bottom to top.
  names: string[];
  format: (n: number) => string;
  // limit is a line across, such as the size of a window.
  limit?: number;
  limitName?: string;
  label: string;
  // axis labels stand below the columns, evenly spaced.
  axis?: string[];
  open?: (column: Column) => void;
}

const high = 100;
const wide = 10;

// Limit the width of a few columns.
const fewest = 24;

const sum = (values: number[]) => values.reduce((a, b) => a + b, 0);

export function Stack(p: Props) {
  const over = useSignal(-1);
  const highest = Math.max(1, ...p.columns.map((c) => sum(c.values)));
  // A limit far above all values would flatten the chart; then it is only named in the caption.
  const shown = p.limit && p.limit < highest * 3 ? p.limit : 0;
  const top = Math.max(highest, shown) * 1.04;
  const across = Math.max(p.columns.length, fewest);
  const y = (n: number) => high - (n / top) * high;
  const at = (e: PointerEvent) => {
    const box = (e.currentTarget as Element).getBoundingClientRect();
    return Math.min(p.columns.length - 1, Math.max(0, Math.floor(((e.clientX - box.left) / box.width) * across)));
  };
  const column = p.columns[over.value];
  return (
    <figure class="stack">
      <svg
        viewBox={`0 0 ${across * wide} ${high}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={p.label}
        class={p.open ? "opens" : undefined}
        onPointerMove={(e) => (over.value = at(e))}
        onPointerLeave={() => (over.value = -1)}
        onClick={(e) => p.open?.(p.columns[at(e as unknown as PointerEvent)]!)}
      >
        {over.value >= 0 && <rect class="stack-over" x={over.value * wide} width={wide} height={high} />}
        {p.columns.map((c, i) => (
          <Bars key={c.key} column={c} x={i * wide} y={y} gap={p.columns.length > 120 ? 0 : 1.5} />
        ))}
        {p.columns.map((c, i) => c.mark && <line key={c.key} class="stack-mark" x1={i * wide} x2={i * wide} y1="0" y2={high} />)}
        {shown > 0 && <line class="stack-limit" x1="0" x2={across * wide} y1={y(shown)} y2={y(shown)} />}
      </svg>
      {p.axis && p.axis.length > 0 && (
        <div class="stack-axis num" aria-hidden="true" style={{ width: `${(p.columns.length / across) * 100}%` }}>
          {p.axis.map((name) => (
            <span key={name}>{name}</span>
          ))}
        </div>
      )}
      <figcaption>
        <span class="stack-names">
          {p.names.map((name, i) => (
            <span key={name}>
              <i class={`part-${i}`} aria-hidden="true" /> {name} {column && <b class="num">{p.format(column.values[i] ?? 0)}</b>}
            </span>
          ))}
        </span>
        <span class="num faint" aria-hidden="true">
          {column
            ? `${column.label} · ${p.format(sum(column.values))}${column.mark ? " · " + column.mark : ""}`
            : `highest ${p.format(highest)}${p.limit ? ` · ${p.limitName ?? "limit"} ${p.format(p.limit)}` : ""}`}
        </span>
      </figcaption>
      <Figures {...p} />
    </figure>
  );
}

function Bars({ column, x, y, gap }: { column: Column; x: number; y: (n: number) => number; gap: number }) {
  let below = 0;
  return (
    <g>
      {column.values.map((v, i) => {
        if (v <= 0) return null;
        const from = y(below);
        below += v;
        const to = y(below);
        return <rect key={i} class={`part-${i}`} x={x + gap / 2} width={wide - gap} y={to} height={Math.max(0.4, from - to)} />;
      })}
    </g>
  );
}

// Figures is the chart as a table for screen readers, limited to the last rows.
function Figures({ columns, names, format, label }: Props) {
  return (
    <div class="sr">
      <table>
        <caption>{label}</caption>
        <thead>
          <tr>
            <th scope="col">Of</th>
            {names.map((n) => (
              <th key={n} scope="col">
                {n}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {columns.slice(-40).map((c) => (
            <tr key={c.key}>
              <th scope="row">{c.label}</th>
              {names.map((n, i) => (
                <td key={n}>{format(c.values[i] ?? 0)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
