// Settings shows what a person changes: the preferences of this browser, and the settings of agents
// and models, each with where it is set. The gateway's settings are in its file; the page shows the
// command that changes them.
import type { Signal } from "@preact/signals";
import { useGet } from "../api";
import { moment, shell } from "../format";
import { bound } from "../me";
import { choose, dates, notices, type Pref } from "../prefs";
import { contrast, density, theme } from "../theme";
import { CopyCLI, Problem, Skeleton } from "../ui";
import type { Page, Setting } from "../wire";
import { Section } from "./parts";

export function Settings() {
  return (
    <div class="page settings">
      <header class="page-head">
        <h1>Settings</h1>
        <CopyCLI small command="firn config get" />
      </header>
      <div class="page-body">
        <Section title="This browser" note="Stored in this browser only.">
          <table class="table settings-table">
            <SettingHeads last="Reset" />
            <tbody>
              <LookRow name="Theme" about="Colors: those of the system, or always the same." of={theme} values={[["auto", "System"], ["light", "Light"], ["dark", "Dark"]]} />
              <LookRow name="Contrast" about="Stronger colors and borders." of={contrast} values={[["auto", "System"], ["more", "High"]]} />
              <LookRow name="Density" about="The space between lines and rows." of={density} values={[["comfortable", "Comfortable"], ["compact", "Compact"]]} />
              <PrefRow pref={dates} example={moment(new Date())} />
              <PrefRow pref={notices} />
            </tbody>
          </table>
        </Section>
        {bound() ? (
          <Section title="Agents and models">
            <p class="muted">The settings of the gateway need a login without limits.</p>
          </Section>
        ) : (
          <OfGateway />
        )}
      </div>
    </div>
  );
}

function SettingHeads({ last }: { last: string }) {
  return (
    <thead>
      <tr>
        <th>Setting</th>
        <th>Value</th>
        <th>Set in</th>
        <th>
          <span class="sr">{last}</span>
        </th>
      </tr>
    </thead>
  );
}

interface RowProps {
  name: string;
  about: string;
  values: Pref["values"];
  now: string;
  set: boolean;
  example?: string;
  choose: (value?: string) => void;
}

function Row({ name, about, values, now, set, example, choose: pick }: RowProps) {
  return (
    <tr>
      <th scope="row">
        {name}
        <span class="setting-about">{about}</span>
      </th>
      <td>
        <select class="select" aria-label={name} value={now} onChange={(e) => pick(e.currentTarget.value)}>
          {values.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        {example && <span class="setting-about">{example}</span>}
      </td>
      <td>{set ? "this browser" : "default"}</td>
      <td>
        {set && (
          <button type="button" class="button quiet" aria-label={`Reset ${name}`} onClick={() => pick()}>
            Reset
          </button>
        )}
      </td>
    </tr>
  );
}

function PrefRow({ pref: p, example }: { pref: Pref; example?: string }) {
  return <Row name={p.name} about={p.about} values={p.values} now={p.now.value} set={p.set.value} example={example} choose={(v) => choose(p, v)} />;
}

// LookRow is a choice of theme.ts. Its first value is the default.
function LookRow<T extends string>({ name, about, of, values }: { name: string; about: string; of: Signal<T>; values: [T, string][] }) {
  const usual = values[0]![0];
  return <Row name={name} about={about} values={values} now={of.value} set={of.value !== usual} choose={(v) => (of.value = (v ?? usual) as T)} />;
}

// OfGateway lists settings of the gateway. They can be changed in its file only.
function OfGateway() {
  const list = useGet<Page<Setting>>("/v1/settings");
  const all = list.data?.items ?? [];
  const groups = [...new Set(all.map(groupOf))];
  return (
    <>
      {list.error && <Problem error={list.error} retry={list.reload} />}
      {!list.data && !list.error && <Skeleton />}
      {groups.map((group) => (
        <Section key={group} title={group}>
          <table class="table settings-table">
            <SettingHeads last="Command" />
            <tbody>
              {all
                .filter((s) => groupOf(s) === group)
                .map((s) => (
                  <tr key={s.path}>
                    <th scope="row">
                      <code>{s.path}</code>
                      <span class="setting-about">{s.description}</span>
                    </th>
                    <td class="setting-value">{s.value && s.value !== "[]" ? s.value : <span class="faint">empty</span>}</td>
                    <td>
                      {s.layer}
                      {s.where && <span class="setting-about mono">{s.where}</span>}
                    </td>
                    <td>
                      <CopyCLI small command={`firn config set ${shell(s.path)} ${shell(s.value || "VALUE")}`} />
                    </td>
                  </tr>
                ))}
            </tbody>
          </table>
        </Section>
      ))}
      {list.data && <p class="faint">The commands write to the settings file. A running gateway reads it again with SIGHUP.</p>}
    </>
  );
}

// groupOf returns the heading of a setting.
function groupOf(s: Setting): string {
  const [first, agent] = s.path.split(".");
  if (first === "agents") return `Agent ${agent}`;
  return first === "chat" ? "Terminal" : "All agents";
}
