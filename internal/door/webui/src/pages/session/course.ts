// The history of a branch by turn, for charts.
import { useEffect } from "preact/hooks";
import { sessionPath, useGet, type Loaded } from "../../api";
import type { Course, Session } from "../../wire";
import type { Watch } from "./watch";

// changes are the events that change the branch.
export const changes: ReadonlySet<string> = new Set(["turn.completed", "turn.failed", "head.moved", "compaction.completed", "compaction.undone"]);

// useCourse loads the history, and reloads it when the branch changes.
export function useCourse(session: Session, watch: Watch): Loaded<Course> {
  const course = useGet<Course>(sessionPath(session.id, "course"));
  useEffect(() => watch.subscribe((e) => changes.has(e.name) && course.reload()), [watch]);
  return course;
}
