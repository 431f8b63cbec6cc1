// NavItem is a page in the navigation.
import { bound } from "./me";
import { path } from "./router";
import type { IconName } from "./ui";

export interface NavItem {
  path: string;
  name: string;
  icon: IconName;
  key: string;
  // whole marks pages about all sessions, which are hidden from bound logins.
  whole?: boolean;
}

const allNavItems: NavItem[] = [
  { path: "/sessions", name: "Sessions", icon: "sessions", key: "g s" },
  { path: "/live", name: "Live", icon: "live", key: "g l" },
  { path: "/search", name: "Search", icon: "search", key: "g f" },
  { path: "/memory", name: "Memory", icon: "memory", key: "g m" },
  { path: "/usage", name: "Usage", icon: "usage", key: "g u", whole: true },
  { path: "/keys", name: "Keys", icon: "keys", key: "g k" },
  { path: "/sources", name: "Sources", icon: "sources", key: "g c", whole: true },
  { path: "/ops", name: "Ops", icon: "ops", key: "g o", whole: true },
  { path: "/settings", name: "Settings", icon: "settings", key: "g ," },
];

// navItems returns the pages that the login may see.
export function navItems(): NavItem[] {
  return allNavItems.filter((r) => !r.whole || !bound());
}

// closed reports whether the login may not see a page.
export function closed(at: string): boolean {
  return bound() && allNavItems.some((r) => r.whole && (at === r.path || at.startsWith(r.path + "/")));
}

// within reports whether the current page is the item's page or below it.
export function within(room: NavItem): boolean {
  return path.value === room.path || path.value.startsWith(room.path + "/") || (room.path === "/sessions" && path.value === "/");
}
