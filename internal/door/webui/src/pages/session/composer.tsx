// Composer is the message box. Enter sends, Shift+Enter starts a new line, a slash begins a command,
// Escape stops the turn; images can be attached, pasted or dropped.
import type { RefObject } from "preact";
import { useSignal, type Signal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { post, Problem, sessionPath, useGet } from "../../api";
import { bytes, shell } from "../../format";
import { lost } from "../../lost";
import { notifyError, CopyCLI, Icon, Menu } from "../../ui";
import type { Agent, Answer, Page } from "../../wire";
import { imageTypes, pick, pickedAgain, type Picked } from "./images";
import { accepted, nameOf } from "./messageid";
import { Queue } from "./queue";
import { slashesFor, slashOf, type Slash } from "./slash";
import type { Talk } from "./talk";

interface Props {
  talk: Talk;
  box: RefObject<HTMLTextAreaElement | null>;
  sent: () => void;
}

// leave moves the focus from the composer to the latest entry, where shortcuts work.
function leave(box: HTMLTextAreaElement): void {
  const entries = document.querySelectorAll<HTMLElement>(".log-column [data-entry]");
  box.blur();
  entries[entries.length - 1]?.focus({ preventScroll: true });
}

function fitHeight(el: HTMLTextAreaElement): void {
  el.style.height = "auto";
  el.style.height = Math.min(el.scrollHeight + 2, Math.max(120, innerHeight * 0.4)) + "px";
}

export function Composer({ talk, box, sent }: Props) {
  const images = useSignal<Picked[]>([]);
  const busy = useSignal(false);
  const over = useSignal(false);
  const at = useSignal(0);
  const closed = useSignal("");
  const files = useRef<HTMLInputElement>(null);
  const menu = useId();
  const text = talk.draft.value;
  const live = talk.watch.live.value;
  const aside = talk.entries.aside.value;
  const off = lost.value;
  const commands = closed.value === text ? [] : slashesFor(text);
  const here = Math.min(at.value, commands.length - 1);

  // The box grows with its content, whose size depends on the window's.
  useLayoutEffect(() => {
    const fit = () => box.current && fitHeight(box.current);
    fit();
    addEventListener("resize", fit);
    return () => removeEventListener("resize", fit);
  }, [text]);
  useEffect(() => {
    talk.focus = () => box.current?.focus();
    talk.giveBack = (removed) => {
      talk.write([...removed.map((m) => m.text), talk.draft.peek()].filter(Boolean).join("\n\n"));
      images.value = [...removed.flatMap((m) => (m.images ?? []).map(pickedAgain)), ...images.peek()];
      box.current?.focus();
    };
  }, [talk]);

  const add = (from: Iterable<File>) => {
    for (const f of from) pick(f).then((p) => (images.value = [...images.value, p]), notifyError);
  };
  const send = async () => {
    const text = talk.draft.peek(); // may be newer than what is drawn
    if (busy.value || off || (!text.trim() && images.value.length === 0)) return;
    const slash = slashOf(text);
    if (typeof slash === "string") return notifyError(new Problem(0, { kind: "invalid", message: slash, hint: "To send a leading slash, type two." }));
    if (slash) {
      talk.write("");
      void slash.command.run(talk, slash.rest);
      return;
    }
    busy.value = true;
    const pictures = images.value;
    const turn = { text: text.replace(/^\/\//, "/"), images: pictures.map(({ mimeType, data }) => ({ mimeType, data })), agent: talk.agent.value || undefined, wait: false };
    // Clear the box at once for the next message.
    talk.send(text);
    images.value = [];
    try {
      await talk.stepOver();
      await post<Answer>(sessionPath(talk.id, "turns"), turn, { headers: { "Idempotency-Key": nameOf(talk.id, turn) } });
      accepted();
      talk.sent(true);
      talk.watch.soon();
      sent();
    } catch (err) {
      notifyError(err);
      talk.sent(false);
      images.value = [...pictures, ...images.peek()];
    } finally {
      busy.value = false;
      box.current?.focus();
    }
  };
  // take completes a command that has arguments, and runs any other.
  const take = (c: Slash) => {
    if (c.args) talk.write(`/${c.name} `);
    else {
      talk.write("");
      void c.run(talk, "");
    }
    at.value = 0;
    box.current?.focus();
  };
  const press = (e: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    if (commands.length && (step || e.key === "Tab" || (e.key === "Enter" && !e.shiftKey))) {
      e.preventDefault();
      if (step) at.value = (here + step + commands.length) % commands.length;
      else take(commands[here]!);
    } else if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
      e.preventDefault();
      void send();
    } else if (e.key === "Escape") {
      e.preventDefault();
      if (commands.length) closed.value = text;
      else if (live && !off) void talk.stop();
      else leave(e.currentTarget);
    }
  };

  return (
    <form
      class={"composer" + (over.value ? " over" : "")}
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
      onDragOver={(e) => {
        if (e.dataTransfer?.types.includes("Files")) {
          e.preventDefault();
          over.value = true;
        }
      }}
      onDragLeave={() => (over.value = false)}
      onDrop={(e) => {
        over.value = false;
        if (!e.dataTransfer?.files.length) return;
        e.preventDefault();
        add(e.dataTransfer.files);
      }}
    >
      <Queue talk={talk} />
      <Images images={images} />
      {commands.length > 0 && <SlashMenu id={menu} commands={commands} here={here} take={take} at={at} />}
      <div class="composer-box">
        <textarea
          ref={box}
          class="composer-text"
          rows={1}
          value={text}
          placeholder={aside ? "Continue on this branch…" : live ? "Queue a message…" : "Write a message, or / for commands…"}
          aria-label="Message"
          aria-autocomplete="list"
          aria-controls={commands.length ? menu : undefined}
          aria-activedescendant={commands.length ? `${menu}-${here}` : undefined}
          enterkeyhint="send"
          onInput={(e) => talk.write(e.currentTarget.value)}
          onPaste={(e) => {
            const pasted = e.clipboardData?.files;
            if (pasted?.length) {
              e.preventDefault();
              add(pasted);
            }
          }}
          onKeyDown={press}
        />
        <div class="composer-row">
          <input ref={files} type="file" hidden multiple accept={imageTypes.join()} onChange={(e) => (add(e.currentTarget.files ?? []), (e.currentTarget.value = ""))} />
          <button type="button" class="icon-button" aria-label="Attach images" title="Attach images" onClick={() => files.current?.click()}>
            <Icon name="attach" />
          </button>
          <Pickers talk={talk} />
          <span class="composer-gap" />
          {live && (
            <>
              <button type="button" class="button composer-stop" title="Stop the turn; queued messages return to the message box (Esc)" disabled={off} onClick={() => void talk.stop()}>
                <Icon name="stop" /> Stop
              </button>
              <CopyCLI small command={`firn stop ${shell(talk.id)}`} />
            </>
          )}
          <button type="submit" class="button primary composer-send" disabled={off || busy.value || (!text.trim() && images.value.length === 0)}>
            {live ? "Queue" : "Send"}
          </button>
        </div>
      </div>
    </form>
  );
}

function Images({ images }: { images: Signal<Picked[]> }) {
  if (images.value.length === 0) return null;
  return (
    <ul class="composer-images" aria-label="Images to send">
      {images.value.map((p, i) => (
        <li key={i}>
          <img src={`data:${p.mimeType};base64,${p.data}`} alt={p.name} />
          <button type="button" class="icon-button" aria-label={`Remove ${p.name}, ${bytes(p.size)}`} onClick={() => (images.value = images.value.filter((_, j) => j !== i))}>
            <Icon name="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

interface SlashProps {
  id: string;
  commands: Slash[];
  here: number;
  take: (c: Slash) => void;
  at: Signal<number>;
}

function SlashMenu({ id, commands, here, take, at }: SlashProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[here]?.scrollIntoView({ block: "nearest" });
  }, [here]);
  return (
    <div class="slash" role="listbox" aria-label="Commands" id={id} ref={list} tabIndex={0}>
      {commands.map((c, i) => (
        <div
          key={c.name}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === here}
          class="slash-item"
          onMouseMove={() => (at.value = i)}
          onMouseDown={(e) => e.preventDefault()}
          onClick={() => take(c)}
        >
          <code>
            /{c.name} {c.args}
          </code>
          <span>{c.help}</span>
        </div>
      ))}
    </div>
  );
}

// Pickers choose the agent and the model of the next answers.
function Pickers({ talk }: { talk: Talk }) {
  const agents = useGet<Page<Agent>>("/v1/agents").data?.items ?? [];
  const s = talk.watch.session.value;
  const own = s?.agent || "main";
  const agent = talk.agent.value || own;
  const model = (!s?.state?.foreign && s?.state?.model) || agents.find((a) => a.id === agent)?.model || "Model";
  return (
    <>
      {agents.length > 1 && (
        <Menu
          label={`Agent: ${agent}`}
          class="button quiet choice"
          up
          items={agents.map((a) => ({ label: a.id, checked: a.id === agent, hint: a.model, run: () => (talk.agent.value = a.id === own ? "" : a.id) }))}
        >
          <span class="one-line">{agent}</span>
          <Icon name="down" />
        </Menu>
      )}
      <button type="button" class="button quiet choice" aria-haspopup="dialog" aria-label={`Model: ${model}`} title={`Model: ${model}`} onClick={() => (talk.asking.value = { what: "model" })}>
        <span class="one-line">{model}</span>
        <Icon name="down" />
      </button>
    </>
  );
}
