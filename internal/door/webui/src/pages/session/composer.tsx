// Composer is the message box. Enter sends, Shift+Enter starts a new line; images can be pasted or
// dropped.
import type { RefObject } from "preact";
import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { post, Problem, sessionPath } from "../../api";
import { bytes, shell } from "../../format";
import { notifyError, CopyCLI, Icon } from "../../ui";
import type { Answer, Image } from "../../wire";
import type { Talk } from "./talk";

const kinds = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const largest = 8 << 20;

interface Picked extends Image {
  name: string;
  size: number;
}

interface Props {
  talk: Talk;
  box: RefObject<HTMLTextAreaElement | null>;
  sent: () => void;
}

export function Composer({ talk, box, sent }: Props) {
  const images = useSignal<Picked[]>([]);
  const busy = useSignal(false);
  const over = useSignal(false);
  const text = talk.draft.value;
  const live = talk.watch.live.value;

  // The box grows with its content.
  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    el.style.height = "auto";
    el.style.height = Math.min(el.scrollHeight + 2, Math.max(120, innerHeight * 0.4)) + "px";
  }, [text]);

  const add = (files: Iterable<File>) => {
    for (const f of files) {
      if (!f.type.startsWith("image/")) continue;
      pick(f).then((p) => (images.value = [...images.value, p]), notifyError);
    }
  };
  const send = async () => {
    if (busy.value || (!text.trim() && images.value.length === 0)) return;
    busy.value = true;
    // The ID makes a retry idempotent.
    const pictures = images.value;
    const turn = { text, images: pictures.map(({ mimeType, data }) => ({ mimeType, data })), wait: false };
    // Clear the box at once for the next message.
    talk.send(text);
    images.value = [];
    try {
      await post<Answer>(sessionPath(talk.id, "turns"), turn, { headers: { "Idempotency-Key": nameOf(turn) } });
      if (named) named.ok = true;
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
      {images.value.length > 0 && (
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
      )}
      <div class="composer-row">
        <textarea
          ref={box}
          class="composer-text"
          rows={1}
          value={text}
          placeholder={live ? "Queue a message…" : "Write a message…"}
          aria-label="Message"
          enterkeyhint="send"
          onInput={(e) => talk.write(e.currentTarget.value)}
          onPaste={(e) => {
            const files = e.clipboardData?.files;
            if (files?.length) {
              e.preventDefault();
              add(files);
            }
          }}
          onKeyDown={(e) => {
            if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
              e.preventDefault();
              void send();
            } else if (e.key === "Escape") e.currentTarget.blur();
          }}
        />
        {live && (
          <>
            <button type="button" class="button composer-stop" title="Stop the turn and clear the queue" onClick={() => void talk.stop()}>
              <Icon name="stop" /> Stop
            </button>
            <CopyCLI small command={`firn stop ${shell(talk.id)}`} />
          </>
        )}
        <button type="submit" class="button primary composer-send" disabled={busy.value || (!text.trim() && images.value.length === 0)}>
          {live ? "Queue" : "Send"}
        </button>
      </div>
    </form>
  );
}

// Queue shows the queued messages.
function Queue({ talk }: { talk: Talk }) {
  const s = talk.watch.session.value;
  const waiting = s?.waiting ?? [];
  const more = (s?.queued ?? 0) - waiting.length;
  if (waiting.length === 0 && more <= 0) return null;
  return (
    <ul class="composer-queue" aria-label="Queued messages">
      {waiting.map((w) => (
        <li key={w.id}>
          <span class="faint">queued</span> {w.sender && <b>{w.sender}</b>} <span class="one-line">{w.text}</span>
        </li>
      ))}
      {more > 0 && waiting.length === 0 && <li class="faint">{more} queued</li>}
    </ul>
  );
}

// nameOf returns the ID of a message. A failed message keeps its ID until another one is written.
let named: { what: string; name: string; ok: boolean } | undefined;
function nameOf(turn: { text: string; images: unknown[] }): string {
  const what = JSON.stringify(turn);
  if (!named || named.ok || named.what !== what) named = { what, name: entryID(), ok: false };
  return named.name;
}

const letters = "0123456789abcdefghjkmnpqrstvwxyz";

// entryID returns an ID like the gateway's: the time and random bits.
function entryID(): string {
  let n = (BigInt(Date.now()) << 20n) | BigInt(Math.floor(Math.random() * (1 << 20)));
  let id = "";
  for (let i = 0; i < 13; i++) {
    id = letters[Number(n & 31n)] + id;
    n >>= 5n;
  }
  return id;
}

function refuse(message: string): Problem {
  return new Problem(0, { kind: "invalid", message });
}

function pick(f: File): Promise<Picked> {
  return new Promise((resolve, reject) => {
    if (!kinds.includes(f.type)) return reject(refuse(`${f.name} is not a PNG, JPEG, GIF or WebP image`));
    if (f.size > largest) return reject(refuse(`${f.name} is ${bytes(f.size)}; the limit is ${bytes(largest)}`));
    const reader = new FileReader();
    reader.onerror = () => reject(refuse(`${f.name} cannot be read`));
    reader.onload = () => {
      const url = String(reader.result);
      resolve({ name: f.name || "image", size: f.size, mimeType: f.type, data: url.slice(url.indexOf(",") + 1) });
    };
    reader.readAsDataURL(f);
  });
}
