// Tree draws a session's branches.
import { useEffect, useMemo } from "preact/hooks";
import { get, sessionPath, useLoad } from "../../api";
import { count, plural, roleName, shell, tokens } from "../../format";
import { plainLine } from "../../plaintext";
import { mayWrite } from "../../me";
import { go, param, setQuery, toSession } from "../../router";
import { CopyCLI, Empty, Icon, Menu, Problem, Skeleton, notify, Time } from "../../ui";
import type { Node, Session, Tree as WireTree } from "../../wire";
import { fork, rewind } from "../moves";
import { Compare } from "./compare";
import { changes } from "./course";
import type { TabProps } from "./tab";
import { named, refOf, shapeOf, type Row, type Shape } from "./lanes";
import { Minimap } from "./minimap";
import type { Watch } from "./watch";

export function Tree({ session, watch }: TabProps) {
  const older = param("older");
  const tree = useLoad<WireTree>(`${session.id} ${older}`, (signal) => get(sessionPath(session.id, "tree"), { cursor: older, limit: 4000 }, signal));
  useEffect(() => watch.subscribe((e) => changes.has(e.name) && tree.reload()), [watch]);
  const shape = useMemo(() => tree.data && shapeOf(tree.data.nodes ?? [], tree.data.total), [tree.data]);
  const [left, right] = param("compare").split(",");
  if (tree.error) return <Problem error={tree.error} retry={tree.reload} />;
  if (!tree.data || !shape) return <Skeleton />;
  if (tree.data.total === 0) return <Empty icon="branch" title="No entries yet" action={{ label: "Open the log", href: toSession(session.id) }} command={`firn tree ${shell(session.id)}`} />;
  return (
    <div class="tab-body">
      <Minimap session={session} watch={watch} />
      <div class="tree-head">
        <h2>
          {plural(tree.data.branches, "branch")}
          <span class="faint"> · {plural(tree.data.total, "entry")}</span>
        </h2>
        <CompareChooser shape={shape} left={left} right={right} />
        <CopyCLI command={`firn tree ${shell(session.id)}`} small />
      </div>
      {left && right && <Compare session={session} tree={tree.data} left={left} right={right} />}
      <ol class="tree" aria-label="Entries, newest first">
        {shape.rows.map((row) => (
          <TreeRow key={row.node.n} row={row} shape={shape} session={session} watch={watch} />
        ))}
      </ol>
      {older && (
        <button type="button" class="button quiet" onClick={() => setQuery({ older: undefined })}>
          Back to newest
        </button>
      )}
      {tree.data.cursor && (
        <button type="button" class="button" onClick={() => setQuery({ older: tree.data!.cursor }, { push: true })}>
          Older entries
        </button>
      )}
    </div>
  );
}

const laneWide = 16;
const rowHigh = 34;
const x = (lane: number) => lane * laneWide + 9;

function Lines({ row, lanes, current }: { row: Row; lanes: number; current: boolean }) {
  const mid = rowHigh / 2;
  const here = x(row.lane);
  const lane = (i: number) => `lane lane-${i % 5}`;
  return (
    <svg class="tree-lines" width={Math.min(lanes, 24) * laneWide + 4} height={rowHigh} aria-hidden="true">
      {row.through.map((i) => (
        <line key={i} class={lane(i)} x1={x(i)} x2={x(i)} y1="0" y2={rowHigh} />
      ))}
      {row.into.map((i) => (
        <path key={i} class={lane(i)} d={`M${x(i)} 0 C${x(i)} ${mid} ${here} ${mid / 2} ${here} ${mid}`} />
      ))}
      {!row.leaf && <line class={lane(row.lane)} x1={here} x2={here} y1="0" y2={mid} />}
      {row.onward && <line class={lane(row.lane)} x1={here} x2={here} y1={mid} y2={rowHigh} />}
      {row.node.compaction ? (
        <rect class={"tree-dot " + lane(row.lane)} x={here - 4} y={mid - 4} width="8" height="8" transform={`rotate(45 ${here} ${mid})`} />
      ) : (
        <circle class={(current ? "tree-dot now " : "tree-dot ") + lane(row.lane)} cx={here} cy={mid} r={current ? 5 : 3.5} />
      )}
    </svg>
  );
}

