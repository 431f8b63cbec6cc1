// The adapters have the types of the frameworks. This file is checked, never run.
import type { Session } from "@openai/agents-core";
import type { SessionStore } from "@anthropic-ai/claude-agent-sdk";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { UIMessage } from "ai";
import { FirnClient, FirnError } from "firn-adapters";
import { FirnChatStore } from "firn-adapters/ai-sdk";
import { FirnSessionStore } from "firn-adapters/claude-agent-sdk";
import { FirnSaver } from "firn-adapters/langgraph";
import { FirnSession } from "firn-adapters/openai-agents";

export const store: Required<Omit<SessionStore, "listSessionSummaries">> = new FirnSessionStore({ gateway: "http://127.0.0.1:7766", token: "firn_x" });
export const saver: BaseCheckpointSaver = new FirnSaver(new FirnClient());
export const session: Session = new FirnSession({ sessionId: "x", agent: "main" });
export const messages: Promise<UIMessage[]> = new FirnChatStore().loadChat("x");
export const kind = (error: unknown): string | undefined => (error instanceof FirnError ? error.kind : undefined);
// @ts-expect-error: an unknown option
new FirnSessionStore({ url: "http://127.0.0.1:7766" });
