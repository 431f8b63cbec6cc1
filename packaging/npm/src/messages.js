// Messages of firn that represent messages of other programs, so that firn can show and search them.

/** userMessage returns a user message, or none without text. */
export function userMessage(text, role = "user") {
	return text ? [{ role, content: [{ type: "text", text }] }] : [];
}

/** assistantMessage returns an answer of parts of firn, or none without parts. */
export function assistantMessage(parts, extra = {}) {
	return parts.length > 0 ? [{ role: "assistant", content: parts, ...extra }] : [];
}

/** toolCall returns a tool call as a part of an answer. */
export function toolCall(id, name, args) {
	return { type: "toolCall", id: String(id ?? ""), name: String(name ?? ""), arguments: asObject(args) };
}

/** toolResult returns the result of a tool call as a message. */
export function toolResult(id, name, output, isError = false) {
	return { role: "toolResult", toolCallId: String(id ?? ""), toolName: String(name ?? ""), content: [{ type: "text", text: textOf(output) }], isError };
}

/** textPart returns text as a list of parts, empty without text. */
export function textPart(text) {
	return text ? [{ type: "text", text }] : [];
}

/** textOf returns the text of a string, a list of parts with text, or else its JSON. */
export function textOf(content) {
	if (content === undefined || content === null) return "";
	if (typeof content === "string") return content;
	if (typeof content.text === "string") return content.text;
	if (!Array.isArray(content)) return JSON.stringify(content);
	return content.map((part) => (typeof part === "string" ? part : (part?.text ?? ""))).filter(Boolean).join("\n");
}

function asObject(args) {
	let value = args;
	if (typeof args === "string") {
		try {
			value = JSON.parse(args);
		} catch {
			return { arguments: args };
		}
	}
	return value && typeof value === "object" && !Array.isArray(value) ? value : { arguments: value ?? null };
}
