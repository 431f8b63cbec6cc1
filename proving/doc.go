// Package proving is the room of proofs that take long or need other programs:
// benchmarks (bench), long runs under faults (soak), and the real Claude Code, Codex, pi
// and OpenClaw (interop).
// It may import everything; the product imports nothing of it.
package proving
