// Keeps a chat in a gateway and continues it each time it is run.
//
//   firn serve &
//   node example/chat.mjs "Where is the lighthouse?"
//   node example/chat.mjs "And who keeps it?"
//   firn ls; firn cat @agent:main:ai-sdk:example
import { randomUUID } from "node:crypto";
import { FirnChatStore } from "firn-adapters/ai-sdk";

const message = (role, text) => ({ id: randomUUID(), role, parts: [{ type: "text", text }] });

const store = new FirnChatStore();
const messages = await store.loadChat("example");
messages.push(message("user", process.argv[2] ?? "Hello"));
await store.saveChat({ chatId: "example", messages }); // the question is on disk before the model is asked

// A model of the AI SDK would answer here: streamText({ model, messages: await convertToModelMessages(messages) }).
messages.push(message("assistant", `This is message ${messages.length + 1} of our chat.`));
await store.saveChat({ chatId: "example", messages });

for (const { role, parts } of messages) console.log(`${role}: ${parts[0].text}`);
