import { useGet } from "../api";
import { toSession } from "../router";
import { Problem } from "../ui";
import type { Page, Session } from "../wire";

export function Sessions() {
  const list = useGet<Page<Session>>("/v1/sessions", { limit: 100 });
  return (
    <div class="page">
      <h1>Sessions</h1>
      {list.error && <Problem error={list.error} retry={list.reload} />}
      <ul>
        {list.data?.items?.map((s) => (
          <li key={s.id}>
            <a href={toSession(s.id)}>{s.title || s.prompt || s.id}</a>
          </li>
        ))}
      </ul>
    </div>
  );
}
