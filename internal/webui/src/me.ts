// Who uses the page, and what they may do.
import { signal } from "@preact/signals";
import { get, onUnauthorized, post, Problem } from "./api";
import type { Me } from "./wire";

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
  me.value = null;
}

// mayWrite says whether things that change something are shown at all.
export function mayWrite(): boolean {
  return me.value?.scope === "write" || me.value?.scope === "admin";
}

export function mayAdmin(): boolean {
  return me.value?.scope === "admin";
}
