// The behavior that the Claude Agent SDK expects of a SessionStore, as tests: the contract of its
// documentation, and what retries need. The gateway is that of FIRN_GATEWAY.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { deleteSession, getSessionMessages, listSessions } from "@anthropic-ai/claude-agent-sdk";
import { FirnSessionStore } from "firn-adapters/claude-agent-sdk";

const store = new FirnSessionStore();
const entry = (members) => ({ type: "x", ...members });

// fresh returns a key in a project of its own, so that tests do not meet.
function fresh(sessionId = "sess") {
	return { projectKey: `-Home-u-${randomUUID()}`, sessionId };
}

test("load returns the entries in the order of the appends", async () => {
	const key = fresh();
	await store.append(key, [entry({ uuid: "z", n: 1 })]);
	await store.append(key, [entry({ uuid: "a", n: 2 }), entry({ uuid: "m", n: 3 })]);
	await store.append(key, []);
	await store.append(key, [entry({ uuid: "b", n: 4 })]);
	assert.deepEqual(await store.load(key), [entry({ uuid: "z", n: 1 }), entry({ uuid: "a", n: 2 }), entry({ uuid: "m", n: 3 }), entry({ uuid: "b", n: 4 })]);
});

test("appends that are not awaited keep the order of their calls", async () => {
	const key = fresh();
	await Promise.all(Array.from({ length: 20 }, (_, n) => store.append(key, [entry({ n })])));
	assert.deepEqual(await store.load(key), Array.from({ length: 20 }, (_, n) => entry({ n })));
});

test("load returns null for unknown keys", async () => {
	const key = fresh();
	assert.equal(await store.load(key), null);
	await store.append(key, [entry({ n: 1 })]);
	assert.equal(await store.load({ ...key, subpath: "nope" }), null);
	assert.equal(await store.load({ ...key, sessionId: "nope" }), null);
});

test("entries are deep-equal to what was appended", async () => {
	const key = fresh();
	const entries = [
		entry({ uuid: randomUUID(), nested: { a: [1, 2.5, -0.1, 1e21, null, true], "": {} }, json: "x" }),
		entry({ text: "NUL \u0000, half a pair \ud83d, all of it 😀, line \u2028 and \n" }),
		{ type: "user", uuid: randomUUID(), timestamp: "2024-01-01T00:00:00.000Z", message: { role: "user", content: [{ type: "text", text: "half \udc00" }] } },
		{ type: "session", uuid: "0123456789abc", id: "x", version: 3 },
		JSON.parse('{"type":"x","__proto__":{"a":1},"constructor":2}'),
	];
	await store.append(key, entries);
	assert.deepEqual(await store.load(key), entries);
});

test("an entry with a known uuid is stored once", async () => {
	const key = fresh();
	const [a, b, c] = [1, 2, 3].map((n) => entry({ uuid: randomUUID(), n }));
	await store.append(key, [a, b]);
	await new FirnSessionStore().append(key, [b, c, c]);
	await store.append(key, [a, b, c]);
	assert.deepEqual(await store.load(key), [a, b, c]);
	await store.append(key, [entry({ mode: "plan" })]);
	await store.append(key, [entry({ mode: "plan" })]);
	assert.equal((await store.load(key)).length, 5, "entries without uuid are not deduplicated");
});

test("projects and subpaths are separate", async () => {
	const [a, b] = [fresh(), fresh()];
	const sub = { ...a, subpath: "subagents/agent-1" };
	await store.append(a, [entry({ from: "A" })]);
	await store.append(b, [entry({ from: "B" })]);
	await store.append(sub, [entry({ from: "sub" })]);
	assert.deepEqual(await store.load(a), [entry({ from: "A" })]);
	assert.deepEqual(await store.load(b), [entry({ from: "B" })]);
	assert.deepEqual(await store.load(sub), [entry({ from: "sub" })]);
	assert.equal((await store.listSessions(a.projectKey)).length, 1);
});

