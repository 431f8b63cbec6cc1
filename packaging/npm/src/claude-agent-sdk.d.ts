import type { SessionKey, SessionStore, SessionStoreEntry } from "@anthropic-ai/claude-agent-sdk";
import type { FirnClient, FirnOptions } from "./client.js";

/** A SessionStore that keeps transcripts in a gateway. */
export declare class FirnSessionStore implements SessionStore {
	constructor(options?: FirnOptions | FirnClient);
	append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
	load(key: SessionKey): Promise<SessionStoreEntry[] | null>;
	listSessions(projectKey: string): Promise<Array<{ sessionId: string; mtime: number }>>;
	/** Moves transcripts to the gateway's trash bin: `firn bin restore` brings them back. */
	delete(key: SessionKey): Promise<void>;
	listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
}
