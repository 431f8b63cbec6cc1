// Room is a place of the navigation: a page that one can go to from everywhere.
import { bound } from "./me";
import { path } from "./router";
import type { IconName } from "./ui";

export interface Room {
  path: string;
  name: string;
  icon: IconName;
  key: string;
  // whole says that it tells of all sessions together: who may see only some has
  // no use for it.
  whole?: boolean;
}

const everyRoom: Room[] = [
  { path: "/sessions", name: "Sessions", icon: "sessions", key: "g s" },
  { path: "/live", name: "Live", icon: "live", key: "g l" },
  { path: "/search", name: "Search", icon: "search", key: "g f" },
  { path: "/memory", name: "Memory", icon: "memory", key: "g m" },
  { path: "/usage", name: "Usage", icon: "usage", key: "g u", whole: true },
  { path: "/keys", name: "Keys", icon: "keys", key: "g k" },
  { path: "/sources", name: "Sources", icon: "sources", key: "g c", whole: true },
  { path: "/ops", name: "Ops", icon: "ops", key: "g o", whole: true },
];

// rooms are those that one has a use for.
export function rooms(): Room[] {
  return everyRoom.filter((r) => !r.whole || !bound());
}

// closed says that a page is one of those that one has no use for.
export function closed(at: string): boolean {
  return bound() && everyRoom.some((r) => r.whole && (at === r.path || at.startsWith(r.path + "/")));
}

// within says that one is in a room, or further inside.
export function within(room: Room): boolean {
  return path.value === room.path || path.value.startsWith(room.path + "/") || (room.path === "/sessions" && path.value === "/");
}