function TreeRow({ row, shape, session, watch }: { row: Row; shape: Shape; session: Session; watch: Watch }) {
  const n = row.node;
  const current = n === shape.head;
  return (
    <li class={"tree-row" + (n.onPath ? "" : " off") + (n.hidden || n.compacted ? " out" : "")}>
      <Lines row={row} lanes={shape.lanes} current={current} />
      <span class="tree-n num">#{n.n}</span>
      <a class="tree-what" href={n.onPath ? toSession(session.id, "", { at: refOf(shape, n) }) : toSession(session.id, "raw", { at: String(n.n) })}>
        {n.label && <b class="chip tree-label">{n.label}</b>}
        <span class="tree-who">{n.compaction ? `compaction, ${n.compaction}` : (n.role ? roleName(n.role) : n.kind.replaceAll("_", " "))}</span>
        <span class="tree-text">{plainLine(n.preview ?? "") || n.fault || ""}</span>
        {n.fault && n.preview && (
          <span class="chip unread" title={n.fault}>
            ⚠ damaged
          </span>
        )}
      </a>
      {row.between > 0 && <span class="faint num tree-more">+{count(row.between)}</span>}
      {current && <span class="chip tree-head-chip">head</span>}
      {!!n.tokens && <span class="faint num tree-tokens">~{tokens(n.tokens)}</span>}
      <Time at={n.time} class="faint tree-time" />
      <RowMenu node={n} shape={shape} session={session} watch={watch} />
    </li>
  );
}

function RowMenu({ node, shape, session, watch }: { node: Node; shape: Shape; session: Session; watch: Watch }) {
  const writes = mayWrite();
  const head = shape.head;
  const current = node === head;
  // Rewind and fork use the ID, which may belong to a later entry.
  const nameless = shape.shadowed.has(node.n);
  const ref = refOf(shape, node);
  const s = shell(session.id);
  const e = shell(ref);
  return (
    <Menu
      label={`Entry #${node.n}`}
      class="icon-button"
      align="end"
      items={[
        writes && { label: "Continue here", cli: `firn rewind ${s} ${e}`, disabled: current || nameless || watch.live.value, run: () => void continueAt(session, watch, node.id) },
        writes && { label: "Fork here", cli: `firn fork ${s} --at ${e}`, disabled: nameless, run: () => void fork(session.id, node.id) },
        !!head && !current && { label: "Compare with head", cli: `firn diff ${s} ${shell(refOf(shape, head))} ${e}`, run: () => setQuery({ compare: `${refOf(shape, head)},${ref}` }, { push: true }) },
        "-",
        { label: "Show raw line", cli: `firn cat ${s} --view disk --from ${e} --json`, run: () => go(toSession(session.id, "raw", { at: String(node.n) })) },
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}

// continueAt moves the head. Undo moves it back.
export async function continueAt(session: Session, watch: Watch, to: string): Promise<void> {
  const moved = await rewind(session.id, to);
  if (!moved) return;
  watch.soon();
  const from = moved.from;
  notify("The conversation continues from this entry", from ? () => rewind(session.id, from).then(watch.soon) : undefined);
}

// CompareChooser selects two branch ends.
function CompareChooser({ shape, left, right }: { shape: Shape; left?: string; right?: string }) {
  if (shape.leaves.length < 2) return null;
  const first = (left ? named(shape.nodes, left) : undefined) ?? shape.head ?? shape.leaves[0]!;
  const second = right ? named(shape.nodes, right) : undefined;
  const ends = shape.leaves.slice(0, 100);
  // The compared entries are always among the choices.
  for (const n of [second, first]) if (n && !ends.includes(n)) ends.unshift(n);
  const choose = (a: Node | undefined, b: Node | undefined) => setQuery({ compare: a && b ? `${refOf(shape, a)},${refOf(shape, b)}` : undefined });
  const at = (value: string) => shape.nodes.get(Number(value));
  const name = (n: Node) => `#${n.n} ${n.label ?? plainLine(n.preview ?? "")}`.slice(0, 48);
  return (
    <span class="tree-compare">
      <label>
        Compare{" "}
        <select class="select" value={String(first.n)} onChange={(e) => choose(at(e.currentTarget.value), second)}>
          {ends.map((n) => (
            <option key={n.n} value={String(n.n)}>
              {name(n)}
            </option>
          ))}
        </select>
      </label>
      <label>
        with{" "}
        <select class="select" value={second ? String(second.n) : ""} onChange={(e) => choose(first, at(e.currentTarget.value))}>
          <option value="">nothing</option>
          {ends
            .filter((n) => n !== first)
            .map((n) => (
              <option key={n.n} value={String(n.n)}>
                {name(n)}
              </option>
            ))}
        </select>
      </label>
    </span>
  );
}
