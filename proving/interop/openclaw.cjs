// Raises OpenClaw's limit of five seconds for the start of its lease thread, which a busy
// machine exceeds: node --require openclaw.cjs openclaw.mjs
const startMs = 300_000;

globalThis.setTimeout = new Proxy(setTimeout, {
	apply(original, self, [callback, ms, ...args]) {
		const isLeaseStart = String(callback).includes('settleStartup("timeout")');
		return Reflect.apply(original, self, [callback, isLeaseStart ? startMs : ms, ...args]);
	},
});
