import { Empty } from "../../ui";
import type { TabProps } from "./index";

export function SessionUsage({ session }: TabProps) {
  return <Empty title="This tab is not there yet." command={"firn usage --by session " + session.id} />;
}
