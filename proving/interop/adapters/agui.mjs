// A user interface that talks to an agent by the Agent-User Interaction Protocol, with the official
// client, which verifies the order of events. Every event is also checked against the schema. FIRN_GATEWAY
// is a gateway, FIRN_TOKEN a token with the scope write, READ_TOKEN one with the scope read.
import assert from "node:assert/strict";
import { HttpAgent } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";

const gateway = process.env.FIRN_GATEWAY;

// talk sends a message in a thread and returns the events of the run.
async function talk(agent, message, options = {}) {
	agent.addMessage({ id: crypto.randomUUID(), role: "user", content: message });
	return run(agent, options);
}

async function run(agent, options = {}) {
	const events = [];
	await agent.runAgent(options, { onEvent: ({ event }) => void events.push(EventSchemas.parse(event)) });
	return events;
}

const agentOf = (threadId, token = process.env.FIRN_TOKEN, path = "") => new HttpAgent({ url: `${gateway}/v1/ag-ui${path}`, threadId, headers: { Authorization: `Bearer ${token}` } });
const types = (events) => events.map((e) => e.type);
const answer = (agent) => agent.messages.filter((m) => m.role === "assistant" && m.content).at(-1).content;

const agent = agentOf("Thread 1/ü");
const first = await talk(agent, "what is 6*7?");
assert.equal(first[0].type, "RUN_STARTED");
assert.equal(first.at(-1).type, "RUN_FINISHED");
assert.equal(first.at(-1).outcome.type, "success");
assert.equal(first.at(-1).usage[0].model, "offline");
for (const type of ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]) assert.ok(types(first).includes(type), `no ${type} in ${types(first)}`);
assert.match(answer(agent), /42/);

// The client sends all messages again; the session gets the new one only.
await talk(agent, "my name is Ada");
await talk(agentOf("another thread", process.env.FIRN_TOKEN, "/main"), "my name is Bob");
await talk(agent, "what is my name?");
assert.match(answer(agent), /Ada/);

// Errors before the stream have a status, and the client throws.
await assert.rejects(talk(agentOf("t", "wrong"), "hello"), /401/);
await assert.rejects(talk(agentOf("t", process.env.READ_TOKEN), "hello"), /403/);
await assert.rejects(talk(agentOf("t", process.env.FIRN_TOKEN, "/no-such-agent"), "hello"), /404/);
await assert.rejects(run(agentOf("t")), /400/);
await assert.rejects(talk(agentOf("t"), [{ type: "audio", source: { type: "data", value: "", mimeType: "audio/wav" } }]), /400/);

// After a run that failed, the client sends the unanswered message again; it is stored once.
const failing = agentOf("failing", process.env.FIRN_TOKEN, "/openai%2Fnone");
await talk(failing, "first question").catch(() => {});
await talk(failing, "second question").catch(() => {});

// A tool of the client: the run ends with its call, and the next one has the result.
const tool = { name: "calc", description: "calculates in the browser", parameters: { type: "object", properties: { expression: { type: "string" } } } };
const tools = agentOf("tools");
const asked = await talk(tools, "what is 6*7?", { tools: [tool] });
const call = asked.find((e) => e.type === "TOOL_CALL_START");
assert.equal(call.toolCallName, "calc");
assert.deepEqual(asked.at(-1).outcome.pendingToolCallIds, [call.toolCallId]);
assert.ok(!types(asked).includes("TOOL_CALL_RESULT"));
tools.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: call.toolCallId, content: "42" });
await run(tools, { tools: [tool] });
assert.match(answer(tools), /42/);
console.log("passed");
