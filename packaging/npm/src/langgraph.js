// A checkpointer for LangGraph.
import { BaseCheckpointSaver, TASKS, WRITES_IDX_MAP, copyCheckpoint, getCheckpointId, maxChannelVersion } from "@langchain/langgraph-checkpoint";
import { FirnClient, FirnError, unescapeName } from "./client.js";
import { ThreadReader } from "./langgraph-thread.js";
import { SessionLog, carry, uncarry } from "./log.js";
import { assistantMessage, textOf, textPart, toolCall, toolResult, userMessage } from "./messages.js";

const kind = "langgraph";

// A checkpoint holds all channels, not only those that changed, after this many others.
const fullEvery = 20;

/**
 * FirnSaver stores checkpoints in a gateway. A thread is a session of the key
 * `agent:<agent>:langgraph:<thread>`. Each checkpoint and each set of writes is a custom entry; new
 * messages of the channel `messages` are also stored as messages, which firn shows and searches.
 */
export class FirnSaver extends BaseCheckpointSaver {
	#logs = new Map();
	/** The IDs of the messages that are stored as messages, by thread. */
	#shown = new Map();
	/** The latest checkpoint of this process by thread and namespace: its stored channels, and how far the last full one is. */
	#latest = new Map();

	constructor(options, serde) {
		super(serde);
		this.client = options instanceof FirnClient ? options : new FirnClient(options);
	}

