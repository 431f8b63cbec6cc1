// SessionUsage shows a session's usage by turn.
import { cost, count, plural, shell, tokens } from "../../format";
import { go, toSession } from "../../router";
import { CopyCLI, Empty, Problem, Skeleton, Stack } from "../../ui";
import type { Counters, Episode } from "../../wire";
import { Figure } from "../parts";
import type { TabProps } from "./tab";
import { useCourse } from "./course";

const kinds: [name: string, of: (c: Counters) => number][] = [
  ["cache read", (c) => c.cacheRead],
  ["cache write", (c) => c.cacheWrite],
  ["input", (c) => c.input],
  ["output", (c) => c.output],
];

export function SessionUsage({ session, watch }: TabProps) {
  const course = useCourse(session, watch);
  const all = session.state?.counters;
  const command = `firn show ${shell(session.id)}`;
  if (!all || all.answers === 0) return <Empty icon="usage" title="No usage yet" action={{ label: "Open the log", href: toSession(session.id) }} command={`firn chat -r ${shell(session.id)}`} />;
  const episodes = course.data?.episodes ?? [];
  return (
    <div class="tab-body">
      <dl class="figures">
        <Figure name="Cost" value={cost(all.cost)} />
        <Figure name="Answers" value={count(all.answers)} />
        {kinds.map(([name, of]) => (
          <Figure key={name} name={name[0]!.toUpperCase() + name.slice(1)} value={tokens(of(all))} />
        ))}
      </dl>
      <p class="faint">Totals of all branches. The turns below are on the current branch.</p>
      <CopyCLI command={command} />
      {course.error && <Problem error={course.error} retry={course.reload} />}
      {!course.data && !course.error && <Skeleton rows={4} />}
      {episodes.length > 0 && (
        <section class="tab-section">
          <h2>{plural(course.data!.turns, "turn")} on this branch</h2>
          <Stack
            label={`Tokens per turn, ${plural(course.data!.turns, "turn")}`}
            names={kinds.map(([name]) => name)}
            format={tokens}
            columns={episodes.map((e) => ({ key: e.first, label: `turn ${e.turn} · ${cost(e.usage.cost)}`, values: kinds.map(([, of]) => of(e.usage)) }))}
            open={(c) => go(toSession(session.id, "", { at: c.key }))}
          />
        </section>
      )}
      <ExpensiveTurns session={session.id} episodes={episodes} />
    </div>
  );
}

const total = (e: Episode) => kinds.reduce((sum, [, of]) => sum + of(e.usage), 0);

// ExpensiveTurns lists the most expensive turns.
function ExpensiveTurns({ session, episodes }: { session: string; episodes: Episode[] }) {
  const most = [...episodes].sort((a, b) => b.usage.cost - a.usage.cost || total(b) - total(a)).slice(0, 20);
  if (most.length < 2) return null;
  return (
    <section class="tab-section">
      <h2>Most expensive turns</h2>
      <table class="table">
        <thead>
          <tr>
            <th>Turn</th>
            <th class="num">Calls</th>
            <th class="num" title="Input, cache read and cache write">Input, with cache</th>
            <th class="num">Output</th>
            <th class="num">Cost</th>
          </tr>
        </thead>
        <tbody>
          {most.map((e) => (
            <tr key={e.first}>
              <td class="items-text">
                <a href={toSession(session, "", { at: e.first })}>
                  {e.turn}. {e.preview ?? ""}
                </a>
              </td>
              <td class="num">{e.calls ? count(e.calls) : ""}</td>
              <td class="num">{tokens(e.usage.input + e.usage.cacheRead + e.usage.cacheWrite)}</td>
              <td class="num">{tokens(e.usage.output)}</td>
              <td class="num">{cost(e.usage.cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
