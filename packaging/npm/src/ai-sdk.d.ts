import type { UIMessage } from "ai";
import type { FirnClient, FirnOptions } from "./client.js";

/** Stores the messages of chats in a gateway. */
export declare class FirnChatStore<Message extends UIMessage = UIMessage> {
	constructor(options?: FirnOptions | FirnClient);
	loadChat(chatId: string): Promise<Message[]>;
	saveChat(chat: { chatId: string; messages: Message[] }): Promise<void>;
	/** Moves a chat to the gateway's trash bin: `firn bin restore` brings it back. */
	deleteChat(chatId: string): Promise<void>;
}
