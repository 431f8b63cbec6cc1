import { Empty } from "../ui";

export function Usage() {
  return (
    <div class="page">
      <h1>Usage</h1>
      <Empty title="This page is not there yet." command="firn usage --by day">
        The command line has it: tokens and cost by day, model and agent.
      </Empty>
    </div>
  );
}
