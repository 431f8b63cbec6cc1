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

// logins counts how often drafts were forgotten here.
let logins = 0;

// Draft is what is written in one session and not sent yet. It is of who was logged in
// when it was made: once drafts were forgotten it keeps nothing more, so a message
// that was on its way then does not come back to whoever is next.
export class Draft {
  private readonly login = logins;

  constructor(private readonly session: string) {}

  read(): string {
    try {
      return sessionStorage.getItem(prefix + this.session) ?? "";
    } catch {
      return ""; // The browser keeps nothing.
    }
  }

  keep(text: string): void {
    if (this.login !== logins) return;
    try {
      if (text) sessionStorage.setItem(prefix + this.session, text);
      else sessionStorage.removeItem(prefix + this.session);
    } catch {
      // No room: it holds until the page is closed.
    }
  }
}

// forgetDrafts clears the drafts of all sessions, in all tabs.
export function forgetDrafts(): void {
  clear();
  others?.postMessage("forget");
}

function clear(): void {
  logins++;
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(prefix)) sessionStorage.removeItem(name);
  } catch {
    // Then nothing is kept.
  }
}
