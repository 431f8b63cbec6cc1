// Undo of changes to notes.
import { post } from "../../api";
import { asQuery, type Place } from "./place";

// undoPath returns the API path that undoes a change.
export const undoPath = (change: string) => `/v1/memory/changes/${encodeURIComponent(change)}/undo`;

// undoChange returns a function that undoes a change of notes.
export function undoChange(place: Place, change: string | undefined, changed: () => void): (() => Promise<void>) | undefined {
  if (!change) return undefined;
  return async () => {
    await post(undoPath(change), {}, { query: asQuery(place) });
    changed();
  };
}
