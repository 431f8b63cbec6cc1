// The slash commands of the composer, with the names and effects of those of the terminal.
import { patch, post, sessionPath } from "../../api";
import { newSession } from "../../palette";
import { go, toSession } from "../../router";
import { attempt, notify } from "../../ui";
import type { Session } from "../../wire";
import { change } from "./order";
import type { Talk } from "./talk";

export interface Slash {
  name: string;
  args: string;
  help: string;
  // run runs the command. rest is the text after the name.
  run: (talk: Talk, rest: string) => unknown;
}

const setting = (name: "thinking" | "verbose" | "send") => async (talk: Talk, rest: string) => {
  const done = await attempt(() => patch<Session>(sessionPath(talk.id), { [name]: rest || "default" }));
  if (done) notify(`${name} is ${rest || "the default"}`);
  talk.watch.soon();
};

export const slashes: Slash[] = [
  { name: "help", args: "", help: "list the commands", run: (talk) => talk.write("/") },
  { name: "new", args: "", help: "start a new session; the old one is kept", run: () => newSession() },
  { name: "sessions", args: "", help: "list the latest sessions", run: () => go("/sessions") },
  { name: "agent", args: "[NAME]", help: "choose the agent that answers", run: (talk, rest) => (rest ? (talk.agent.value = rest) : (talk.asking.value = { what: "agent" })) },
  { name: "model", args: "[NAME]", help: "choose the model of this session", run: (talk, rest) => (rest ? talk.chooseModel(rest) : (talk.asking.value = { what: "model" })) },
  { name: "think", args: "[LEVEL]", help: "choose the thinking level for this session", run: setting("thinking") },
  { name: "verbose", args: "on|off", help: "choose how much detail is shown", run: setting("verbose") },
  { name: "send", args: "on|off|inherit", help: "choose whether answers are delivered to the channel", run: (talk, rest) => setting("send")(talk, { on: "allow", off: "deny" }[rest] ?? rest) },
  { name: "rename", args: "TITLE", help: "rename this session", run: (talk, rest) => change(talk.watch, { title: rest }, { title: talk.watch.session.peek()?.title ?? "" }, "Renamed") },
  { name: "delete", args: "", help: "hide this session; nothing is erased", run: (talk) => change(talk.watch, { hidden: true }, { hidden: false }, "Hidden; nothing was erased") },
  { name: "retry", args: "", help: "answer the last message again", run: (talk) => talk.retryLast() },
  { name: "rewind", args: "[N]", help: "go back N turns (1)", run: (talk, rest) => (/^([1-9]\d{0,5})?$/.test(rest) ? talk.rewindBy(Number(rest || 1)) : notify("Give the number of turns: /rewind 2")) },
  { name: "fork", args: "", help: "continue in a new session, from here", run: (talk) => talk.fork() },
  { name: "tree", args: "", help: "draw the branches of this session", run: (talk) => go(toSession(talk.id, "tree")) },
  { name: "pin", args: "", help: "keep your last message in every summary", run: (talk) => talk.pinLast() },
  { name: "compact", args: "[HINT]", help: "summarize everything but the latest messages", run: (talk, rest) => attempt(() => post(sessionPath(talk.id, "compactions"), rest ? { hint: rest } : {})) },
  { name: "window", args: "", help: "show what is sent to the model, what is not, and why", run: (talk) => go(toSession(talk.id, "window")) },
  { name: "usage", args: "", help: "show the token usage of this session", run: (talk) => go(toSession(talk.id, "usage")) },
  { name: "search", args: "WORDS", help: "search notes and messages", run: (_, rest) => go("/search?q=" + encodeURIComponent(rest)) },
  { name: "memory", args: "[WORDS]", help: "list notes", run: () => go("/memory") },
  { name: "stop", args: "", help: "stop the running answer", run: (talk) => talk.stop() },
];

const aliases: Record<string, string> = { "?": "help", ls: "sessions", thinking: "think", clear: "new" };

// slashesFor returns the commands that a text may become while its name is typed.
export function slashesFor(text: string): Slash[] {
  const typed = /^\/([a-z?]*)$/.exec(text)?.[1];
  if (typed === undefined) return [];
  return slashes.filter((c) => c.name.startsWith(typed) || aliases[typed] === c.name);
}

// slashOf returns the command of a text and the rest, undefined if it is a message, or an error.
// Two slashes begin a message with one.
export function slashOf(text: string): { command: Slash; rest: string } | string | undefined {
  const m = /^\/(?!\/)(\S*)\s*([^]*)$/.exec(text);
  if (!m) return undefined;
  const name = aliases[m[1]!] ?? m[1]!;
  const rest = m[2]!.trim();
  const command = slashes.find((c) => c.name === name);
  if (!command) return `unknown command /${name}`;
  if (!rest && command.args && !command.args.startsWith("[")) return `/${name} needs an argument: /${name} ${command.args}`;
  return { command, rest };
}
