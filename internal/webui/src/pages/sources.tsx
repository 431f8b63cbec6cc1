import { Empty } from "../ui";

export function Sources() {
  return (
    <div class="page">
      <h1>Sources</h1>
      <Empty title="This page is not there yet." command="firn adopt">
        The command line has it: mirrored folders of other tools.
      </Empty>
    </div>
  );
}
