// Reads the sessions of a Claude Code home with its SDK for the Go tests.
//
//   node claude.mjs
//
// The home is that of CLAUDE_CONFIG_DIR. Every line on standard input is a
// request, every line on standard output its answer, both JSON. A request is
// one of
//
//   {"list": directory}
//   {"read": session, "dir": directory}
//
// The answer to the first are the sessions that belong to a directory; to the
// second, what is known of a session and its messages.
import { createInterface } from "node:readline";
import { getSessionInfo, getSessionMessages, listSessions } from "@anthropic-ai/claude-agent-sdk";

// What the SDK may have to say is not part of an answer.
console.log = console.info = console.warn = console.error;

async function answer({ list, read, dir }) {
	if (list) return { sessions: await listSessions({ dir: list }) };
	return { info: await getSessionInfo(read, { dir }), messages: await getSessionMessages(read, { dir }) };
}

for await (const line of createInterface({ input: process.stdin })) {
	let reply;
	try {
		reply = await answer(JSON.parse(line));
	} catch (error) {
		reply = { error: String(error?.message ?? error) };
	}
	process.stdout.write(`${JSON.stringify(reply)}\n`);
}
