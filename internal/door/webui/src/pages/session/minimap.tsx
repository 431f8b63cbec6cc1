// Minimap shows the size of each turn, as links.
import { plural, tokens } from "../../format";
import { go, toSession } from "../../router";
import { Stack } from "../../ui";
import type { Session } from "../../wire";
import { useCourse } from "./course";
import type { Watch } from "./watch";

export function Minimap({ session, watch }: { session: Session; watch: Watch }) {
  const course = useCourse(session, watch);
  const episodes = course.data?.episodes ?? [];
  // Reserve its height while loading, so that the rows below do not move.
  if (!course.data && !course.error && (session.state?.turns ?? 0) > 1) return <div class="minimap-room" />;
  if (episodes.length < 2) return null;
  const first = new Map(episodes.map((e) => [String(e.turn), e.first]));
  return (
    <section class="minimap" aria-label="Tokens per turn">
      <Stack
        label={`Tokens per turn, ${plural(course.data!.turns, "turn")}`}
        names={["tokens per turn"]}
        format={tokens}
        columns={episodes.map((e) => ({
          key: String(e.turn),
          label: `turn ${e.turn}${e.preview ? ": " + e.preview : ""}`,
          values: [e.own],
          mark: e.compactions?.length ? "compacted" : undefined,
        }))}
        open={(c) => go(toSession(session.id, "", { at: first.get(c.key) ?? "" }))}
      />
    </section>
  );
}
