// The query syntax, with examples as links.
import { useGet } from "../../api";
import type { IndexState } from "../../wire";
import { count } from "../../format";

const lines: [example: string, what: string][] = [
  ["flaky lock", "any of the words, more matches first; word forms match too"],
  ['"connection refused"', "an exact phrase"],
  ["migrat*", "words with this prefix"],
  ["lock AND test NOT windows", "AND, OR, NOT in capitals, and parentheses; -word means NOT word"],
  ["role:user", "by role: user, assistant, tool, shell, system, summary, title"],
  ["tool:bash in:all", "calls of a tool; in:tools searches tool output, in:all both"],
  ["agent:main since:7d", "by agent:, key:, source: or session:; since: and until: take a date or an age"],
  ["machines:hide", "without jobs, hooks and sub-agents, which otherwise rank lower; machines:only, machines:equal"],
  ["path:src/wal", "sessions started in this directory, or calls with this file"],
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

// SearchStart is shown before the first query.
export function SearchStart() {
  const index = useGet<IndexState>("/v1/index");
  return (
    <div class="page-body search-start">
      <p class="muted">
        Search covers all sessions, including messages that are compacted, hidden or on other branches.
        {index.data?.building && ` The index is being built: ${count(index.data.done)} of ${count(index.data.total)} sessions.`}
      </p>
      <Language />
    </div>
  );
}
