// Drafts of messages, in session storage: they survive a reload and are deleted at logout.
const prefix = "firn.draft.";

// others notifies the other tabs: a logout clears drafts and reloads all of them.
const others = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("firn.drafts");
if (others) {
  others.onmessage = () => {
    clear();
    location.reload();
  };
}

// logins counts the logouts in this tab.
let logins = 0;

// Draft is the unsent message of a session. After a logout it stores nothing more, so that a
// message in flight does not become a draft of the next user.
export class Draft {
  private readonly login = logins;

  constructor(private readonly session: string) {}

  read(): string {
    try {
      return sessionStorage.getItem(prefix + this.session) ?? "";
    } catch {
      return ""; // Storage is not available.
    }
  }

  keep(text: string): void {
    if (this.login !== logins) return;
    try {
      if (text) sessionStorage.setItem(prefix + this.session, text);
      else sessionStorage.removeItem(prefix + this.session);
    } catch {
      // Storage is full: the draft lasts until the page is closed.
    }
  }
}

// forgetDrafts deletes the drafts of all sessions in all tabs.
export function forgetDrafts(): void {
  clear();
  others?.postMessage("forget");
}

function clear(): void {
  logins++;
  try {
    for (const name of Object.keys(sessionStorage)) if (name.startsWith(prefix)) sessionStorage.removeItem(name);
  } catch {
    // Storage is not available.
  }
}
