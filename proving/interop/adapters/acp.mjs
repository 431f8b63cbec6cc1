// An editor that uses firn by the Agent Client Protocol, with the official SDK. All that firn sends is
// checked against the protocol's schema. FIRN is the program, and the arguments are its home, a working
// directory and the address of a server whose answers do not end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Readable, Transform, Writable } from "node:stream";
import { client, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk/unstable";

const require = createRequire(import.meta.url);
const Ajv = require("ajv/dist/2020.js").default;
const schema = require("@agentclientprotocol/sdk/schema/v1/schema.unstable.json");
const ajv = new Ajv({ strict: false, validateFormats: false });
ajv.addSchema(schema, "acp");

const [home, cwd, endless] = process.argv.slice(2);

// results are the schemas of responses, by method.
const results = Object.fromEntries(Object.entries(schema.$defs).filter(([name, def]) => def["x-side"] === "agent" && name.endsWith("Response")).map(([name, def]) => [def["x-method"], name]));

// check checks a value against a definition of the schema.
function check(name, value) {
	const valid = ajv.getSchema(`acp#/$defs/${name}`);
	assert.ok(valid, `no definition ${name}`);
	assert.ok(valid(value), `${name}: ${JSON.stringify(valid.errors)}\n${JSON.stringify(value)}`);
}

// edit runs an editor until a function ends. It returns the updates that were received.
async function edit(args, env, run) {
	const agent = spawn(process.env.FIRN, ["acp", ...args], { env: { ...process.env, FIRN_HOME: home, ...env }, stdio: ["pipe", "pipe", "inherit"] });
	const sent = new Map();
	const lines = (each) => {
		let rest = "";
		return new Transform({
			transform(chunk, _, done) {
				const all = (rest + chunk).split("\n");
				rest = all.pop();
				all.filter(Boolean).forEach((line) => each(JSON.parse(line)));
				done(null, chunk);
			},
		});
	};
	const output = lines((m) => m.method && m.id !== undefined && sent.set(m.id, m.method));
	const input = lines((m) => {
		if (m.method === "session/update") check("SessionNotification", m.params);
		else if (m.method) assert.fail(`firn asks for ${m.method}`);
		else if (m.result) check(results[sent.get(m.id)], m.result);
		else assert.ok(Number.isInteger(m.error.code) && m.error.message, JSON.stringify(m));
	});
	output.pipe(agent.stdin);
	agent.stdout.pipe(input);
	const updates = [];
	let notice = () => {};
	const app = client({ name: "editor" }).onNotification(methods.client.session.update, (context) => {
		updates.push(context.params.update);
		notice();
	});
	// received waits for an update.
	const received = async (fits) => {
		while (!updates.some(fits)) await new Promise((resolve) => (notice = resolve));
	};
	await app.connectWith(ndJsonStream(Writable.toWeb(output), Readable.toWeb(input)), async (firn) => {
		const hello = await firn.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
		assert.equal(hello.protocolVersion, 1);
		assert.deepEqual(Object.keys(hello.agentCapabilities.sessionCapabilities).sort(), ["close", "delete", "fork", "list", "resume"]);
		await run(firn, received, updates);
	});
	agent.stdin.end();
	await new Promise((resolve) => agent.once("close", resolve));
	return updates;
}

// rejects checks the code of an error.
const rejects = (asked, code) => assert.rejects(asked, (error) => error instanceof RequestError && error.code === code);

const chunk = (updates, kind) => updates.filter((u) => u.sessionUpdate === kind);
let id;
let answered;
await edit([], {}, async (firn, _, updates) => {
	await rejects(firn.request(methods.agent.session.new, { cwd: "relative", mcpServers: [] }), -32602);
	await rejects(firn.request("session/no_such_method", {}), -32601);
	const made = await firn.request(methods.agent.session.new, { cwd, mcpServers: [] });
	id = made.sessionId;
	assert.deepEqual(made.configOptions.map((o) => [o.id, o.category]), [["model", "model"], ["thinking", "thought_level"], ["approval", "mode"]]);
	const set = await firn.request(methods.agent.session.setConfigOption, { sessionId: id, configId: "thinking", value: "low" });
	assert.equal(set.configOptions.find((o) => o.id === "thinking").currentValue, "low");
	await rejects(firn.request(methods.agent.session.setConfigOption, { sessionId: id, configId: "color", value: "red" }), -32602);

	const end = await firn.request(methods.agent.session.prompt, { sessionId: id, prompt: [{ type: "text", text: "what is 6*7?" }] });
	assert.equal(end.stopReason, "end_turn");
	const answer = chunk(updates, "agent_message_chunk");
	answered = answer.at(-1).messageId;
	assert.ok(answered, "the answer has no message ID");
	assert.match(answer.map((u) => u.content.text).join(""), /42/);
	assert.equal(chunk(updates, "tool_call").length, 1);
});

const replayed = await edit([], {}, async (firn, _, updates) => {
	await firn.request(methods.agent.session.load, { sessionId: id, cwd, mcpServers: [] });
	assert.ok(chunk(updates, "user_message_chunk")[0].messageId);
	assert.equal(chunk(updates, "agent_message_chunk").at(-1).messageId, answered, "the answer has another ID when it is loaded");
	await firn.request(methods.agent.session.setConfigOption, { sessionId: id, configId: "approval", value: "read-only" });
	const { sessionId: fork, configOptions } = await firn.request(methods.agent.session.fork, { sessionId: id, cwd, mcpServers: [] });
	assert.equal(configOptions.find((o) => o.id === "approval").currentValue, "read-only");
	const listed = async () => (await firn.request(methods.agent.session.list, { cwd })).sessions.map((s) => s.sessionId).sort();
	assert.deepEqual(await listed(), [id, fork].sort());
	assert.deepEqual((await firn.request(methods.agent.session.list, { cwd: "/no/such" })).sessions, []);
	await firn.request(methods.agent.session.delete, { sessionId: fork });
	await firn.request(methods.agent.session.delete, { sessionId: fork });
	assert.deepEqual(await listed(), [id]);
	await rejects(firn.request(methods.agent.session.load, { sessionId: "not-a-session", cwd, mcpServers: [] }), -32002);
	await firn.request(methods.agent.session.close, { sessionId: id });
});
assert.ok(replayed.length > 3);

// Canceling the request stops the turn, as session/cancel does, and the session continues.
await edit(["-m", "openai/endless"], { OPENAI_BASE_URL: endless, OPENAI_API_KEY: "k" }, async (firn, received) => {
	const { sessionId } = await firn.request(methods.agent.session.new, { cwd, mcpServers: [] });
	const stop = new AbortController();
	const ended = firn.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: "count" }] }, { cancellationSignal: stop.signal });
	await received((u) => u.sessionUpdate === "agent_message_chunk");
	stop.abort();
	const outcome = await ended.catch((error) => error);
	assert.ok(outcome.stopReason === "cancelled" || outcome.code === -32800, JSON.stringify(outcome));
	const list = await firn.request(methods.agent.session.list, { cwd });
	assert.ok(list.sessions.some((s) => s.sessionId === sessionId));
});
console.log("passed");
