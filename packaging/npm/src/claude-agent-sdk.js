// A SessionStore for the Claude Agent SDK.
import { FirnClient, unescapeName } from "./client.js";
import { SessionLog, entryID } from "./log.js";
import { assistantMessage, textOf, textPart, toolCall, toolResult, userMessage } from "./messages.js";

const kind = "claude-agent-sdk";

/**
 * FirnSessionStore stores transcripts of the Claude Agent SDK in a gateway. A transcript is a session
 * of the key `agent:<agent>:claude-agent-sdk:<project>:<session>`, one of a sub-agent has its path as a
 * further part of the key.
 */
export class FirnSessionStore {
	#logs = new Map();

	constructor(options) {
		this.client = options instanceof FirnClient ? options : new FirnClient(options);
	}

	/** append appends entries in the order of the calls. An entry with a known `uuid` is not stored again. */
	append(key, entries) {
		if (entries.length === 0) return Promise.resolve();
		const log = this.#log(key);
		return log.serialize(async () => {
			const cwd = entries.find((entry) => typeof entry.cwd === "string")?.cwd;
			const fresh = withoutRepeats(entries, new Set());
			try {
				await log.append(encode(log, fresh), { cwd });
			} catch (error) {
				if (error.kind !== "invalid") throw error;
				// The gateway rejects an entry whose ID exists: leave out those that are stored.
				const known = new Set();
				for await (const line of log.lines()) known.add(line.id);
				const rest = withoutRepeats(fresh, known);
				if (rest.length === fresh.length) throw error;
				if (rest.length > 0) await log.append(encode(log, rest), { cwd });
			}
		});
	}

	/** load returns all entries of a transcript, or null if nothing was stored. */
	async load(key) {
		const log = this.#log(key);
		await log.last;
		const entries = [];
		for await (const { record } of log.records()) entries.push(record);
		return entries.length > 0 ? entries : null;
	}

	/** listSessions returns the sessions of a project with the time of their last change, in milliseconds. */
	async listSessions(projectKey) {
		const sessions = [];
		for await (const { names, updated } of this.#keys(projectKey)) {
			if (names.length === 1) sessions.push({ sessionId: names[0], mtime: Date.parse(updated) });
		}
		return sessions;
	}

	/** delete moves a transcript to the trash bin; that of a session with those of its sub-agents. */
	async delete(key) {
		if (!key.subpath) {
			for (const subpath of await this.listSubkeys(key)) await this.#remove({ ...key, subpath });
		}
		await this.#remove(key);
	}

	/** listSubkeys returns the paths of the other transcripts of a session. */
	async listSubkeys({ projectKey, sessionId }) {
		const paths = [];
		for await (const { names } of this.#keys(projectKey, sessionId)) if (names.length === 1) paths.push(names[0]);
		return paths;
	}

	#remove(key) {
		const log = this.#log(key);
		return log.serialize(() => log.remove());
	}

	#log({ projectKey, sessionId, subpath }) {
		const key = this.client.key(kind, projectKey, sessionId, ...(subpath ? [subpath] : []));
		if (!this.#logs.has(key)) this.#logs.set(key, new SessionLog(this.client, key, kind));
		return this.#logs.get(key);
	}

	/** keys yields the keys below the given names: the remaining names, and when the session was updated. */
	async *#keys(...names) {
		const prefix = `${this.client.key(kind, ...names)}:`;
		let cursor;
		do {
			const page = await this.client.request("GET", "/v1/keys", { query: { text: prefix, limit: 1000, cursor } });
			for (const { key, updated } of page.items) {
				if (key.startsWith(prefix)) yield { names: key.slice(prefix.length).split(":").map(unescapeName), updated };
			}
			cursor = page.cursor;
		} while (cursor);
	}
}

/** withoutRepeats returns the entries without those whose ID is known or repeated. */
function withoutRepeats(entries, known) {
	const seen = new Set(known);
	return entries.filter(({ uuid }) => !uuid || (!seen.has(entryID(uuid)) && seen.add(entryID(uuid))));
}

function encode(log, entries) {
	return entries.flatMap((entry) => log.entries(entry, messagesOf(entry), { id: entry.uuid || undefined, kind: "entry" }));
}

/** messagesOf returns the messages of firn that represent a line of a transcript; none for other lines. */
function messagesOf({ type, isMeta, message }) {
	const content = message?.content;
	if (isMeta || !content || (type !== "user" && type !== "assistant")) return [];
	const blocks = typeof content === "string" ? [{ type: "text", text: content }] : Array.isArray(content) ? content : [];
	const text = textOf(blocks.filter((block) => block?.type === "text"));
	if (type === "assistant") {
		const calls = blocks.filter((block) => block?.type === "tool_use").map((block) => toolCall(block.id, block.name, block.input));
		return assistantMessage([...textPart(text), ...calls], typeof message.model === "string" ? { provider: "anthropic", model: message.model } : {});
	}
	const results = blocks.filter((block) => block?.type === "tool_result");
	return [...results.map((block) => toolResult(block.tool_use_id, "", block.content, block.is_error === true)), ...userMessage(text)];
}
