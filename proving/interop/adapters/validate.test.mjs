// LangGraph's own suite for checkpointers. The gateway is that of FIRN_GATEWAY.
import { validate } from "@langchain/langgraph-checkpoint-validation";
import { FirnSaver } from "firn-adapters/langgraph";

validate({
	checkpointerName: "firn",
	createCheckpointer: () => new FirnSaver(),
	async destroyCheckpointer(saver) {
		const threads = new Set();
		for await (const { config } of saver.list({})) threads.add(config.configurable.thread_id);
		for (const thread of threads) await saver.deleteThread(thread);
	},
});
