// Window shows the next request: usage by turn, what is sent, what is left out and why.
import { useEffect } from "preact/hooks";
import { download, sessionPath, useGet } from "../../api";
import { count, damageText, percent, plural, roleName, shell, tokens } from "../../format";
import { plainLine } from "../../plaintext";
import { go, toSession } from "../../router";
import { attempt, CopyCLI, Problem, Skeleton, Stack } from "../../ui";
import type { Run, Session, Window as WireWindow, WindowTotals } from "../../wire";
import { changes, useCourse } from "./course";
import type { TabProps } from "./tab";
import { whyOut } from "./parts";
import type { Watch } from "./watch";

// parts are the kinds of content in a window, from bottom to top.
const parts: [name: string, of: (t: WindowTotals) => number][] = [
  ["system and tools", (t) => t.system + t.specs],
  ["notes", (t) => t.notes],
  ["summary", (t) => t.summary],
  ["messages", (t) => t.kept],
  ["tool results", (t) => t.tools],
];

export function Window({ session, watch }: TabProps) {
  const loaded = useGet<WireWindow>(sessionPath(session.id, "window"));
  useEffect(() => watch.subscribe((e) => changes.has(e.name) && loaded.reload()), [watch]);
  if (loaded.error) return <Problem error={loaded.error} retry={loaded.reload} />;
  const w = loaded.data;
  if (!w) return <Skeleton />;
  const about = w.usage.estimated ? "~" : "";
  return (
    <div class="tab-body">
      <p class="window-sum">
        <span class="num">
          <b>{percent(w.usage.tokens, w.usage.window)}</b> of {tokens(w.usage.window)} tokens{w.usage.assumed && ", assumed size"}: {about}
          {tokens(w.usage.tokens)}
        </span>
        {w.model && <span class="faint">{`${w.provider ? w.provider + "/" : ""}${w.model}`}</span>}
        <CopyCLI command={`firn window ${shell(session.id)} --diff`} small />
      </p>
      <OverTurns session={session} watch={watch} window={w} />
      <Runs session={session} title="In the window" runs={w.in ?? []} none="Empty: no messages yet." />
      <Runs session={session} title="Left out" runs={w.out ?? []} none="Nothing: the whole branch is sent." />
      <Missing session={session} window={w} />
      <InjectedList window={w} />
      <Request session={session} />
      <Repairs window={w} />
      <Items session={session} window={w} />
    </div>
  );
}

