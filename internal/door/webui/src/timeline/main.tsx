// Timeline is a bundle of its own, loaded when it is opened: the steps of a turn as a table with bars.
// It has its own Preact, so it shares no state with the page.
import { render } from "preact";
import { useState } from "preact/hooks";
import { count, duration, moment, percent, plural } from "../format";
import { loadTurn, type Get, type Loaded } from "./load";
import { sharesOf, stepsOf, type Kind, type Shares, type Step } from "./steps";

export interface Props {
  get: Get;
  // path returns the path of the entries of a session.
  path: (id: string) => string;
  // link returns the address of an entry, or of a session.
  link: (session: string, entry?: string) => string;
  session: string;
  entry: string;
  head: string;
  live: boolean;
  // close is called when a link is followed.
  close: () => void;
}

// Rows that are drawn at first.
const first = 300;

const kinds: [Kind, string][] = [
  ["model", "Model"],
  ["tool", "Tools"],
  ["wait", "Waiting"],
  ["gap", "Not recorded"],
];

// show loads a turn and draws it. An error is the caller's.
export async function show(el: Element, p: Props): Promise<void> {
  const turn = await loadTurn(p.get, p.path, p.session, p.entry, p.head);
  render(<View {...p} turn={turn} />, el);
}

export function end(el: Element): void {
  render(null, el);
}

function View({ turn, live, link, session, close }: Props & { turn: Loaded }) {
  const [all, setAll] = useState(false);
  const steps = stepsOf({ ...turn, now: live ? Date.now() : undefined });
  const shares = sharesOf(steps);
  if (steps.length === 0) return <p class="muted">This turn has no answer yet.</p>;
  const shown = all ? steps : steps.slice(0, first);
  return (
    <div class="timeline">
      {shares ? <Sum shares={shares} /> : <p class="timeline-none">The times of this turn were not recorded, so there are no durations. The steps are in their order.</p>}
      {turn.cut && <p class="muted">The turn is longer than what is shown here.</p>}
      <table>
        <caption class="sr">Steps of the turn in their order, with their start and duration</caption>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col" class="num timeline-start">
              Start
            </th>
            <th scope="col" class="num">
              Duration
            </th>
            {shares && <Axis shares={shares} />}
          </tr>
        </thead>
        <tbody>
          {shown.map((s, i) => (
            <StepRow key={i} step={s} shares={shares} href={s.session ? link(s.session) : link(session, s.entry)} close={close} />
          ))}
        </tbody>
      </table>
      {shown.length < steps.length && (
        <button type="button" class="button" onClick={() => setAll(true)}>
          Show all {plural(steps.length, "step")}
        </button>
      )}
    </div>
  );
}

// span formats the time between two moments. None is not recorded.
function span(from: number | undefined, to: number | undefined): string {
  return from === undefined || to === undefined ? "–" : from === to ? "0 s" : duration(to - from);
}

function Sum({ shares }: { shares: Shares }) {
  const total = shares.to - shares.from;
  return (
    <p class="timeline-sum num">
      <strong title={`${moment(new Date(shares.from))} – ${moment(new Date(shares.to))}`}>{span(shares.from, shares.to)}</strong>
      {kinds.map(
        ([kind, name]) =>
          shares[kind] > 0 && (
            <span key={kind}>
              <i class={"timeline-key timeline-" + kind} />
              {name} {duration(shares[kind])} ({percent(shares[kind], total)})
            </span>
          ),
      )}
      {shares.unknown > 0 && <span>{count(shares.unknown)} without times</span>}
    </p>
  );
}

function Axis({ shares }: { shares: Shares }) {
  const total = shares.to - shares.from;
  return (
    <th scope="col" class="timeline-axis num">
      <span>0</span>
      <span>{duration(total / 2)}</span>
      <span>{duration(total)}</span>
    </th>
  );
}

const words: Record<Kind, string> = { model: "model", tool: "tool", wait: "waiting", gap: "" };

function StepRow({ step: s, shares, href, close }: { step: Step; shares: Shares | undefined; href: string; close: () => void }) {
  const state = s.running ? "running" : s.failed ? "failed" : "";
  return (
    <tr class={s.failed ? "failed" : undefined}>
      <th scope="row" style={{ paddingLeft: `${s.depth * 16}px` }}>
        <span class="sr">
          {s.depth > 0 ? "in a sub-agent, " : ""}
          {words[s.kind]}:{" "}
        </span>
        <a href={href} onClick={close}>
          {s.name}
        </a>{" "}
        <span class="faint">{s.detail}</span>
        {state && <span class={s.failed ? "bad" : "faint"}> {state}</span>}
      </th>
      <td class="num timeline-start">{shares && s.from !== undefined ? "+" + span(shares.from, s.from) : "–"}</td>
      <td class="num" title={s.to === undefined ? "Not recorded" : undefined}>
        {s.to === undefined ? (
          <>
            <span aria-hidden="true">–</span>
            <span class="sr">not recorded</span>
          </>
        ) : (
          span(s.from, s.to)
        )}
      </td>
      {shares && (
        <td class="timeline-lane">
          <Bar step={s} shares={shares} />
        </td>
      )}
    </tr>
  );
}

function Bar({ step: s, shares }: { step: Step; shares: Shares }) {
  if (s.from === undefined || s.to === undefined) return null;
  const total = Math.max(1, shares.to - shares.from);
  return <i class={`timeline-bar timeline-${s.kind}${s.running ? " on" : ""}`} style={{ left: `${((s.from - shares.from) / total) * 100}%`, width: `${((s.to - s.from) / total) * 100}%` }} />;
}
