// Layout is the frame of every page: navigation, user menu and global shortcuts. On phones the
// navigation is at the bottom.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count } from "./format";
import { useKeys } from "./keys";
import { lost } from "./lost";
import { logout, me } from "./me";
import { Help } from "./help";
import { Palette } from "./palette";
import { go, path } from "./router";
import { navItems, within, type NavItem } from "./nav";
import { running, loadRunning } from "./running";
import { contrast, density, nextTheme, switchContrast, switchDensity, theme } from "./theme";
import { attempt, endToasts, Icon, Menu } from "./ui";
import { Recent } from "./recent";

// The open overlay.
export const over = signal<"" | "palette" | "help">("");

export function Layout({ children }: { children: ComponentChildren }) {
  useKeys("Global", [
    { key: "mod+k", does: "Command palette", typing: true, run: () => (over.value = over.value === "palette" ? "" : "palette") },
    { key: "?", does: "Keyboard shortcuts", run: () => (over.value = "help") },
    { key: "t", does: "Switch theme", run: nextTheme },
    ...navItems().map((r) => ({ key: r.key, does: r.name, run: () => go(r.path) })),
  ]);
  // The next Tab starts at the page that was opened.
  const first = useRef(path.value);
  useEffect(() => {
    if (path.value !== first.current && document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true });
    first.current = "";
  }, [path.value]);
  // Pages without a stream poll for running turns.
  useEffect(() => {
    void loadRunning();
  }, [path.value]);
  useEffect(() => {
    const t = setInterval(() => !document.hidden && void loadRunning(), lost.value ? 2_000 : 15_000);
    return () => clearInterval(t);
  }, [path.value, lost.value]);
  useEffect(() => {
    if (!lost.value) endToasts("unreachable");
  }, [lost.value]);
  return (
    <div class={"frame" + (lost.value ? " lost" : "")}>
      <p class="lost-bar" role="status">
        {lost.value && "Connection lost. Reconnecting…"}
      </p>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), document.getElementById("main")?.focus())}>
        Skip to content
      </a>
      <Side />
      <main id="main" class="main" tabIndex={-1}>
        {children}
      </main>
      <Bottom />
      {over.value === "palette" && <Palette close={() => (over.value = "")} />}
      {over.value === "help" && <Help close={() => (over.value = "")} />}
    </div>
  );
}

function NavLink({ room }: { room: NavItem }) {
  const here = within(room);
  return (
    <a class="room" href={room.path} aria-current={here ? "page" : undefined}>
      <Icon name={room.icon} />
      <span class="room-name">{room.name}</span>
      {room.path === "/live" && running.value.size > 0 && <span class="room-count">{count(running.value.size)}</span>}
    </a>
  );
}

function Side() {
  return (
    <nav class="side" aria-label="Pages">
      <div class="side-head">
        <a class="brand" href="/sessions">
          firn
        </a>
      </div>
      <button type="button" class="jump" onClick={() => (over.value = "palette")}>
        <span>Go to…</span>
        <kbd>{navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      {navItems().map((r) => (
        <NavLink key={r.path} room={r} />
      ))}
      {!within(navItems()[0]!) || path.value.startsWith("/sessions/") ? <Recent /> : null}
      <div class="side-foot">
        <Menu label={`${me.value?.name || "you"} ${scopeWord()}`} class="who" up items={youItems()}>
          <span class="who-name">{me.value?.name || "you"}</span> <span class="faint">{scopeWord()}</span>
        </Menu>
        <button type="button" class="icon-button" aria-label={`Theme: ${theme.value}`} title={`Theme: ${theme.value}`} onClick={nextTheme}>
          <Icon name="theme" />
        </button>
        <button type="button" class="icon-button" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => (over.value = "help")}>
          <Icon name="help" />
        </button>
      </div>
    </nav>
  );
}

function scopeWord(): string {
  return me.value?.scope === "read" ? "read-only" : (me.value?.scope ?? "");
}

function youItems() {
  return [
    ...(["auto", "light", "dark"] as const).map((t) => ({
      label: t === "auto" ? "System" : t === "light" ? "Light" : "Dark",
      checked: theme.value === t,
      run: () => (theme.value = t),
    })),
    "-" as const,
    { label: "High contrast", checked: contrast.value === "more", toggle: true, run: switchContrast },
    { label: "Compact", checked: density.value === "compact", toggle: true, run: switchDensity },
    "-" as const,
    { label: "Settings", href: "/settings" },
    { label: "Log out", run: () => void attempt(logout) },
  ];
}

function Bottom() {
  return (
    <nav class="bottom" aria-label="Pages (mobile)">
      {navItems().slice(0, 4).map((r) => (
        <NavLink key={r.path} room={r} />
      ))}
      <Menu
        label="More"
        class={"room" + (navItems().slice(4).some(within) ? " on" : "")}
        align="end"
        up
        items={[
          { label: "Go to…", run: () => (over.value = "palette") },
          "-",
          ...navItems().slice(4).map((r) => ({ label: r.name, href: r.path })),
          "-",
          ...youItems(),
        ]}
      >
        <Icon name="more" />
        <span class="room-name">More</span>
      </Menu>
    </nav>
  );
}
