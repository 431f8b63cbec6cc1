// Who uses the page, and what they may do.
import { signal } from "@preact/signals";
import { get, onUnauthorized, post, Problem } from "./api";
import { forgetDrafts } from "./drafts";
import type { Me, Status } from "./wire";

// me is undefined until it is known, and null if nobody is logged in.
export const me = signal<Me | null | undefined>(undefined);

// down says why the gateway could not tell who we are.
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
  asked = undefined; // who comes next may not know it
  me.value = null;
}

// mayWrite says whether things that change something are shown at all.
export function mayWrite(): boolean {
  return me.value?.scope === "write" || me.value?.scope === "admin";
}

export function mayAdmin(): boolean {
  return me.value?.scope === "admin";
}

// bound says that the login is good for some agents or keys only.
export function bound(): boolean {
  return !!me.value?.agents?.length || !!me.value?.keys?.length;
}

let asked: Promise<string> | undefined;

// home is the directory that commands must name to mean this gateway; empty if it
// is the usual one. It is asked for once, when somebody is about to want it.
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
