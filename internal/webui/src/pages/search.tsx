import { Empty } from "../ui";

export function Search() {
  return (
    <div class="page">
      <h1>Search</h1>
      <Empty title="This page is not there yet." command="firn search QUERY">
        The command line has it: hits with what was said around them.
      </Empty>
    </div>
  );
}
