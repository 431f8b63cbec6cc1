// How the branch of a session went, for charts of it.
import { useEffect } from "preact/hooks";
import { sessionPath, useGet, type Loaded } from "../../api";
import type { Course, Session } from "../../wire";
import type { Watch } from "./watch";

// changes are the events after which the branch is another.
export const changes: ReadonlySet<string> = new Set(["turn.completed", "turn.failed", "head.moved", "compaction.completed", "compaction.undone"]);

// useCourse fetches the course, and again when the branch is another.
export function useCourse(session: Session, watch: Watch): Loaded<Course> {
  const course = useGet<Course>(sessionPath(session.id, "course"));
  useEffect(() => watch.hear((e) => changes.has(e.name) && course.reload()), [watch]);
  return course;
}
