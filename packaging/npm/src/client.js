// The HTTP client of a gateway: addresses, tokens, errors and retries.
import http from "node:http";
import https from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * FirnError is a request that failed. `kind` is the gateway's error kind, such as `conflict` or
 * `too-large`, or `unreachable` or `timeout` if there was no response.
 */
export class FirnError extends Error {
	constructor(kind, message, { status = 0, hint, request, end, retryAfter, cause } = {}) {
		super(hint ? `firn: ${message} (${hint})` : `firn: ${message}`, { cause });
		Object.assign(this, { name: "FirnError", kind, status, hint, request, end, retryAfter });
	}
}

// retried lists the errors after which a request is sent again if it can be repeated safely.
const retried = new Set(["unreachable", "timeout", "busy", "closing", "unavailable", "unknown-outcome"]);

/**
 * FirnClient sends requests to a gateway.
 *
 * The gateway is `options.gateway`, else `FIRN_GATEWAY`, else the socket of the home (`FIRN_HOME`
 * or ~/.firn): a URL, or `unix:` and a path. The token is `options.token`, else `FIRN_TOKEN`;
 * the socket needs none.
 */
export class FirnClient {
	constructor(options = {}) {
		const { env } = process;
		this.gateway = options.gateway || env.FIRN_GATEWAY || `unix:${join(env.FIRN_HOME || join(homedir(), ".firn"), "gateway.sock")}`;
		this.token = options.token ?? env.FIRN_TOKEN ?? "";
		this.agent = options.agent ?? "main";
		this.timeout = options.timeout ?? 30_000;
		this.retries = options.retries ?? 2;
		this.socket = this.gateway.startsWith("unix:") ? this.gateway.slice("unix:".length) : undefined;
		try {
			this.base = new URL(this.socket ? "http://localhost" : this.gateway);
		} catch {
			throw new FirnError("invalid", `the gateway address ${JSON.stringify(this.gateway)} is not a URL`, { hint: "use http://HOST:PORT, or unix: and a path" });
		}
	}

	/** key returns the key of a session: `agent:<agent>:<kind>:<names…>`, with the names escaped. */
	key(kind, ...names) {
		return ["agent", this.agent, kind, ...names.map(escapeName)].join(":");
	}

	/** request sends a request and returns the decoded response. Requests that are safe to repeat are retried. */
	async request(method, path, { body, headers = {}, query } = {}) {
		const url = new URL(path, this.base);
		for (const [name, value] of Object.entries(query ?? {})) if (value !== undefined) url.searchParams.set(name, String(value));
		const repeatable = method === "GET" || "Idempotency-Key" in headers;
		for (let attempt = 0; ; attempt++) {
			try {
				return await this.send(method, url, headers, body === undefined ? undefined : JSON.stringify(body));
			} catch (error) {
				if (!repeatable || attempt >= this.retries || !retried.has(error.kind)) throw error;
				await sleep(Math.min((error.retryAfter ?? 0) * 1000 || 100 * 4 ** attempt, 5000));
			}
		}
	}

	/** send sends a request once. */
	send(method, url, headers, body) {
		const all = { ...headers, Accept: "application/json" };
		if (this.token) all.Authorization = `Bearer ${this.token}`;
		if (body !== undefined) Object.assign(all, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
		return new Promise((resolve, reject) => {
			const { request } = url.protocol === "https:" ? https : http;
			const req = request(url, { method, headers: all, socketPath: this.socket, timeout: this.timeout }, (res) => {
				const chunks = [];
				res.on("data", (chunk) => chunks.push(chunk));
				res.on("error", (cause) => reject(this.unreachable(cause)));
				res.on("aborted", () => reject(this.unreachable(new Error("the connection was closed"))));
				res.on("end", () => {
					try {
						resolve(decode(res, Buffer.concat(chunks).toString("utf8")));
					} catch (error) {
						reject(error);
					}
				});
			});
			req.on("timeout", () => req.destroy(new FirnError("timeout", `no response from the gateway at ${this.gateway} within ${this.timeout} ms`)));
			req.on("error", (cause) => reject(cause instanceof FirnError ? cause : this.unreachable(cause)));
			req.end(body);
		});
	}

	unreachable(cause) {
		const hint = "start it with: firn serve; set the address with FIRN_GATEWAY or the option gateway";
		return new FirnError("unreachable", `cannot reach the gateway at ${this.gateway}: ${cause.code ?? cause.message}`, { hint, cause });
	}
}

/** decode returns the body of a response, or throws the error in it. */
function decode(res, text) {
	let body;
	try {
		body = text ? JSON.parse(text) : undefined;
	} catch {
		body = undefined;
	}
	if (res.statusCode < 400 && (body !== undefined || !text)) return body;
	const { kind = "internal", message = `the gateway responded with status ${res.statusCode} and no JSON`, hint, request, end } = body?.error ?? {};
	const retryAfter = Number(res.headers["retry-after"]) || undefined;
	throw new FirnError(kind, message, { status: res.statusCode, hint: hint ?? hints[kind], request, end, retryAfter });
}

const hints = {
	"no-token": "create a token with: firn token create NAME --scope write; set it with FIRN_TOKEN or the option token",
	"not-allowed": "the token needs the scope write, and must not be bound to other keys",
	"too-large": "raise gateway.body_limit or store.max_line, or store less in one message",
};

/** escapeName encodes a name for a key, so that unescapeName returns it: keys are lower case and use colons. */
export function escapeName(name) {
	return name === "" ? "_" : String(name).replace(/[^a-z0-9-]/gu, (c) => Array.from(Buffer.from(c), (b) => `_${b.toString(16).padStart(2, "0")}`).join(""));
}

/** unescapeName reverses escapeName. */
export function unescapeName(name) {
	if (name === "_") return "";
	const bytes = name.replace(/_([0-9a-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
	return Buffer.from(bytes, "latin1").toString("utf8");
}
