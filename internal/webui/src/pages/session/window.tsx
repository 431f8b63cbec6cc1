import { Empty } from "../../ui";
import type { TabProps } from "./index";

export function Window({ session }: TabProps) {
  return <Empty title="This tab is not there yet." command={"firn window " + session.id} />;
}
