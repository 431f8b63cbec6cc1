// TabProps is what every tab of a session is given. Reload fetches the session
// again; watch tells what happens in it: watch.hear(f) until the function it gives
// is called.
import type { Session } from "../../wire";
import type { Watch } from "./watch";

export interface TabProps {
  session: Session;
  reload: () => void;
  watch: Watch;
}
