// A chat with an agent framework, for the Go tests.
//
//   node chat.mjs ai-sdk|openai-agents|langgraph CHAT
//
// Every line on standard input is a question, {"say": text}; every line on standard output an answer,
// {"answer": text}. The model repeats all questions of the conversation. If a question is "hang", the
// model never answers, and {"waiting": true} is printed when it is asked. {"undo": true} removes
// the latest message and prints the rest.
import { createInterface } from "node:readline";
import { HumanMessage, AIMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { Agent, Usage, run, setTracingDisabled } from "@openai/agents-core";
import { convertToModelMessages, createIdGenerator, readUIMessageStream, streamText } from "ai";
import { FirnChatStore } from "firn-adapters/ai-sdk";
import { FirnSaver } from "firn-adapters/langgraph";
import { FirnSession } from "firn-adapters/openai-agents";

const [framework, chat] = process.argv.slice(2);
const print = (reply) => process.stdout.write(`${JSON.stringify(reply)}\n`);

// answerTo returns the model's answer to the questions of a conversation.
async function answerTo(questions) {
	if (questions.at(-1) === "hang") {
		print({ waiting: true });
		await new Promise(() => {});
	}
	return `You asked: ${questions.join(" | ")}`;
}

// aiSDK returns a chat with the Vercel AI SDK. Questions are saved before the model is asked.
function aiSDK() {
	const store = new FirnChatStore();
	const newID = createIdGenerator({ prefix: "msg", size: 16 });
	const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
	const model = {
		specificationVersion: "v3",
		provider: "test",
		modelId: "echo",
		supportedUrls: {},
		async doStream({ prompt }) {
			const text = await answerTo(prompt.filter((message) => message.role === "user").map((message) => message.content[0].text));
			const parts = [
				{ type: "stream-start", warnings: [] },
				{ type: "text-start", id: "1" },
				{ type: "text-delta", id: "1", delta: text },
				{ type: "text-end", id: "1" },
				{ type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
			];
			return { stream: ReadableStream.from(parts) };
		},
	};
	return {
		async say(text) {
			const messages = [...(await store.loadChat(chat)), { id: newID(), role: "user", parts: [{ type: "text", text }] }];
			await store.saveChat({ chatId: chat, messages });
			const result = streamText({ model, messages: await convertToModelMessages(messages) });
			const saved = Promise.withResolvers();
			const onFinish = ({ messages: all }) => store.saveChat({ chatId: chat, messages: all }).then(() => saved.resolve(all), saved.reject);
			for await (const _ of readUIMessageStream({ stream: result.toUIMessageStream({ originalMessages: messages, generateMessageId: newID, onFinish }) }));
			return (await saved.promise).at(-1).parts.find((part) => part.type === "text").text;
		},
		async undo() {
			await store.saveChat({ chatId: chat, messages: (await store.loadChat(chat)).slice(0, -1) });
			return (await store.loadChat(chat)).map((message) => message.parts.find((part) => part.type === "text").text);
		},
	};
}

// openAIAgents returns a chat with the OpenAI Agents SDK.
function openAIAgents() {
	setTracingDisabled(true);
	const session = new FirnSession({ sessionId: chat });
	const text = (item) => (typeof item.content === "string" ? item.content : item.content[0].text);
	const model = {
		async getResponse({ input }) {
			const questions = typeof input === "string" ? [input] : input.filter((item) => item.role === "user").map(text);
			const content = [{ type: "output_text", text: await answerTo(questions) }];
			return { usage: new Usage(), output: [{ type: "message", role: "assistant", status: "completed", content }] };
		},
	};
	const agent = new Agent({ name: "echo", model });
	return {
		say: async (question) => (await run(agent, question, { session })).finalOutput,
		async undo() {
			await session.popItem();
			return (await session.getItems()).map(text);
		},
	};
}

// langGraph returns a chat whose state is a checkpoint for each message, as a graph stores it.
function langGraph() {
	const saver = new FirnSaver();
	async function add(message, source) {
		const latest = await saver.getTuple({ configurable: { thread_id: chat } });
		const messages = [...(latest?.checkpoint.channel_values.messages ?? []), message];
		const version = (latest?.checkpoint.channel_versions.messages ?? 0) + 1;
		const checkpoint = { ...emptyCheckpoint(), id: uuid6(0), channel_values: { messages }, channel_versions: { messages: version } };
		await saver.put({ configurable: { thread_id: chat, checkpoint_ns: "", checkpoint_id: latest?.checkpoint.id } }, checkpoint, { source, step: version, parents: {} }, { messages: version });
		return messages;
	}
	return {
		async say(text) {
			const messages = await add(new HumanMessage({ id: crypto.randomUUID(), content: text }), "input");
			const answer = await answerTo(messages.filter((message) => message.getType() === "human").map((message) => message.content));
			await add(new AIMessage({ id: crypto.randomUUID(), content: answer }), "loop");
			return answer;
		},
	};
}

const talk = { "ai-sdk": aiSDK, "openai-agents": openAIAgents, langgraph: langGraph }[framework]();
for await (const line of createInterface({ input: process.stdin })) {
	const { say, undo } = JSON.parse(line);
	try {
		print(undo ? { messages: await talk.undo() } : { answer: await talk.say(say) });
	} catch (error) {
		print({ error: String(error?.stack ?? error) });
	}
}
