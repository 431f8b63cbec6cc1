// Message persistence for the Vercel AI SDK.
import { FirnClient } from "./client.js";
import { SessionLog } from "./log.js";
import { assistantMessage, textOf, textPart, toolCall, toolResult, userMessage } from "./messages.js";

const kind = "ai-sdk";

/**
 * FirnChatStore stores the messages of chats. A chat is a session of the key
 * `agent:<agent>:ai-sdk:<chat>`. Messages that were edited, regenerated or left out stay in the
 * session as another branch.
 */
export class FirnChatStore {
	#logs = new Map();

	constructor(options) {
		this.client = options instanceof FirnClient ? options : new FirnClient(options);
	}

	/** loadChat returns the messages of a chat, oldest first; none for an unknown chat. */
	async loadChat(chatId) {
		const log = this.#log(chatId);
		await log.last;
		return (await readBranch(log)).messages.map(({ record }) => record);
	}

	/** saveChat stores the messages of a chat. Only those after the first difference are written. */
	saveChat({ chatId, messages }) {
		const log = this.#log(chatId);
		return log.serialize(() => log.change(async () => appended(log, chatId, await readBranch(log), plain(messages))));
	}

	/** deleteChat moves a chat to the trash bin of the gateway. */
	deleteChat(chatId) {
		const log = this.#log(chatId);
		return log.serialize(() => log.remove());
	}

	#log(chatId) {
		if (!this.#logs.has(chatId)) this.#logs.set(chatId, new SessionLog(this.client, this.client.key(kind, chatId), kind));
		return this.#logs.get(chatId);
	}
}

/** readBranch returns the root entry of a chat and its messages, each with the ID of its last entry. */
async function readBranch(log) {
	const branch = { root: undefined, messages: [] };
	for await (const line of log.lines({ view: "branch" })) {
		const found = log.recordOf(line);
		if (found?.kind === "chat") branch.root = found.id;
		else if (found) branch.messages.push({ record: found.record, last: found.id });
		else if (branch.messages.length > 0) branch.messages.at(-1).last = line.id;
	}
	return branch;
}

/** appended returns the entries to add to a branch so that it has these messages. */
function appended(log, chatId, { root, messages: stored }, messages) {
	let same = 0;
	while (same < stored.length && same < messages.length && JSON.stringify(stored[same].record) === JSON.stringify(messages[same])) same++;
	const added = messages.slice(same).flatMap((message) => log.entries(message, messagesOf(message)));
	if (root === undefined) return [...log.entries({ id: chatId }, [], { kind: "chat" }), ...added];
	if (same === stored.length) return added;
	const parentId = same > 0 ? stored[same - 1].last : root;
	if (added.length === 0) return [{ type: "head", parentId, reason: "messages removed" }];
	return [{ ...added[0], parentId }, ...added.slice(1)];
}

/** plain returns messages as JSON holds them: dates as text, without members that are undefined. */
function plain(messages) {
	return JSON.parse(JSON.stringify(messages));
}

/** messagesOf returns the messages of firn that represent a message. */
function messagesOf({ role, parts = [] }) {
	const text = textOf(parts.filter((part) => part.type === "text"));
	if (role !== "assistant") return userMessage(text, role === "system" ? "system" : "user");
	const tools = parts.filter((part) => part.type === "dynamic-tool" || part.type.startsWith("tool-"));
	const name = (part) => part.toolName ?? part.type.slice("tool-".length);
	const calls = tools.map((part) => toolCall(part.toolCallId, name(part), part.input));
	const done = tools.filter((part) => part.state === "output-available" || part.state === "output-error");
	const results = done.map((part) => toolResult(part.toolCallId, name(part), part.errorText ?? part.output, part.state === "output-error"));
	return [...assistantMessage([...textPart(text), ...calls]), ...results];
}
