import { Empty } from "../ui";

export function Memory() {
  return (
    <div class="page">
      <h1>Memory</h1>
      <Empty title="This page is not there yet." command="firn memory ls">
        The command line has it: notes and where they come from.
      </Empty>
    </div>
  );
}
