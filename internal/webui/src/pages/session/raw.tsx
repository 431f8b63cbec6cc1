import { Empty } from "../../ui";
import type { TabProps } from "./index";

export function Raw({ session }: TabProps) {
  return <Empty title="This tab is not there yet." command={"firn cat --view disk --json " + session.id} />;
}