test("listSessions returns the sessions of a project with a time in milliseconds", async () => {
	const key = fresh("a");
	const before = Date.now();
	await store.append(key, [entry({ timestamp: "2001-01-01T00:00:00.000Z" })]);
	await store.append({ ...key, sessionId: "B_:/ü" }, [entry({ n: 1 })]);
	await store.append({ ...key, subpath: "subagents/agent-1" }, [entry({ n: 1 })]);
	await store.append({ ...key, projectKey: `${key.projectKey}-more` }, [entry({ n: 1 })]);
	const sessions = await store.listSessions(key.projectKey);
	assert.deepEqual(sessions.map((session) => session.sessionId).sort(), ["B_:/ü", "a"].sort());
	for (const { mtime } of sessions) assert.ok(Number.isInteger(mtime) && mtime >= before - 1 && mtime <= Date.now() + 1, `mtime is ${mtime}`);
	assert.deepEqual(await store.listSessions("never-appended"), []);
});

test("listSubkeys returns the other transcripts of a session", async () => {
	const key = fresh();
	assert.deepEqual(await store.listSubkeys(key), []);
	await store.append(key, [entry({ n: 1 })]);
	assert.deepEqual(await store.listSubkeys(key), []);
	await store.append({ ...key, subpath: "subagents/agent-1" }, [entry({ n: 1 })]);
	await store.append({ ...key, subpath: "subagents/agent-2" }, [entry({ n: 1 })]);
	await store.append({ ...key, sessionId: "sess2", subpath: "subagents/agent-x" }, [entry({ n: 1 })]);
	assert.deepEqual((await store.listSubkeys(key)).sort(), ["subagents/agent-1", "subagents/agent-2"]);
});

test("delete removes a session with its subkeys, and nothing else", async () => {
	const key = fresh();
	const [one, two] = ["subagents/agent-1", "subagents/agent-2"].map((subpath) => ({ ...key, subpath }));
	const [other, elsewhere] = [{ ...key, sessionId: "sess2" }, fresh()];
	await store.delete(key);
	for (const each of [key, one, two, other, elsewhere]) await store.append(each, [entry({ n: 1 })]);
	await store.delete(one);
	assert.equal(await store.load(one), null);
	assert.deepEqual(await store.listSubkeys(key), ["subagents/agent-2"]);
	assert.equal((await store.load(key)).length, 1);
	await store.delete(key);
	for (const gone of [key, one, two]) assert.equal(await store.load(gone), null);
	for (const kept of [other, elsewhere]) assert.equal((await store.load(kept)).length, 1);
	assert.deepEqual(await store.listSubkeys(key), []);
	assert.deepEqual((await store.listSessions(key.projectKey)).map((session) => session.sessionId), ["sess2"]);
	await store.append(key, [entry({ n: 2 })]);
	assert.deepEqual(await store.load(key), [entry({ n: 2 })], "a deleted session can be written again");
});

test("a large import is stored whole", async () => {
	const key = fresh();
	const entries = Array.from({ length: 1500 }, (_, n) => entry({ uuid: randomUUID(), n, text: "x".repeat(8000) }));
	await store.append(key, entries);
	assert.deepEqual(await store.load(key), entries);
});

test("the SDK lists, reads and deletes sessions of the store", async () => {
	const dir = process.cwd();
	const sessionId = randomUUID();
	// The key of a directory is the SDK's: it is observed, not computed here.
	let projectKey;
	await listSessions({ dir, sessionStore: { ...bound(store), listSessions: async (key) => ((projectKey = key), []) } });
	const line = (type, content, uuid, parentUuid) => ({ type, uuid, parentUuid, sessionId, cwd: dir, timestamp: new Date().toISOString(), message: { role: type, content }, isSidechain: false });
	const [first, second] = [randomUUID(), randomUUID()];
	await store.append({ projectKey, sessionId }, [line("user", "Where is the lighthouse?", first, null), line("assistant", [{ type: "text", text: "At the cape." }], second, first)]);
	const sessions = await listSessions({ dir, sessionStore: bound(store) });
	assert.equal(sessions.find((session) => session.sessionId === sessionId)?.firstPrompt, "Where is the lighthouse?");
	const messages = await getSessionMessages(sessionId, { dir, sessionStore: bound(store) });
	assert.deepEqual(messages.map((message) => message.uuid), [first, second]);
	await deleteSession(sessionId, { dir, sessionStore: bound(store) });
	assert.equal(await store.load({ projectKey, sessionId }), null);
});

// bound returns the methods of a store as an object.
function bound(it) {
	return Object.fromEntries(["append", "load", "listSessions", "delete", "listSubkeys"].map((name) => [name, it[name].bind(it)]));
}
