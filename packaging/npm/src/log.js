// A session of the gateway as a log of records of another program.
import { createHash, randomUUID } from "node:crypto";
import { FirnError } from "./client.js";

// The gateway accepts 1,000 entries and 16 MiB per request.
const mostEntries = 500;
const mostBytes = 8 << 20;
const pageSize = 200;

/**
 * SessionLog is the session of a key. A record is any JSON value. It is stored in an entry: as the
 * member `field` of a message, so that firn can show and search it, or as the data of a custom entry
 * of the type `<field>.<kind>`.
 */
export class SessionLog {
	constructor(client, key, field) {
		Object.assign(this, { client, key, field });
		this.path = `/v1/sessions/${encodeURIComponent(`@${key}`)}`;
		this.pending = new Map();
		this.last = Promise.resolve();
	}

	/** serialize runs a function after all earlier ones, so that appends keep the order of their calls. */
	serialize(run) {
		const result = this.last.then(run);
		this.last = result.catch(() => {});
		return result;
	}

	/**
	 * entries returns the entries for a record: one for each message that represents it, or else a custom
	 * entry. The first one holds the record.
	 */
	entries(record, messages, { id, kind = "record" } = {}) {
		const held = carry(record);
		const named = id === undefined ? {} : { id: entryID(id) };
		if (messages.length === 0) return [{ type: "custom", customType: `${this.field}.${kind}`, data: held, ...named }];
		return messages.map((message, i) => (i === 0 ? { type: "message", ...named, message, [this.field]: held } : { type: "message", message }));
	}

	/**
	 * append appends entries and creates the session if there is none. They are on disk when it returns.
	 * If the response is lost, the request is repeated with the same key, so they are stored once; so is a
	 * batch that failed and is appended again by the caller.
	 */
	async append(entries, { cwd, match } = {}) {
		let end;
		for (const batch of batches(entries)) end = await this.appendBatch(batch, { cwd, match: end === undefined ? match : end });
		return end;
	}

	async appendBatch(entries, { cwd, match }) {
		const name = createHash("sha256").update(JSON.stringify([entries, match])).digest("hex");
		const key = this.pending.get(name) ?? randomUUID();
		const headers = { "Idempotency-Key": key };
		if (match !== undefined) headers["If-Match"] = `"${match}"`;
		try {
			const done = await this.existing(cwd, () => this.client.request("POST", `${this.path}/entries`, { body: { entries }, headers }));
			this.pending.delete(name);
			return match === undefined ? undefined : done.end;
		} catch (error) {
			if (isUncertain(error)) this.pending.set(name, key);
			throw error;
		}
	}

	/** existing runs a request; if the session does not exist, it creates it and runs the request again. */
	async existing(cwd, run) {
		try {
			return await run();
		} catch (error) {
			if (error.kind !== "not-found") throw error;
			await this.create(cwd);
			return run();
		}
	}

	/** create creates the session unless it exists, and returns it. */
	create(cwd) {
		return this.client.request("POST", "/v1/sessions", { body: cwd ? { key: this.key, cwd } : { key: this.key } });
	}

	/** end returns the end of the session, or undefined if there is no session. */
	async end() {
		return (await orMissing(this.client.request("GET", this.path)))?.end;
	}

	/** isEmpty reports whether the session does not exist, or has no entry besides its header. */
	async isEmpty() {
		for await (const line of this.lines({ limit: 2 })) if (line.type !== "session") return false;
		return true;
	}

	/** lines yields the entries of the session with their positions; none if there is no session. */
	async *lines({ view = "disk", back = false, limit = pageSize } = {}) {
		let cursor;
		do {
			const query = { view, back: back || undefined, limit, cursor };
			const page = await orMissing(this.client.request("GET", `${this.path}/entries`, { query }));
			for (const item of page?.items ?? []) if (item.line) yield item.line;
			cursor = page?.cursor;
		} while (cursor);
	}

	/** records yields the records of the session: {id, kind, record}. */
	async *records(options) {
		for await (const line of this.lines(options)) {
			const found = this.recordOf(line);
			if (found) yield found;
		}
	}

	/** recordOf returns the record in an entry, or undefined. */
	recordOf(line) {
		const own = line.type === "custom" && line.customType?.startsWith(`${this.field}.`);
		const held = own ? line.data : line[this.field];
		if (held === undefined || held === null) return undefined;
		return { id: line.id, kind: own ? line.customType.slice(this.field.length + 1) : "record", record: uncarry(held) };
	}

	/** remove moves the session to the trash bin of the gateway, if there is one. */
	async remove() {
		await orMissing(this.client.request("DELETE", this.path, { query: { bin: true, reason: `deleted by ${this.field}` } }));
	}

	/**
	 * change reads the end of the session and calls make, which returns entries to append. If another
	 * writer was faster, it starts again, at most five times.
	 */
	async change(make) {
		for (let attempt = 1; ; attempt++) {
			const end = await this.end();
			const entries = await make();
			if (entries.length === 0) return;
			try {
				await this.append(entries, { match: end ?? (await this.create()).end });
				return;
			} catch (error) {
				if (error.kind !== "conflict" || attempt === 5) throw error;
			}
		}
	}
}

/** isUncertain reports whether a failed request may have been executed. */
function isUncertain(error) {
	return ["unreachable", "timeout", "unknown-outcome", "closing"].includes(error.kind);
}

/** orMissing returns undefined if what was requested does not exist. */
export async function orMissing(response) {
	try {
		return await response;
	} catch (error) {
		if (error instanceof FirnError && error.kind === "not-found") return undefined;
		throw error;
	}
}

/** batches splits entries into lists that fit into a request. */
function* batches(entries) {
	let batch = [];
	let bytes = 0;
	for (const entry of entries) {
		const size = Buffer.byteLength(JSON.stringify(entry));
		if (batch.length === mostEntries || (batch.length > 0 && bytes + size > mostBytes)) {
			yield batch;
			[batch, bytes] = [[], 0];
		}
		batch.push(entry);
		bytes += size;
	}
	if (batch.length > 0) yield batch;
}

// Text of an entry cannot hold NUL or half a surrogate pair.
const unfit = /\\u0000|\\ud[89a-f][0-9a-f]{2}/i;

/** carry returns a record as it is stored: itself, or its JSON as a string if an entry cannot hold it. */
export function carry(record) {
	const json = JSON.stringify(record);
	return typeof record === "string" || isWrapped(record) || unfit.test(json) ? { json } : record;
}

/** uncarry reverses carry. */
export function uncarry(held) {
	return isWrapped(held) ? JSON.parse(held.json) : held;
}

function isWrapped(value) {
	return typeof value?.json === "string" && Object.keys(value).length === 1;
}

/** entryID returns an entry ID for an ID of another program. firn's own have 13 characters and contain a time. */
export function entryID(id) {
	return /^[\x21-\x7e]{1,128}$/.test(id) && !/^[0-9a-z]{13}$/.test(id) ? id : createHash("sha256").update(id).digest("hex");
}
