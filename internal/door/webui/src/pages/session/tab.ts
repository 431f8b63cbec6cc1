// TabProps are the properties of a session tab. watch.subscribe(f) subscribes to events and returns the
// unsubscribe function.
import type { Session } from "../../wire";
import type { Watch } from "./watch";

export interface TabProps {
  session: Session;
  reload: () => void;
  watch: Watch;
}
