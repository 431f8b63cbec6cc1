import { Empty } from "../ui";

export function Live() {
  return (
    <div class="page">
      <h1>Live</h1>
      <Empty title="This page is not there yet." command="firn ls --live">
        The command line has it: all running turns.
      </Empty>
    </div>
  );
}
