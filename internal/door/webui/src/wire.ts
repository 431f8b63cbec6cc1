// The words of the protocol: those of docs/openapi.json, and the few that only
// travel inside events and so are not named there.
import type { Tool } from "./api.gen";
export * from "./api.gen";

// Page is a part of a list; total is -1 where it is not known.
export interface Page<T> {
  items: T[] | null;
  cursor?: string;
  total: number;
}

// Event is what a stream tells; data depends on the name.
export interface Event<D = unknown> {
  name: string;
  session?: string;
  pos?: number;
  data?: D;
}

// Growth is how an answer grows: its blocks of HTML from a place on. Entry is the
// name that it will have in the log; another name begins another answer.
export interface Growth {
  entry?: string;
  thinking?: boolean;
  from: number;
  blocks: string[];
}

// Partial is what has been said of an answer that is being given.
export interface Partial {
  entry?: string;
  text?: string;
  thinking?: string;
  tools?: Tool[];
}

// Notice is a sentence for the user.
export interface Notice {
  text: string;
}

// Missed is what a gap tells: with anew, every position has changed.
export interface Missed {
  anew?: boolean;
}

export type Scope = "hook" | "read" | "write" | "admin";
