// Problem says what went wrong, and what to do.
import type { Problem as Err } from "../api";

export function Problem({ error, retry }: { error: Err; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{sentence(error.message)}</p>
      {error.hint && <p>{sentence(error.hint)}</p>}
      <p class="problem-foot">
        {retry && (
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        )}
        <span class="faint">
          {error.kind}
          {error.request && ` · request ${error.request}`}
        </span>
      </p>
    </div>
  );
}

function sentence(s: string): string {
  return s.charAt(0).toUpperCase() + s.slice(1) + (/[.!?)]$/.test(s) || s.includes("firn ") ? "" : ".");
}
