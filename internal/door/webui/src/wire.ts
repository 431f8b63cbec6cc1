// Protocol types: those of docs/openapi.json, and those that only occur in events.
import type { Tool } from "./api.gen";
export * from "./api.gen";

// Page is a page of a list; total is -1 if unknown.
export interface Page<T> {
  items: T[] | null;
  cursor?: string;
  total: number;
}

// Event is a stream event; the type of data depends on name.
export interface Event<D = unknown> {
  name: string;
  session?: string;
  pos?: number;
  data?: D;
}

// Growth is an update of a streamed answer: its HTML blocks from index from on. entry is its future
// ID in the log; a new ID starts a new answer.
export interface Growth {
  entry?: string;
  thinking?: boolean;
  from: number;
  blocks: string[];
}

// Partial is the part of a streamed answer received so far.
export interface Partial {
  entry?: string;
  text?: string;
  thinking?: string;
  tools?: Tool[];
}

// Notice is a message for the user.
export interface Notice {
  text: string;
}

// Missed is the data of a gap event. With anew, every position has changed.
export interface Missed {
  anew?: boolean;
}

export type Scope = "hook" | "read" | "write" | "admin";
