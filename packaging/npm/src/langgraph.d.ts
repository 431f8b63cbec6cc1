import type { RunnableConfig } from "@langchain/core/runnables";
import { BaseCheckpointSaver, type ChannelVersions, type Checkpoint, type CheckpointListOptions, type CheckpointMetadata, type CheckpointTuple, type PendingWrite, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { FirnClient, FirnOptions } from "./client.js";

/** A checkpointer that keeps threads in a gateway. */
export declare class FirnSaver extends BaseCheckpointSaver {
	constructor(options?: FirnOptions | FirnClient, serde?: SerializerProtocol);
	getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined>;
	list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple>;
	put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<RunnableConfig>;
	putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void>;
	/** Moves a thread to the gateway's trash bin: `firn bin restore` brings it back. */
	deleteThread(threadId: string): Promise<void>;
}
