// Runs the Claude Agent SDK with a store in a gateway, for the Go tests.
//
//   node claude-run.mjs CWD [SESSION]
//
// Every line on standard input is a question; every line on standard output is {"session", "answer"}
// or {"error"}. With a session, the first question resumes it.
import { createInterface } from "node:readline";
import { query } from "@anthropic-ai/claude-agent-sdk";
import { FirnSessionStore } from "firn-adapters/claude-agent-sdk";

const [cwd, resumed] = process.argv.slice(2);
const print = (reply) => process.stdout.write(`${JSON.stringify(reply)}\n`);
console.log = console.info = console.warn = console.error;

const sessionStore = new FirnSessionStore();
let resume = resumed;
for await (const line of createInterface({ input: process.stdin })) {
	try {
		const reply = {};
		for await (const message of query({ prompt: JSON.parse(line).say, options: { cwd, resume, sessionStore, sessionStoreFlush: "eager", env: process.env, settingSources: [] } })) {
			if (message.type === "system" && message.subtype === "mirror_error") reply.error = JSON.stringify(message);
			if (message.type === "result") Object.assign(reply, { session: message.session_id, answer: message.result });
		}
		resume = reply.session;
		print(reply);
	} catch (error) {
		print({ error: String(error?.stack ?? error) });
	}
}
