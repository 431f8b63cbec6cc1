// The tokens section. A secret is shown only once, when it is created.
import { useState } from "preact/hooks";
import { del, post, useGet } from "../../api";
import { shell } from "../../format";
import { attempt, copy, CopyCLI, Dialog, Icon, Problem, notify, Time } from "../../ui";
import type { Created, NewToken, Page, Scope, Token } from "../../wire";
import { Section } from "../parts";

const scopes: [Scope, string][] = [
  ["read", "read: read sessions, listen to events"],
  ["write", "write: send messages, make changes that can be undone"],
  ["admin", "admin: erase permanently, create tokens"],
  ["hook", "hook: only call the hooks that name the token"],
];

const lives: [days: number, name: string][] = [
  [0, "never"],
  [1, "after a day"],
  [30, "after 30 days"],
  [90, "after 90 days"],
  [365, "after a year"],
];

export function Tokens() {
  const tokens = useGet<Page<Token>>("/v1/tokens");
  const [making, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<Token>();
  const [old, setOld] = useState(false);
  if (tokens.error) return <Problem error={tokens.error} retry={tokens.reload} />;
  const all = tokens.data?.items ?? [];
  const good = all.filter((t) => !over(t));
  const shown = old ? all : good;
  return (
    <Section
      title="Tokens"
      note={
        all.length > good.length && (
          <label class="check">
            <input type="checkbox" checked={old} onChange={() => setOld(!old)} /> show {all.length - good.length} expired or revoked
          </label>
        )
      }
      actions={
        <>
          <button type="button" class="button" onClick={() => setMaking(true)}>
            <Icon name="plus" /> Create
          </button>
          <CopyCLI small command="firn token ls" />
        </>
      }
    >
      {tokens.data && shown.length === 0 && <p class="muted">No tokens. TCP clients need one; the owner on the Unix socket does not.</p>}
      {shown.length > 0 && (
        <table class="table stacks">
          <thead>
            <tr>
              <th>Name</th>
              <th>Scope</th>
              <th>Limited to</th>
              <th class="num">Created</th>
              <th class="num">Last used</th>
              <th class="num">Expires</th>
              <th class="cell-acts"><span class="sr">Actions</span></th>
            </tr>
          </thead>
          <tbody>
            {shown.map((t) => (
              <Row key={t.id} token={t} revoke={() => setRevoking(t)} />
            ))}
          </tbody>
        </table>
      )}
      {making && <Create close={() => setMaking(false)} made={tokens.reload} />}
      {revoking && (
        <Revoke
          token={revoking}
          close={() => setRevoking(undefined)}
          done={() => {
            setRevoking(undefined);
            tokens.reload();
          }}
        />
      )}
    </Section>
  );
}

function over(t: Token): boolean {
  return !!t.revoked || (!!t.expires && new Date(t.expires).getTime() < Date.now());
}

function Row({ token: t, revoke }: { token: Token; revoke: () => void }) {
  return (
    <tr data-row={t.id}>
      <td class="cell-name" title={t.id}>
        {t.name} {t.revoked && <span class="chip">revoked</span>}
      </td>
      <td>{t.scope}</td>
      <td class="mono" data-label="limited to">{[...(t.agents ?? []), ...(t.keys ?? [])].join(", ")}</td>
      <td class="num" data-label="created">
        <Time at={t.created} />
      </td>
      <td class="num" data-label="used">{t.used ? <Time at={t.used} /> : <span class="faint">never</span>}</td>
      <td class="num" data-label="expires">{t.expires ? t.expires.slice(0, 10) : <span class="faint">never</span>}</td>
      <td class="cell-acts">
        {!over(t) && (
          <>
            <button type="button" class="button quiet" aria-label={`Revoke ${t.name}`} onClick={revoke}>
              Revoke
            </button>
            <CopyCLI small command={`firn token revoke ${shell(t.id)}`} />
          </>
        )}
      </td>
    </tr>
  );
}

// Revoke asks for confirmation: revoking cannot be undone.
function Revoke({ token: t, close, done }: { token: Token; close: () => void; done: () => void }) {
  const run = async () => {
    if (!(await attempt(() => del<Token>(`/v1/tokens/${encodeURIComponent(t.id)}`)))) return;
    done();
    notify(`Revoked ${t.name}`);
  };
  return (
    <Dialog
      title={`Revoke ${t.name}?`}
      close={close}
      submit={() => void run()}
      actions={
        <>
          <CopyCLI small command={`firn token revoke ${shell(t.id)}`} />
          <button type="submit" class="button danger">
            Revoke
          </button>
        </>
      }
    >
      <p>Clients that use this token are disconnected at once. This cannot be undone.</p>
    </Dialog>
  );
}

const names = (text: string) => text.split(/[\s,]+/).filter(Boolean);

function Create({ close, made }: { close: () => void; made: () => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("read");
  const [days, setDays] = useState(90);
  const [agents, setAgents] = useState("");
  const [keys, setKeys] = useState("");
  const [secret, setSecret] = useState("");
  const create = async () => {
    if (secret) return close();
    const order: NewToken = { name: name.trim(), scope, agents: names(agents), keys: names(keys) };
    if (days) order.expires = new Date(Date.now() + days * 86_400_000).toISOString();
    const done = await attempt(() => post<Created>("/v1/tokens", order));
    if (!done) return;
    made();
    setSecret(done.secret);
  };
  const bound = [...names(agents).map((a) => `--agent ${shell(a)}`), ...names(keys).map((k) => `--key ${shell(k)}`)];
  const command = ["firn token create", shell(name || "NAME"), "--scope", scope, ...(days ? [`--expires ${days}d`] : []), ...bound].join(" ");
  if (secret) {
    return (
      <Dialog
        key="secret"
        title={`Secret of ${name}`}
        close={close}
        submit={close}
        actions={
          <button type="submit" class="button primary">
            Done
          </button>
        }
      >
        <p class="field">Copy the secret now: it is shown only once.</p>
        <p class="secret">
          <code>{secret}</code>
          <button type="button" class="button" onClick={() => void copy(secret, "the secret")}>
            <Icon name="copy" /> Copy
          </button>
        </p>
      </Dialog>
    );
  }
  return (
    <Dialog
      title="Create a token"
      close={close}
      submit={() => void create()}
      actions={
        <>
          <CopyCLI small command={command} />
          <button type="submit" class="button primary" disabled={!name.trim()}>
            Create
          </button>
        </>
      }
    >
      <label class="field">
        <span>Name</span>
        <input class="input" autoFocus value={name} onInput={(e) => setName(e.currentTarget.value)} />
      </label>
      <label class="field">
        <span>Scope</span>
        <select class="select" value={scope} onChange={(e) => setScope(e.currentTarget.value as Scope)}>
          {scopes.map(([s, what]) => (
            <option key={s} value={s}>
              {what}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Expires</span>
        <select class="select" value={String(days)} onChange={(e) => setDays(Number(e.currentTarget.value))}>
          {lives.map(([d, what]) => (
            <option key={d} value={String(d)}>
              {what}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Agents (empty: all)</span>
        <input class="input" value={agents} placeholder="main, research" onInput={(e) => setAgents(e.currentTarget.value)} />
      </label>
      <label class="field">
        <span>Key prefixes (empty: all)</span>
        <input class="input" value={keys} placeholder="agent:main:telegram:" onInput={(e) => setKeys(e.currentTarget.value)} />
      </label>
    </Dialog>
  );
}
