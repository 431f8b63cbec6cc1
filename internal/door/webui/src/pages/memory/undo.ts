// The way back from a change of notes.
import { post } from "../../api";
import { asQuery, type Place } from "./place";

// undoPath is where a change is taken back.
export const undoPath = (change: string) => `/v1/memory/changes/${encodeURIComponent(change)}/undo`;

// takeBack undoes a change of notes when it is called.
export function takeBack(place: Place, change: string | undefined, changed: () => void): (() => Promise<void>) | undefined {
  if (!change) return undefined;
  return async () => {
    await post(undoPath(change), {}, { query: asQuery(place) });
    changed();
  };
}
