// The logged-in user and their permissions.
import { signal } from "@preact/signals";
import { get, onUnauthorized, post, Problem } from "./api";
import { forgetDrafts } from "./drafts";
import type { Me, Status } from "./wire";

// me is undefined until it is known, and null if not logged in.
export const me = signal<Me | null | undefined>(undefined);

// down is the error of the login check.
export const down = signal<unknown>(undefined);

export async function loadMe(): Promise<void> {
  onUnauthorized(() => (me.value = null));
  try {
    me.value = await get<Me>("/v1/me");
    down.value = undefined;
  } catch (err) {
    if (err instanceof Problem && err.status === 401) me.value = null;
    else down.value = err;
  }
}

export async function login(by: { code?: string; token?: string }): Promise<void> {
  me.value = await post<Me>("/v1/login", by);
}

export async function logout(): Promise<void> {
  await post("/v1/logout");
  forgetDrafts();
  asked = undefined; // the next user may not see it
  me.value = null;
}

// mayWrite reports whether the user may make changes.
export function mayWrite(): boolean {
  return me.value?.scope === "write" || me.value?.scope === "admin";
}

export function mayAdmin(): boolean {
  return me.value?.scope === "admin";
}

// bound reports whether the login is limited to agents or keys.
export function bound(): boolean {
  return !!me.value?.agents?.length || !!me.value?.keys?.length;
}

let asked: Promise<string> | undefined;

// home returns the directory for --home in commands, or an empty string for the default. It is
// fetched once, on demand.
export function home(): Promise<string> {
  if (bound()) return Promise.resolve("");
  asked ??= get<Status>("/v1/status").then(
    (s) => (!s.home || /^(\/home\/[^/]+|\/Users\/[^/]+|\/root|[A-Z]:\\Users\\[^\\]+)[/\\]\.firn$/.test(s.home) ? "" : s.home),
    () => {
      asked = undefined;
      return "";
    },
  );
  return asked;
}
