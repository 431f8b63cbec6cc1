// The theme: light, dark, or the system's.
import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const kept = "firn.theme";

function remembered(): Theme {
  try {
    const t = localStorage.getItem(kept);
    return t === "light" || t === "dark" ? t : "auto";
  } catch {
    return "auto";
  }
}

export const theme = signal<Theme>(remembered());

export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset["theme"] = theme.value;
    try {
      localStorage.setItem(kept, theme.value);
    } catch {
      // Without storage, the theme lasts until the page is closed.
    }
  });
}

export function nextTheme(): void {
  theme.value = theme.value === "auto" ? "light" : theme.value === "light" ? "dark" : "auto";
}
