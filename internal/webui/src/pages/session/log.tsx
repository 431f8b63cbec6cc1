import { Empty } from "../../ui";
import type { TabProps } from "./index";

export function Log({ session }: TabProps) {
  return <Empty title="This tab is not there yet." command={"firn cat " + session.id} />;
}
