// How pages look: the color scheme, the contrast and the density. auto follows the system.
import { effect, signal, type Signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";
export type Contrast = "auto" | "more";
export type Density = "comfortable" | "compact";

// remembered returns a signal with the stored value of a choice. The first one is the default.
function remembered<T extends string>(name: string, ...choices: T[]): Signal<T> {
  let value = choices[0]!;
  try {
    value = choices.find((c) => c === localStorage.getItem("firn." + name)) ?? value;
  } catch {
    // Without storage, a choice lasts until the page is closed.
  }
  return signal(value);
}

export const theme = remembered<Theme>("theme", "auto", "light", "dark");
export const contrast = remembered<Contrast>("contrast", "auto", "more");
export const density = remembered<Density>("density", "comfortable", "compact");

const wanted = matchMedia("(prefers-contrast: more)");
const systemContrast = signal(wanted.matches);

// show sets an attribute of the document, and stores the choice it is made of.
function show(name: string, choice: string, shown = choice): void {
  document.documentElement.dataset[name] = shown;
  try {
    localStorage.setItem("firn." + name, choice);
  } catch {
    // See remembered.
  }
}

export function startTheme(): void {
  wanted.addEventListener("change", () => (systemContrast.value = wanted.matches));
  effect(() => show("theme", theme.value));
  effect(() => show("contrast", contrast.value, systemContrast.value ? "more" : contrast.value));
  effect(() => show("density", density.value));
}

export function nextTheme(): void {
  theme.value = theme.value === "auto" ? "light" : theme.value === "light" ? "dark" : "auto";
}

export function switchContrast(): void {
  contrast.value = contrast.value === "more" ? "auto" : "more";
}

export function switchDensity(): void {
  density.value = density.value === "compact" ? "comfortable" : "compact";
}
