// Reads the checkpoints of a thread from the end of its log.

/**
 * ThreadReader reads the records of a thread, latest first, and no further than needed. A checkpoint
 * record holds the values of the channels that changed; the others are in its ancestors. It holds all
 * values that were ever stored if `full` is set, so that a reader need not go back further.
 */
export class ThreadReader {
	#source;
	#queue = [];
	#known = new Map();
	#writes = new Map();

	constructor(log) {
		this.#source = log.records({ back: true, limit: 20 });
	}

	/** next returns the next checkpoint with its writes, which follow it in the log; undefined at the end. */
	async next() {
		if (this.#queue.length === 0) await this.#pull();
		return this.#queue.shift();
	}

	/** find returns the checkpoint of an ID. */
	async find(ns, id) {
		const name = JSON.stringify([ns, id]);
		while (!this.#known.has(name)) if (!(await this.#pull())) return undefined;
		return this.#known.get(name);
	}

	/** values returns the serialized values of all channels of a checkpoint, and its distance from the last full one. */
	async values(checkpoint) {
		const values = {};
		let distance = 0;
		for (let at = checkpoint; at; distance++) {
			for (const [channel, value] of Object.entries(at.values)) if (!Object.hasOwn(values, channel)) values[channel] = value;
			if (at.full || at.parent === undefined) break;
			at = await this.find(at.ns, at.parent);
		}
		return { values, distance };
	}

	async #pull() {
		for (let step; !(step = await this.#source.next()).done; ) {
			const { kind, record } = step.value;
			const name = JSON.stringify([record.ns, record.id]);
			if (kind === "writes") this.#writes.set(name, [record, ...(this.#writes.get(name) ?? [])]);
			if (kind !== "checkpoint" || this.#known.has(name)) continue;
			const found = { ...record, writes: effective(this.#writes.get(name) ?? []) };
			this.#known.set(name, found);
			this.#queue.push(found);
			return found;
		}
		return undefined;
	}
}

/** effective returns the writes in force as [task, channel, value]: the first of a number, but the last of a special one. */
function effective(records) {
	const all = new Map();
	for (const { task, writes } of records) {
		for (const [index, channel, value] of writes) {
			const name = JSON.stringify([task, index]);
			if (index < 0 || !all.has(name)) all.set(name, [task, channel, value]);
		}
	}
	return [...all.values()];
}
