// What is written and not sent yet. The browser keeps it for as long as the tab is
// open, so that it outlives a reload; whoever logs out takes it along.
const prefix = "firn.draft.";

// others are the tabs of the same browser: to log out in one is to do so in all, and
// what they show goes as well.
const others = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("firn.drafts");
if (others) {
  others.onmessage = () => {
    clear();
    location.reload();
  };
}

export function readDraft(session: string): string {
  try {
    return sessionStorage.getItem(prefix + session) ?? "";
  } catch {
    return ""; // The browser keeps nothing.
  }
}

export function keepDraft(session: string, text: string): void {
  try {
    if (text) sessionStorage.setItem(prefix + session, text);
    else sessionStorage.removeItem(prefix + session);
  } catch {
    // No room: it holds until the page is closed.
  }
}

// forgetDrafts clears the drafts of all sessions, in all tabs.
export function forgetDrafts(): void {
  clear();
  others?.postMessage("forget");
}

function clear(): void {
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(prefix)) sessionStorage.removeItem(name);
  } catch {
    // Then nothing is kept.
  }
}
