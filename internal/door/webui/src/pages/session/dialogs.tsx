// Dialogs of the log: label, CLI commands, compaction details.
import { useSignal } from "@preact/signals";
import { useGet } from "../../api";
import { free, shell } from "../../format";
import { CopyCLI, Dialog, Problem } from "../../ui";
import type { Agent, Page } from "../../wire";
import { CompactionDiff } from "./diff";
import { FileRewind } from "./filerewind";
import { ModelPicker } from "./models";
import type { Talk } from "./talk";
import { TimelineDialog } from "./timeline";

export function LogDialogs({ talk }: { talk: Talk }) {
  const a = talk.asking.value;
  const close = () => (talk.asking.value = null);
  switch (a?.what) {
    case "label":
      return <LabelDialog talk={talk} entry={a.entry} label={a.label} close={close} />;
    case "cli":
      return (
        <Dialog title="CLI commands" close={close} class="cli-dialog">
          <Commands of={talk.cli(a.entry)} />
        </Dialog>
      );
    case "model":
      return <ModelPicker title="Choose a model" none="The default of the agent" current={modelOf(talk)} choose={(m) => void talk.chooseModel(m)} close={close} />;
    case "retry":
      return <ModelPicker title="Retry with another model" current={modelOf(talk)} choose={(m) => void talk.again(a.entry, m)} close={close} />;
    case "agent":
      return <AgentDialog talk={talk} close={close} />;
    case "files":
      return <FileRewind key={a.entry} talk={talk} entry={a.entry} close={close} />;
    case "timeline":
      return <TimelineDialog key={a.entry} talk={talk} entry={a.entry} close={close} />;
    case "compaction":
      return <CompactionDiff talk={talk} id={a.id} close={close} />;
  }
  return null;
}

function modelOf(talk: Talk): string {
  const state = talk.watch.session.value?.state;
  return state?.model ? `${state.provider}/${state.model}` : "";
}

function AgentDialog({ talk, close }: { talk: Talk; close: () => void }) {
  const agents = useGet<Page<Agent>>("/v1/agents");
  return (
    <Dialog title="Choose an agent" close={close}>
      {agents.error && <Problem error={agents.error} retry={agents.reload} />}
      <ul class="plain-list" aria-busy={agents.loading}>
        {(agents.data?.items ?? []).map((agent) => (
          <li key={agent.id}>
            <button
              type="button"
              class="button"
              onClick={() => {
                talk.agent.value = agent.id === talk.watch.session.peek()?.agent ? "" : agent.id;
                close();
              }}
            >
              {agent.id} <span class="faint">{agent.model}</span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

export function Commands({ of }: { of: [what: string, command: string][] }) {
  return (
    <dl class="commands">
      {of.map(([what, command]) => (
        <div key={what}>
          <dt>{what}</dt>
          <dd>
            <CopyCLI command={command} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function LabelDialog({ talk, entry, label, close }: { talk: Talk; entry: string; label: string; close: () => void }) {
  const name = useSignal(label);
  const set = (to: string) => {
    close();
    if (to !== label) void talk.label(entry, to, label);
  };
  return (
    <Dialog
      title="Label"
      close={close}
      submit={() => set(name.value.trim())}
      actions={
        <>
          <CopyCLI command={`firn label ${shell(talk.id)} ${shell(entry)} ${free(name.value || "NAME")}`} />
          {label && (
            <button type="button" class="button danger" onClick={() => set("")}>
              Remove
            </button>
          )}
          <button type="submit" class="button primary" disabled={!name.value.trim()}>
            Set
          </button>
        </>
      }
    >
      <label class="field">
        <span>A name for the entry, usable wherever an entry ID is. Entries labeled pin are kept in every summary.</span>
        <input class="input" value={name.value} maxLength={100} autoFocus onInput={(e) => (name.value = e.currentTarget.value)} />
      </label>
    </Dialog>
  );
}
