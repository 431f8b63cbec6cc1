import { Empty } from "../../ui";
import type { TabProps } from "./index";

export function Tree({ session }: TabProps) {
  return <Empty title="This tab is not there yet." command={"firn tree " + session.id} />;
}
