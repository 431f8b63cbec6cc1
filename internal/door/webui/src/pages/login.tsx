// Login logs a browser in. A code is in the URL fragment, which servers never see, and is removed
// before it is used. A logged-in user is asked first, because a link could switch the user
// unnoticed.
import { effect } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { asProblem, type Problem as Err } from "../api";
import { down, login, me } from "../me";
import { go, place } from "../router";
import { CopyCLI, Problem } from "../ui";

// back returns the page to open after the login.
function back(): string {
  return place.peek().path === "/login" ? "/sessions" : place.peek().path + location.search;
}

// Distinguishes a login code from a token by its form; the gateway validates it.
function meant(word: string): { code?: string; token?: string } {
  const s = word.trim();
  const address = /^https?:\/\/\S*#(\S+)$/.exec(s);
  if (address) return { code: address[1] };
  return s.startsWith("firn_") || s.startsWith("firn-") ? { token: s } : { code: s };
}

// loginKnown resolves when the login state is known.
function loginKnown(): Promise<void> {
  return new Promise((done) => {
    const stop = effect(() => {
      if (me.value !== undefined || down.value !== undefined) queueMicrotask(() => (stop(), done()));
    });
  });
}

export function Login() {
  const [word, setWord] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Err>();
  const [waiting, setWaiting] = useState(""); // a code that needs confirmation

  const enter = async (by: { code?: string; token?: string }) => {
    setBusy(true);
    setError(undefined);
    setWaiting("");
    try {
      const to = back();
      await login(by);
      go(to, { replace: true });
    } catch (err) {
      setError(asProblem(err));
    } finally {
      setBusy(false);
    }
  };

  useEffect(() => {
    document.title = "Log in · firn";
    const take = () => {
      const code = location.pathname === "/login" ? location.hash.slice(1) : "";
      if (!code) return;
      history.replaceState(null, "", "/login");
      place.value = { path: "/login", query: new URLSearchParams(), hash: "" };
      setBusy(true);
      void loginKnown().then(() => {
        if (!me.peek()) return enter({ code });
        setBusy(false);
        setWaiting(code);
      });
    };
    take();
    // A login URL opened in a tab that already shows this page.
    addEventListener("hashchange", take);
    return () => removeEventListener("hashchange", take);
  }, []);

  return (
    <main class="login">
      <h1 class="brand">firn</h1>
      {busy ? (
        <p role="status">Logging in…</p>
      ) : waiting && me.value ? (
        <SwitchLogin login={() => void enter({ code: waiting })} />
      ) : (
        <>
          <p>To log in, run this on the gateway's machine:</p>
          <CopyCLI command="firn open" />
          <form
            class="login-form"
            onSubmit={(e) => {
              e.preventDefault();
              if (word.trim()) void enter(meant(word));
            }}
          >
            <label for="word">Or paste a code from `firn open --print`, or a token</label>
            <input
              id="word"
              type="password"
              autocomplete="off"
              spellcheck={false}
              value={word}
              onInput={(e) => setWord(e.currentTarget.value)}
            />
            <button type="submit" class="button primary" disabled={!word.trim()}>
              Log in
            </button>
          </form>
        </>
      )}
      {error && <Problem error={error} />}
    </main>
  );
}

// SwitchLogin asks a logged-in user for confirmation.
function SwitchLogin({ login }: { login: () => void }) {
  return (
    <>
      <p>
        You are logged in as {me.value?.name} ({me.value?.scope}). The link you followed logs this browser in as another user,
        who may have fewer permissions and can see what you do. Continue only if you trust the link.
      </p>
      <button type="button" class="button primary" onClick={() => go("/sessions", { replace: true })}>
        Stay logged in
      </button>
      <button type="button" class="button" onClick={login}>
        Switch login
      </button>
    </>
  );
}
