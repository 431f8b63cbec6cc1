// Package proving contains long-running checks and those that need other programs: benchmarks
// (bench), long runs under faults (soak), tests with the real Claude Code, Codex, pi and
// OpenClaw (interop), and with a real S3 server (s3). It may import everything; no other package imports it.
package proving