	/** getTuple returns a checkpoint with its writes: the one of `checkpoint_id`, or else the latest. */
	async getTuple(config) {
		const thread = config.configurable?.thread_id;
		if (thread === undefined) return undefined;
		const ns = config.configurable.checkpoint_ns ?? "";
		const id = getCheckpointId(config) || undefined;
		await this.#log(thread).last;
		const reader = new ThreadReader(this.#log(thread));
		for (let found; (found = await reader.next()); ) {
			if (found.ns === ns && (id === undefined || found.id === id)) return this.#tuple(thread, reader, found);
		}
		return undefined;
	}

	/** list yields checkpoints, newest first. */
	async *list(config, { before, limit = Number.POSITIVE_INFINITY, filter = {} } = {}) {
		const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
		const until = before?.configurable?.checkpoint_id;
		let left = limit;
		for (const thread of thread_id === undefined ? await this.#threads() : [thread_id]) {
			await this.#log(thread).last;
			const reader = new ThreadReader(this.#log(thread));
			for (let found; left > 0 && (found = await reader.next()); ) {
				if (checkpoint_ns !== undefined && found.ns !== checkpoint_ns) continue;
				if ((checkpoint_id && found.id !== checkpoint_id) || (until && found.id >= until)) continue;
				const tuple = await this.#tuple(thread, reader, found);
				if (!Object.entries(filter).every(([name, value]) => tuple.metadata?.[name] === value)) continue;
				left--;
				yield tuple;
			}
		}
	}

	/** put stores a checkpoint. It is on disk when it returns. */
	async put(config, checkpoint, metadata, newVersions) {
		const thread = requireThread(config, "a checkpoint");
		const { checkpoint_ns: ns = "", checkpoint_id: parent } = config.configurable;
		const copy = copyCheckpoint(checkpoint);
		const log = this.#log(thread);
		return log.serialize(async () => {
			const { stored, distance } = await this.#chain(thread, ns, parent);
			const changed = Object.keys(newVersions ?? copy.channel_values);
			for (const channel of changed) stored.add(channel);
			const full = distance >= fullEvery;
			const record = await this.#record({ ns, parent, full }, copy, metadata, full ? stored : changed);
			const messages = ns === "" ? await this.#newMessages(thread, copy.channel_values.messages) : [];
			const shown = messages.flatMap(messagesOf).map((message) => ({ type: "message", message }));
			await log.append([...shown, ...log.entries(record, [], { kind: "checkpoint" })]);
			for (const message of messages) this.#shown.get(thread).add(messageID(message));
			this.#latest.set(JSON.stringify([thread, ns]), { id: copy.id, stored, distance: full ? 0 : distance });
			return { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: copy.id } };
		});
	}

	/** putWrites stores writes of a task for a checkpoint. */
	async putWrites(config, writes, taskId) {
		const thread = requireThread(config, "writes");
		const { checkpoint_ns: ns = "", checkpoint_id: id } = config.configurable;
		if (id === undefined) throw new FirnError("invalid", "writes need a checkpoint_id in configurable");
		const log = this.#log(thread);
		return log.serialize(async () => {
			const typed = await Promise.all(writes.map(async ([channel, value], i) => [WRITES_IDX_MAP[channel] ?? i, channel, await this.#dump(value)]));
			await log.append(log.entries({ ns, id, task: taskId, writes: typed }, [], { kind: "writes" }));
		});
	}

	/** deleteThread moves a thread to the trash bin of the gateway. */
	async deleteThread(threadId) {
		const log = this.#log(threadId);
		return log.serialize(async () => {
			await log.remove();
			this.#shown.delete(threadId);
			this.#latest.clear();
		});
	}

	/** record returns the record of a checkpoint with the values of some channels. */
	async #record({ ns, parent, full }, { channel_values: all, ...checkpoint }, metadata, channels) {
		const values = {};
		for (const channel of channels) if (Object.hasOwn(all, channel)) values[channel] = await this.#dump(all[channel]);
		const record = { ns, id: checkpoint.id, checkpoint: await this.#dump(checkpoint), values, metadata: await this.#dump(metadata) };
		if (parent !== undefined) record.parent = parent;
		if (full) record.full = true;
		return record;
	}

	/** chain returns the channels that a child of a checkpoint can find in its ancestors, and its distance from the last full one. */
	async #chain(thread, ns, parent) {
		if (parent === undefined) return { stored: new Set(), distance: 0 };
		const latest = this.#latest.get(JSON.stringify([thread, ns]));
		if (latest?.id === parent) return { stored: new Set(latest.stored), distance: latest.distance + 1 };
		const reader = new ThreadReader(this.#log(thread));
		const found = await reader.find(ns, parent);
		if (!found) return { stored: new Set(), distance: 0 };
		const { values, distance } = await reader.values(found);
		return { stored: new Set(Object.keys(values)), distance: distance + 1 };
	}

	async #tuple(thread_id, reader, found) {
		const { ns: checkpoint_ns, id: checkpoint_id, parent } = found;
		const checkpoint = await this.#load(found.checkpoint);
		const { values } = await reader.values(found);
		const current = Object.entries(values).filter(([channel]) => Object.hasOwn(checkpoint.channel_versions, channel));
		checkpoint.channel_values = Object.fromEntries(await Promise.all(current.map(async ([channel, value]) => [channel, await this.#load(value)])));
		const tuple = {
			config: { configurable: { thread_id, checkpoint_ns, checkpoint_id } },
			checkpoint,
			metadata: await this.#load(found.metadata),
			pendingWrites: await Promise.all(found.writes.map(async ([task, channel, value]) => [task, channel, await this.#load(value)])),
		};
		if (parent === undefined) return tuple;
		tuple.parentConfig = { configurable: { thread_id, checkpoint_ns, checkpoint_id: parent } };
		if (checkpoint.v < 4) await this.#addPendingSends(await reader.find(checkpoint_ns, parent), checkpoint);
		return tuple;
	}

	/** addPendingSends adds the sends of the parent to a checkpoint of a version before 4, which has none itself. */
	async #addPendingSends(parent, checkpoint) {
		const sends = (parent?.writes ?? []).filter(([, channel]) => channel === TASKS);
		const versions = Object.values(checkpoint.channel_versions);
		checkpoint.channel_values[TASKS] = await Promise.all(sends.map(([, , value]) => this.#load(value)));
		checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
	}

	/** newMessages returns the messages of a checkpoint that the latest checkpoint of the thread does not have. */
	async #newMessages(thread, messages) {
		if (!Array.isArray(messages)) return [];
		if (!this.#shown.has(thread)) this.#shown.set(thread, new Set((await this.#storedMessages(thread)).map(messageID)));
		return messages.filter((message) => !this.#shown.get(thread).has(messageID(message)));
	}

	async #storedMessages(thread) {
		const reader = new ThreadReader(this.#log(thread));
		for (let found; (found = await reader.next()); ) {
			if (found.ns !== "") continue;
			const { messages } = (await reader.values(found)).values;
			const loaded = messages ? await this.#load(messages) : [];
			return Array.isArray(loaded) ? loaded : [];
		}
		return [];
	}

	/** dump serializes a value: its type, and its JSON value or its bytes in base64. */
	async #dump(value) {
		const [type, bytes] = await this.serde.dumpsTyped(value);
		if (type !== "json") return { type, base64: Buffer.from(bytes).toString("base64") };
		return { type, value: carry(JSON.parse(Buffer.from(bytes).toString("utf8"))) };
	}

	#load({ type, value, base64 }) {
		return this.serde.loadsTyped(type, base64 === undefined ? JSON.stringify(uncarry(value)) : new Uint8Array(Buffer.from(base64, "base64")));
	}

	/** threads returns the IDs of all threads. */
	async #threads() {
		const prefix = `${this.client.key(kind)}:`;
		const threads = [];
		let cursor;
		do {
			const page = await this.client.request("GET", "/v1/keys", { query: { text: prefix, limit: 1000, cursor } });
			for (const { key } of page.items) if (key.startsWith(prefix)) threads.push(unescapeName(key.slice(prefix.length)));
			cursor = page.cursor;
		} while (cursor);
		return threads;
	}

	#log(thread) {
		if (!this.#logs.has(thread)) this.#logs.set(thread, new SessionLog(this.client, this.client.key(kind, thread), kind));
		return this.#logs.get(thread);
	}
}

/** requireThread returns the thread of a configuration. */
function requireThread(config, what) {
	const thread = config.configurable?.thread_id;
	if (thread === undefined) throw new FirnError("invalid", `${what} cannot be stored without a thread_id in configurable`, { hint: 'pass { configurable: { thread_id: "…" } }' });
	return thread;
}

/** messageID identifies a message of a channel, by its ID or by its text. */
function messageID(message) {
	return message?.id ?? JSON.stringify([typeOf(message), message?.content]);
}

function typeOf(message) {
	return message?.getType?.() ?? message?._getType?.() ?? message?.role ?? message?.type;
}

/** messagesOf returns the messages of firn that represent a message of LangChain. */
function messagesOf(message) {
	const text = textOf(message?.content);
	switch (typeOf(message)) {
		case "human":
		case "user":
			return userMessage(text);
		case "system":
			return userMessage(text, "system");
		case "ai":
		case "assistant":
			return assistantMessage([...textPart(text), ...(message.tool_calls ?? []).map((call) => toolCall(call.id, call.name, call.args))]);
		case "tool":
			return [toolResult(message.tool_call_id, message.name, message.content, message.status === "error")];
		default:
			return [];
	}
}
