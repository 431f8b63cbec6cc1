import type { AgentInputItem, Session } from "@openai/agents-core";
import type { FirnClient, FirnOptions } from "./client.js";

/** A Session that keeps its items in a gateway. */
export declare class FirnSession implements Session {
	/** Without a `sessionId` the session is new. */
	constructor(options?: FirnOptions & { sessionId?: string; client?: FirnClient });
	readonly sessionId: string;
	getSessionId(): Promise<string>;
	getItems(limit?: number): Promise<AgentInputItem[]>;
	addItems(items: AgentInputItem[]): Promise<void>;
	popItem(): Promise<AgentInputItem | undefined>;
	/** Moves the items to the gateway's trash bin: `firn bin restore` brings them back. */
	clearSession(): Promise<void>;
}