// InjectedList lists content that is sent but not stored in the log.
function InjectedList({ window: w }: { window: WireWindow }) {
  if (!w.injected?.length) return null;
  return (
    <section class="tab-section" aria-label="Injected">
      <h2>Injected</h2>
      <table class="table items">
        <tbody>
          {w.injected.map((one) => (
            <tr key={one.name}>
              <td>{one.name}</td>
              <td class="items-text">{one.sources?.length ? one.sources.join(", ") : plainLine(one.preview ?? "")}</td>
              <td class="num">{tokens(one.tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

// Missing lists entries that are not sent because they are unreadable.
function Missing({ session, window: w }: { session: Session; window: WireWindow }) {
  if (!w.damage?.length) return null;
  return (
    <section class="tab-section" aria-label="Damaged">
      <h2>Damaged</h2>
      {w.damage.map((d) => (
        <p key={d.at} class="log-gap" role="note">
          ⚠ {damageText(d)}
        </p>
      ))}
      <CopyCLI command={`firn verify ${shell(session.id)}`} />
    </section>
  );
}

function OverTurns({ session, watch, window: w }: { session: Session; watch: Watch; window: WireWindow }) {
  const course = useCourse(session, watch);
  if (course.error) return <Problem error={course.error} retry={course.reload} />;
  const episodes = course.data?.episodes ?? [];
  if (!episodes.length) return null;
  const first = new Map(episodes.map((e) => [String(e.turn), e.first]));
  return (
    <section class="tab-section" aria-label="Window by turn">
      <h2>
        {plural(course.data!.turns, "turn")}
        {course.data!.step > 1 && <span class="faint"> · {course.data!.step} per column</span>}
        {course.data!.partial && <span class="faint"> · latest part only</span>}
      </h2>
      <Stack
        label={`Tokens in the window after each of ${plural(course.data!.turns, "turn")}, by kind`}
        names={parts.map(([name]) => name)}
        format={tokens}
        limit={w.usage.window}
        limitName="window"
        columns={episodes.map((e) => ({
          key: String(e.turn),
          label: `turn ${e.turn}`,
          values: parts.map(([, of]) => of(e.window)),
          mark: e.compactions?.length ? `compacted ${e.compactions.map((c) => `${tokens(c.before ?? 0)} → ${tokens(c.after ?? 0)}`).join(", ")}` : undefined,
        }))}
        open={(c) => go(toSession(session.id, "", { at: first.get(c.key) ?? "" }))}
      />
      <EstimateNote counted={w.usage.tokens} guessed={parts.reduce((sum, [, of]) => sum + of(w.totals), 0)} />
    </section>
  );
}

// EstimateNote explains why the total differs from the chart.
function EstimateNote({ counted, guessed }: { counted: number; guessed: number }) {
  if (Math.abs(counted - guessed) <= counted * 0.02) return null;
  return (
    <p class="faint">
      The chart is estimated (~{tokens(guessed)} now). The {tokens(counted)} above are the provider's count of the last answer, plus what was
      added since.
    </p>
  );
}

function Runs({ session, title, runs, none }: { session: Session; title: string; runs: Run[]; none: string }) {
  return (
    <section class="tab-section">
      <h2>{title}</h2>
      {runs.length === 0 && <p class="faint">{none}</p>}
      {runs.length > 0 && (
        <table class="table runs">
          <thead class="sr">
            <tr>
              <th>Entries</th>
              <th>Count</th>
              <th>Reason</th>
              <th>Command</th>
            </tr>
          </thead>
          <tbody>
            {runs.slice(0, 200).map((r, i) => (
              <tr key={i}>
                <td class="num runs-which">
                  <a href={toSession(session.id, "", { at: r.first ?? r.last ?? "" })}>{r.from ? `#${r.from}${r.to !== r.from ? `–#${r.to}` : ""}` : (r.first ?? "earlier")}</a>
                </td>
                <td class="num">{r.count >= 0 ? count(r.count) : ""}</td>
                <td>{r.why ? whyOut(r.why) : "sent"}</td>
                <td class="runs-do">{r.why && <CopyCLI command={commandFor(session, r)} small />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {runs.length > 200 && <p class="faint">and {count(runs.length - 200)} more: firn window {session.id}</p>}
    </section>
  );
}

// commandFor returns the command that restores or shows entries.
function commandFor(session: Session, r: Run): string {
  const id = shell(session.id);
  if (r.why === "compacted") return `firn uncompact ${id}`;
  if (r.why === "tombstoned") return `firn restore ${id} ${shell(r.from ? "#" + r.from : (r.first ?? ""))}`;
  return `firn cat ${id} --view disk --from ${shell(r.from ? "#" + r.from : (r.first ?? ""))}`;
}

function Request({ session }: { session: Session }) {
  // Saved unparsed, because a browser would change number formats.
  const save = (as: string) => void attempt(() => download(sessionPath(session.id, "window"), { as, file: true }, `${session.id}.${as}.json`));
  return (
    <section class="tab-section">
      <h2>Request</h2>
      <p class="muted">The next request as the provider would receive it, byte for byte.</p>
      <div class="buttons">
        {["anthropic", "openai"].map((as) => (
          <button key={as} type="button" class="button" onClick={() => save(as)}>
            Download for {as === "openai" ? "OpenAI" : "Anthropic"}
          </button>
        ))}
        <CopyCLI command={`firn window ${shell(session.id)} --as anthropic`} />
      </div>
    </section>
  );
}

function Repairs({ window: w }: { window: WireWindow }) {
  const repairs = alike(w);
  if (!repairs.length) return null;
  return (
    <section class="tab-section">
      <h2>Repairs{w.profile && <span class="faint"> · rules of {w.profile}</span>}</h2>
      <p class="muted">Changes to make the request valid for the provider. The log is unchanged.</p>
      <ul class="plain-list">
        {repairs.slice(0, 100).map((r, i) => (
          <li key={i}>
            <span class="chip">{r.rule}</span> {r.what}
            {r.times > 1 && <span class="faint num"> × {count(r.times)}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

// alike groups equal repairs.
function alike(w: WireWindow): { rule: string; what: string; times: number }[] {
  const all = new Map<string, { rule: string; what: string; times: number }>();
  for (const { rule, what } of w.repairs ?? []) {
    const key = rule + " " + what;
    const known = all.get(key);
    if (known) known.times++;
    else all.set(key, { rule, what, times: 1 });
  }
  return [...all.values()];
}

function Items({ session, window: w }: { session: Session; window: WireWindow }) {
  const items = w.items ?? [];
  if (!items.length) return null;
  return (
    <section class="tab-section">
      <h2>
        {plural(w.count, "message")}
        {items.length < w.count && <span class="faint"> · the latest {count(items.length)}</span>}
      </h2>
      <table class="table items">
        <thead>
          <tr>
            <th>Role</th>
            <th>Preview</th>
            <th class="num">Tokens</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item, i) => (
            <tr key={i}>
              <td>
                {roleName(item.role)}
                {item.synthetic && <span class="chip">synthetic</span>}
                {(item.injected ?? []).map((what) => (
                  <span key={what} class="chip">
                    {what}
                  </span>
                ))}
              </td>
              <td class="items-text">
                {item.from?.[0] ? <a href={toSession(session.id, "", { at: item.from[0] })}>{item.preview || "…"}</a> : item.preview}
              </td>
              <td class="num">{tokens(item.tokens)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
