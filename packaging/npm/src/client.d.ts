/** Options for connecting to a gateway. All are optional. */
export interface FirnOptions {
	/** A URL, or `unix:` followed by a path. Default: `FIRN_GATEWAY`, else the socket in the home directory of firn. */
	gateway?: string;
	/** Default: `FIRN_TOKEN`. The socket needs no token. */
	token?: string;
	/** The agent that owns the sessions. Default: `main`. */
	agent?: string;
	/** Milliseconds to wait for a response. Default: 30000. */
	timeout?: number;
	/** The maximum number of retries of a request that is safe to repeat. Default: 2. */
	retries?: number;
}

/** A failed request. `kind` is an error kind of the gateway, or `unreachable` or `timeout` if there was no response. */
export declare class FirnError extends Error {
	readonly kind: string;
	/** The HTTP status; 0 if there was no response. */
	readonly status: number;
	readonly hint?: string;
	/** The request ID in the gateway's log. */
	readonly request?: string;
	/** The current end of the session; set if `kind` is `conflict`. */
	readonly end?: number;
}

export declare class FirnClient {
	constructor(options?: FirnOptions);
	readonly gateway: string;
	readonly agent: string;
	request(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string>; query?: Record<string, unknown> }): Promise<any>;
}
