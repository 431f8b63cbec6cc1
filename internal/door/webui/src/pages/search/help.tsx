// How to ask: the language of queries, each with an example that can be tried.
import { useGet } from "../../api";
import type { IndexState } from "../../wire";
import { count } from "../../format";

const lines: [example: string, what: string][] = [
  ["flaky lock", "one of the words must be there, the more the better; other forms of a word are found too"],
  ['"connection refused"', "a phrase, word after word"],
  ["migrat*", "words that begin so"],
  ["lock AND test NOT windows", "AND, OR, NOT in capitals, and ( ); -word is NOT word"],
  ["role:user", "said by user, assistant, tool, shell, system, summary, title"],
  ["tool:bash in:all", "calls of a tool; in:tools looks in what tools put out, in:all in both"],
  ["agent:main since:7d", "of an agent, a key:, a source:, a session:; since: and until: a day or how long ago"],
  ["path:src/wal", "begun in a directory, or a call with a file, of that name"],
];

export function Language() {
  return (
    <dl class="language">
      {lines.map(([example, what]) => (
        <div key={example}>
          <dt>
            <a class="mono" href={`/search?q=${encodeURIComponent(example)}`}>
              {example}
            </a>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

// Begin is what is seen before anything was asked.
export function Begin() {
  const index = useGet<IndexState>("/v1/index");
  return (
    <div class="page-body search-begin">
      <p class="muted">
        Search finds what was said in all sessions, also what was compacted away, hidden, or left on another branch.
        {index.data?.building && ` The index is being built: ${count(index.data.done)} of ${count(index.data.total)} sessions.`}
      </p>
      <Language />
    </div>
  );
}
