// Queue lists the queued messages, which can be edited, reordered and removed.
import { patch, sessionPath } from "../../api";
import { plural } from "../../format";
import { lost } from "../../lost";
import { attempt, Icon } from "../../ui";
import type { Queue as WireQueue, QueueChange, Waiting } from "../../wire";
import type { Talk } from "./talk";

export function Queue({ talk }: { talk: Talk }) {
  const s = talk.watch.session.value;
  const waiting = s?.waiting ?? [];
  const more = (s?.queued ?? 0) - waiting.length;
  if (waiting.length === 0 && more <= 0) return null;
  const change = async (to: QueueChange): Promise<WireQueue | undefined> => {
    const queue = await attempt(() => patch<WireQueue>(sessionPath(talk.id, "queue"), to));
    const now = talk.watch.session.value;
    if (queue && now) talk.watch.session.value = { ...now, waiting: queue.items ?? [], queued: queue.items?.length ?? 0 };
    talk.watch.soon();
    return queue;
  };
  const move = (i: number, by: -1 | 1) => {
    const order = waiting.map((w) => w.id);
    [order[i], order[i + by]] = [order[i + by]!, order[i]!];
    void change({ order });
  };
  const take = async (w: Waiting) => {
    const out = (await change({ remove: [w.id] }))?.removed?.[0];
    if (out) talk.giveBack([out]);
  };
  const off = lost.value;
  return (
    <ol class="composer-queue" aria-label="Queued messages">
      {waiting.map((w, i) => (
        <li key={w.id}>
          <span class="faint">queued</span> {w.sender && <b>{w.sender}</b>} <span class="one-line">{w.text}</span>
          <span class="queue-acts">
            <button type="button" class="icon-button" aria-label={`Move up: ${w.text.slice(0, 40)}`} title="Move up" disabled={off || i === 0} onClick={() => move(i, -1)}>
              <Icon name="up" />
            </button>
            <button type="button" class="icon-button" aria-label={`Move down: ${w.text.slice(0, 40)}`} title="Move down" disabled={off || i === waiting.length - 1} onClick={() => move(i, 1)}>
              <Icon name="down" />
            </button>
            <button type="button" class="icon-button" aria-label={`Edit: ${w.text.slice(0, 40)}`} title="Edit" disabled={off} onClick={() => void take(w)}>
              <Icon name="edit" />
            </button>
            <button type="button" class="icon-button" aria-label={`Remove: ${w.text.slice(0, 40)}`} title="Remove" disabled={off} onClick={() => void change({ remove: [w.id] })}>
              <Icon name="close" />
            </button>
          </span>
        </li>
      ))}
      {more > 0 && waiting.length === 0 && <li class="faint">{plural(more, "message")} queued</li>}
    </ol>
  );
}
