/** How to reach a gateway. Every option has a default. */
export interface FirnOptions {
	/** A URL, or `unix:` and a path. Default: `FIRN_GATEWAY`, else the socket of the home. */
	gateway?: string;
	/** Default: `FIRN_TOKEN`. The socket needs no token. */
	token?: string;
	/** The agent that owns the sessions. Default: `main`. */
	agent?: string;
	/** Milliseconds to wait for a response. Default: 30000. */
	timeout?: number;
	/** How often a request that is safe to repeat is sent again. Default: 2. */
	retries?: number;
}

/** A request that failed. `kind` is an error kind of the gateway, `unreachable` or `timeout`. */
export declare class FirnError extends Error {
	readonly kind: string;
	/** The HTTP status; 0 without a response. */
	readonly status: number;
	readonly hint?: string;
	/** The request ID in the gateway's log. */
	readonly request?: string;
	/** The current end of the session, for conflicts. */
	readonly end?: number;
}

export declare class FirnClient {
	constructor(options?: FirnOptions);
	readonly gateway: string;
	readonly agent: string;
	request(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string>; query?: Record<string, unknown> }): Promise<any>;
}
