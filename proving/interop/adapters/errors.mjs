// The errors of the adapters. FIRN_GATEWAY is a gateway over TCP, FIRN_TOKEN a token with the scope
// write, READ_TOKEN one with the scope read.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createServer as createTCPServer } from "node:net";
import { test } from "node:test";
import { FirnClient, FirnError } from "firn-adapters";
import { FirnChatStore } from "firn-adapters/ai-sdk";
import { FirnSessionStore } from "firn-adapters/claude-agent-sdk";
import { FirnSaver } from "firn-adapters/langgraph";
import { FirnSession } from "firn-adapters/openai-agents";

const key = { projectKey: "errors", sessionId: "s" };

// rejects checks the kind and the text of an error.
function rejects(run, kind, text) {
	return assert.rejects(run, (error) => {
		assert.ok(error instanceof FirnError, `${error}`);
		assert.equal(error.kind, kind, error.message);
		assert.match(error.message, text);
		return true;
	});
}

test("a gateway that is not running", async () => {
	const options = { gateway: "http://127.0.0.1:1", retries: 0 };
	const text = /cannot reach the gateway at http:\/\/127.0.0.1:1: ECONNREFUSED .*firn serve/;
	await rejects(() => new FirnSessionStore(options).append(key, [{ type: "x" }]), "unreachable", text);
	await rejects(() => new FirnSessionStore(options).load(key), "unreachable", text);
	await rejects(() => new FirnChatStore(options).loadChat("c"), "unreachable", text);
	await rejects(() => new FirnSaver(options).getTuple({ configurable: { thread_id: "t" } }), "unreachable", text);
	await rejects(() => new FirnSession(options).getItems(), "unreachable", text);
	await rejects(() => new FirnSession({ gateway: "unix:/no/such.sock", retries: 0 }).getItems(), "unreachable", /ENOENT/);
});

test("a gateway that does not respond", async () => {
	const server = createTCPServer(() => {}).listen(0, "127.0.0.1");
	await new Promise((resolve) => server.once("listening", resolve));
	await rejects(() => new FirnSession({ gateway: `http://127.0.0.1:${server.address().port}`, timeout: 50, retries: 0 }).getItems(), "timeout", /no response .* within 50 ms/);
	server.close();
});

test("a wrong address", () => {
	assert.throws(() => new FirnClient({ gateway: "nowhere" }), /the gateway address "nowhere" is not a URL/);
});

test("without an address the gateway of the home is used", () => {
	const { FIRN_GATEWAY: address } = process.env;
	Object.assign(process.env, { FIRN_GATEWAY: "", FIRN_HOME: "/home/u/firn" });
	assert.equal(new FirnClient().gateway, "unix:/home/u/firn/gateway.sock");
	process.env.FIRN_GATEWAY = address;
});

test("a wrong token, and one that may only read", async () => {
	await rejects(() => new FirnSessionStore({ token: "firn_wrong" }).append(key, [{ type: "x" }]), "no-token", /FIRN_TOKEN|token/);
	const reader = new FirnSessionStore({ token: process.env.READ_TOKEN });
	assert.equal(await reader.load(key), null);
	await rejects(() => reader.append(key, [{ type: "x" }]), "not-allowed", /scope/);
});

test("a record that is too large", async () => {
	await rejects(() => new FirnSessionStore().append(key, [{ type: "x", text: "x".repeat(17 << 20) }]), "too-large", /body_limit|limit/);
});

test("an agent that does not exist", async () => {
	await rejects(() => new FirnSessionStore({ agent: "nosuch" }).append(key, [{ type: "x" }]), "not-found", /unknown agent "nosuch"/);
});

test("writers that do not know of each other", async () => {
	const messages = (...texts) => texts.map((text, i) => ({ id: `m${i}`, role: "user", parts: [{ type: "text", text }] }));
	const [one, two] = [new FirnChatStore(), new FirnChatStore()];
	await Promise.all(Array.from({ length: 6 }, (_, i) => (i % 2 ? one : two).saveChat({ chatId: "race", messages: messages("a", `b${i}`) })));
	assert.equal((await one.loadChat("race")).length, 2);
	const client = new FirnClient();
	const path = `/v1/sessions/${encodeURIComponent(`@${client.key("ai-sdk", "race")}`)}`;
	const entries = [{ type: "custom", customType: "x.y", data: {} }];
	await rejects(() => client.request("POST", `${path}/entries`, { body: { entries }, headers: { "If-Match": '"1"' } }), "conflict", /end/);
});

// The proxy passes requests to the gateway and cuts the connection before the response, once.
test("an append whose response is lost is stored once", async () => {
	const target = new URL(process.env.FIRN_GATEWAY);
	let cut = true;
	const proxy = createServer(async (req, res) => {
		const chunks = [];
		for await (const chunk of req) chunks.push(chunk);
		const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
		const { host, connection, ...headers } = req.headers;
		const response = await fetch(new URL(req.url, target), { method: req.method, headers, body });
		const text = await response.text();
		if (cut && req.url.endsWith("/entries") && req.method === "POST" && response.ok) {
			cut = false;
			req.socket.destroy();
			return;
		}
		res.writeHead(response.status, { "Content-Type": "application/json" }).end(text);
	}).listen(0, "127.0.0.1");
	await new Promise((resolve) => proxy.once("listening", resolve));
	const gateway = `http://127.0.0.1:${proxy.address().port}`;
	const entries = [{ type: "x", n: 1 }, { type: "x", n: 2 }];
	await new FirnSessionStore({ gateway }).append({ ...key, sessionId: "lost" }, entries);
	assert.equal(cut, false, "the response was lost");
	cut = true;
	const impatient = new FirnSessionStore({ gateway, retries: 0 });
	await rejects(() => impatient.append({ ...key, sessionId: "lost" }, [{ type: "x", n: 3 }]), "unreachable", /cannot reach/);
	await impatient.append({ ...key, sessionId: "lost" }, [{ type: "x", n: 3 }]); // as the SDK does
	proxy.close();
	assert.deepEqual(await new FirnSessionStore().load({ ...key, sessionId: "lost" }), [...entries, { type: "x", n: 3 }]);
});
