// Drives the session code of an installed pi for the Go tests.
//
//   node pi.mjs <package>
//
// Every line on standard input is a request, every line on standard output its
// answer, both JSON. A request is one of
//
//   {"open": file, "calls": [[method, ...arguments], ...]}
//   {"create": directory, "cwd": cwd, "calls": [...]}
//   {"calls": [...]}
//   {"list": directory, "cwd": cwd}
//
// The first two make a new SessionManager, the third takes the one of the
// request before. All three call methods on it in order, and answer with what
// each returned and what the manager then holds.
import { createInterface } from "node:readline";

// What pi may have to say is not part of an answer.
console.log = console.info = console.warn = console.error;

const core = new URL(`./node_modules/${process.argv[2]}/dist/core/`, import.meta.url);
const { SessionManager, findMostRecentSession } = await import(new URL("session-manager.js", core));
const { convertToLlm } = await import(new URL("messages.js", core));

// state tells all that pi knows of a session.
function state(manager) {
	const entries = manager.getEntries();
	const context = manager.buildSessionContext();
	return {
		file: manager.getSessionFile(),
		session: manager.getSessionId(),
		header: manager.getHeader(),
		leaf: manager.getLeafId(),
		entries,
		branch: manager.getBranch().map((entry) => entry.id),
		roots: manager.getTree().map((node) => node.entry.id),
		labels: Object.fromEntries(entries.map((e) => [e.id, manager.getLabel(e.id)]).filter(([, label]) => label)),
		name: manager.getSessionName() ?? "",
		context: context.messages,
		sent: convertToLlm(context.messages),
		thinkingLevel: context.thinkingLevel,
		model: context.model,
	};
}

let manager;

async function answer(request) {
	if (request.list) {
		const sessions = await SessionManager.list(request.cwd, request.list);
		return { sessions, recent: findMostRecentSession(request.list) ?? "" };
	}
	if (request.open) manager = SessionManager.open(request.open);
	if (request.create) manager = SessionManager.create(request.cwd, request.create);
	const returned = (request.calls ?? []).map(([method, ...args]) => manager[method](...args) ?? null);
	return { returned, state: state(manager) };
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
