// A Session for the OpenAI Agents SDK.
import { randomUUID } from "node:crypto";
import { FirnClient } from "./client.js";
import { SessionLog } from "./log.js";
import { assistantMessage, textOf, textPart, toolCall, toolResult, userMessage } from "./messages.js";

const kind = "openai-agents";

/**
 * FirnSession stores the items of a conversation. It is a session of the key
 * `agent:<agent>:openai-agents:<session>`. Items that are popped stay in it as another branch.
 */
export class FirnSession {
	#log;
	#rooted = false;

	constructor({ sessionId = randomUUID(), client, ...options } = {}) {
		this.sessionId = sessionId;
		this.client = client ?? new FirnClient(options);
		this.#log = new SessionLog(this.client, this.client.key(kind, sessionId), kind);
	}

	async getSessionId() {
		return this.sessionId;
	}

	/** getItems returns the latest items, oldest first; all without a limit. */
	async getItems(limit) {
		if (limit !== undefined && limit <= 0) return [];
		await this.#log.last;
		const items = [];
		const page = limit === undefined ? undefined : Math.min(limit + 1, 200);
		for await (const { kind: type, record } of this.#log.records({ view: "branch", back: true, limit: page })) {
			if (type !== "session" && items.push(record) === limit) break;
		}
		return items.reverse();
	}

	/** addItems appends items. They are on disk when it returns. */
	addItems(items) {
		if (items.length === 0) return Promise.resolve();
		return this.#log.serialize(async () => {
			const entries = items.flatMap((item) => this.#log.entries(JSON.parse(JSON.stringify(item)), messagesOf(item)));
			// The first entry is a root, to which the conversation can return when its items are popped.
			const root = !this.#rooted && (await this.#log.isEmpty()) ? this.#log.entries({ id: this.sessionId }, [], { kind: "session" }) : [];
			await this.#log.append([...root, ...entries]);
			this.#rooted = true;
		});
	}

	/** popItem removes the latest item from the conversation and returns it. */
	popItem() {
		return this.#log.serialize(async () => {
			let popped;
			await this.#log.change(async () => {
				popped = undefined;
				const branch = this.#log.lines({ view: "branch", back: true, limit: 20 });
				for await (const line of branch) {
					const found = this.#log.recordOf(line);
					if (popped) return [{ type: "head", parentId: line.id, reason: "item removed" }];
					if (found && found.kind !== "session") popped = found;
				}
				popped = undefined;
				return [];
			});
			return popped?.record;
		});
	}

	/** clearSession moves the conversation to the trash bin of the gateway. */
	clearSession() {
		return this.#log.serialize(async () => {
			await this.#log.remove();
			this.#rooted = false;
		});
	}
}

/** messagesOf returns the messages of firn that represent an item; none for items of other types. */
function messagesOf(item) {
	switch (item.type ?? "message") {
		case "message":
			if (item.role === "assistant") return assistantMessage(textPart(textOf(item.content)));
			return userMessage(textOf(item.content), item.role === "system" ? "system" : "user");
		case "function_call":
			return assistantMessage([toolCall(item.callId, item.name, item.arguments)]);
		case "function_call_result":
			return [toolResult(item.callId, item.name, item.output)];
		default:
			return [];
	}
}
