import { Empty } from "../ui";

export function Ops() {
  return (
    <div class="page">
      <h1>Ops</h1>
      <Empty title="This page is not there yet." command="firn status">
        The command line has it: health, storage and checks.
      </Empty>
    </div>
  );
}
