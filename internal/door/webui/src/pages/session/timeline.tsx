// TimelineDialog shows the steps of a turn. Its content is a bundle of its own.
import { useEffect, useRef, useState } from "preact/hooks";
import { asProblem, get, sessionPath, type Problem as Err } from "../../api";
import { toSession } from "../../router";
import type * as Timeline from "../../timeline/main";
import { Dialog, Problem } from "../../ui";
import type { Talk } from "./talk";

// Events after which a running turn has other steps.
const steps = new Set(["entry.appended", "turn.completed", "turn.failed", "approval.answered"]);

export function TimelineDialog({ talk, entry, close }: { talk: Talk; entry: string; close: () => void }) {
  const el = useRef<HTMLDivElement>(null);
  const [error, setError] = useState<Err>();
  const [busy, setBusy] = useState(true);
  const [again, setAgain] = useState(0);
  useEffect(() => {
    let gone = false;
    let bundle: typeof Timeline | undefined;
    const at = "/assets/timeline.js";
    const load = async () => {
      try {
        bundle ??= (await import(at)) as typeof Timeline;
        if (gone) return;
        await bundle.show(el.current!, {
          get,
          path: (id) => sessionPath(id, "entries"),
          link: (id, e) => toSession(id, "", e ? { at: e } : {}),
          session: talk.id,
          entry,
          head: talk.entries.branch(),
          live: talk.watch.live.peek(),
          close,
        });
        if (!gone) setError(undefined);
      } catch (err) {
        if (!gone) setError(asProblem(err));
      }
      if (!gone) setBusy(false);
    };
    void load();
    let timer = 0;
    const unsubscribe = talk.watch.subscribe((e) => {
      if (steps.has(e.name)) timer ||= window.setTimeout(() => ((timer = 0), void load()), 500);
    });
    const box = el.current!;
    return () => {
      gone = true;
      clearTimeout(timer);
      unsubscribe();
      bundle?.end(box);
    };
  }, [entry, again]);
  return (
    <Dialog title="Timeline" close={close} class="timeline-dialog">
      {error && <Problem error={error} retry={() => setAgain(again + 1)} />}
      <div ref={el} aria-busy={busy} />
    </Dialog>
  );
}
