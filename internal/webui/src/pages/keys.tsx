import { Empty } from "../ui";

export function Keys() {
  return (
    <div class="page">
      <h1>Keys</h1>
      <Empty title="This page is not there yet." command="firn keys ls">
        The command line has it: keys and the sessions they point at.
      </Empty>
    </div>
  );
}
