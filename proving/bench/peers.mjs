// Lets a neighbour do one piece of work in a process that has just begun, for
// firn's bench, and prints how long that took and the most memory it had.
//
//   node peers.mjs <node_modules> <work> <arguments…>
//
// What the work is held against is in peers.go.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// What the neighbours may have to say is not part of the answer.
console.log = console.info = console.warn = console.error;

const [modules, work, ...args] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(modules, path)));
const pi = async () => (await load("pi/dist/core/session-manager.js")).SessionManager;
const claude = () => load("@anthropic-ai/claude-agent-sdk/sdk.mjs");

const user = (text) => ({ role: "user", content: [{ type: "text", text }], timestamp: Date.now() });
const assistant = (text) => ({
	role: "assistant", content: [{ type: "text", text }], api: "x", provider: "x", model: "x", stopReason: "stop", timestamp: Date.now(),
	usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } },
});

// Each loads what it needs, and returns the work itself, which returns a count.
const works = {
	async "pi-append"(n) {
		const manager = (await pi()).create("/", mkdtempSync(join(tmpdir(), "pi-")));
		manager.appendMessage(user("begin"));
		manager.appendMessage(assistant("begun")); // from here on it writes
		const text = "lorem ipsum ".repeat(13);
		return () => {
			for (let i = 0; i < Number(n); i++) manager.appendMessage(user(text));
			return Number(n);
		};
	},
	async "pi-open"(file) {
		const Manager = await pi();
		const { convertToLlm } = await load("pi/dist/core/messages.js");
		return () => convertToLlm(Manager.open(file).buildSessionContext().messages).length;
	},
	async "pi-list"(cwd, dir) {
		const Manager = await pi();
		return async () => (await Manager.list(cwd, dir)).length;
	},
	async "pi-fork"(file) {
		const Manager = await pi();
		const dir = mkdtempSync(join(tmpdir(), "pi-"));
		return () => Manager.forkFrom(file, "/", dir).getEntries().length;
	},
	async "claude-open"(session, dir) {
		const { getSessionMessages } = await claude();
		return async () => (await getSessionMessages(session, { dir })).length;
	},
	async "claude-list"(dir) {
		const { listSessions } = await claude();
		return async () => (await listSessions({ dir })).length;
	},
	async "claude-fork"(session, dir) {
		const { forkSession } = await claude();
		return async () => (await forkSession(session, { dir })).sessionId.length;
	},
};

const run = await works[work](...args);
const start = performance.now();
const count = await run();
const time = Math.round((performance.now() - start) * 1e6);
process.stdout.write(`${JSON.stringify({ Time: time, Count: count, Peak: process.resourceUsage().maxRSS / 1024 })}\n`);
process.exit(0);
