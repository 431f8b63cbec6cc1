// Problem shows an error with its hint and a way on. If the gateway did not answer, it tries again
// when it does.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Problem as Err } from "../api";
import { sentence } from "../format";
import { lost } from "../lost";
import { path } from "../router";
import { Icon } from "./Icon";

interface Props {
  error: Err;
  retry?: () => void;
  // children are additional actions.
  children?: ComponentChildren;
}

export function Problem({ error, retry, children }: Props) {
  // Retrying does not help if permission is missing.
  const denied = error.status === 403;
  const again = denied ? undefined : retry;
  const gone = lost.value;
  const was = useRef(gone);
  useEffect(() => {
    if (was.current && !gone && error.kind === "unreachable") again?.();
    was.current = gone;
  }, [gone]);
  return (
    <div class="problem" role="alert">
      <p class="problem-title">
        <Icon name="alert" />
        {sentence(error.message)}
      </p>
      {error.hint && <p>{sentence(error.hint)}</p>}
      <p class="problem-foot">
        {children}
        {again && (
          <button type="button" class="button" onClick={again}>
            Try again
          </button>
        )}
        {!children && <Back denied={denied} />}
        <span class="faint">
          {error.kind}
          {error.request && ` · request ${error.request}`}
        </span>
      </p>
    </div>
  );
}

// Back leads to the sessions, or from there to another login if this one may not see them.
function Back({ denied }: { denied: boolean }) {
  if (path.value === "/login") return null;
  if (path.value !== "/sessions" && path.value !== "/") return <a href="/sessions">All sessions</a>;
  return denied ? <a href="/login">Log in again</a> : null;
}
