// Checkpoints that hold only the channels that changed: long chains, branches with the same versions,
// and messages that firn shows once. The gateway is that of FIRN_GATEWAY.
import assert from "node:assert/strict";
import { test } from "node:test";
import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { FirnClient } from "firn-adapters";
import { FirnSaver } from "firn-adapters/langgraph";

// put stores a checkpoint in which some channels have new values, and returns its configuration and values.
async function put(saver, parent, changed) {
	const channel_values = { ...parent.values, ...changed };
	const channel_versions = { ...parent.versions };
	for (const channel of Object.keys(changed)) channel_versions[channel] = (channel_versions[channel] ?? 0) + 1;
	const newVersions = Object.fromEntries(Object.keys(changed).map((channel) => [channel, channel_versions[channel]]));
	const checkpoint = { ...emptyCheckpoint(), id: uuid6(0), channel_values, channel_versions };
	const config = await saver.put(parent.config, checkpoint, { source: "loop", step: 1, parents: {} }, newVersions);
	return { config, values: channel_values, versions: channel_versions };
}

test("a long chain is read by another process", async () => {
	const states = [{ config: { configurable: { thread_id: "long", checkpoint_ns: "" } } }];
	let saver = new FirnSaver();
	for (let i = 0; i < 60; i++) {
		if (i % 13 === 0) saver = new FirnSaver(); // a process that starts anew
		states.push(await put(saver, states.at(-1), i === 0 ? { once: "first", n: 0 } : { n: i }));
	}
	for (const i of [1, 2, 20, 21, 22, 42, 43, 60]) {
		const tuple = await new FirnSaver().getTuple(states[i].config);
		assert.deepEqual(tuple.checkpoint.channel_values, states[i].values, `checkpoint ${i}`);
	}
	const listed = [];
	for await (const tuple of new FirnSaver().list({ configurable: { thread_id: "long" } })) listed.push(tuple.checkpoint.channel_values);
	assert.deepEqual(listed, states.slice(1).map((state) => state.values).reverse());
});

test("branches keep their own values for the same version", async () => {
	const saver = new FirnSaver();
	const root = await put(saver, { config: { configurable: { thread_id: "branches", checkpoint_ns: "" } } }, { a: "root", b: "root" });
	const left = await put(saver, root, { a: "left" });
	const right = await put(saver, root, { a: "right" });
	const [below, other] = [await put(saver, left, { b: "below left" }), await put(saver, right, { b: "below right" })];
	for (const state of [root, left, right, below, other]) {
		assert.deepEqual((await new FirnSaver().getTuple(state.config)).checkpoint.channel_values, state.values);
	}
});

test("values that are not JSON", async () => {
	const saver = new FirnSaver();
	const bytes = new Uint8Array([0, 255, 128]);
	const state = await put(saver, { config: { configurable: { thread_id: "Bytes/ü", checkpoint_ns: "" } } }, { bytes, text: "NUL \u0000 and half \ud800", none: null, set: new Set([1]) });
	await saver.putWrites(state.config, [["bytes", bytes]], "task");
	const { checkpoint, pendingWrites } = await new FirnSaver().getTuple(state.config);
	assert.deepEqual(checkpoint.channel_values, state.values);
	assert.deepEqual(pendingWrites, [["task", "bytes", bytes]]);
});

test("messages of a thread are entries once", async () => {
	const message = (n) => new HumanMessage({ id: `m${n}`, content: `question ${n}` });
	let state = { config: { configurable: { thread_id: "shown", checkpoint_ns: "" } } };
	for (let n = 1; n <= 4; n++) state = await put(new FirnSaver(), state, { messages: Array.from({ length: n }, (_, i) => message(i + 1)) });
	const client = new FirnClient();
	const page = await client.request("GET", `/v1/sessions/${encodeURIComponent(`@${client.key("langgraph", "shown")}`)}/entries`);
	const texts = page.items.map((item) => item.line.message?.content[0].text).filter(Boolean);
	assert.deepEqual(texts, ["question 1", "question 2", "question 3", "question 4"]);
});
