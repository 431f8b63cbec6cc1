// Problem shows an error with its hint.
import type { ComponentChildren } from "preact";
import type { Problem as Err } from "../api";
import { sentence } from "../format";

interface Props {
  error: Err;
  retry?: () => void;
  // children are additional actions.
  children?: ComponentChildren;
}

export function Problem({ error, retry, children }: Props) {
  // Retrying does not help if permission is missing.
  const again = error.status !== 403 ? retry : undefined;
  return (
    <div class="problem" role="alert">
      <p class="problem-title">{sentence(error.message)}</p>
      {error.hint && <p>{sentence(error.hint)}</p>}
      <p class="problem-foot">
        {children}
        {again && (
          <button type="button" class="button" onClick={again}>
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
