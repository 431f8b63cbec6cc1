// Package formats is the room of other tools: how Claude Code, Codex, pi, OpenClaw,
// CrabTalk, claw0 and Cersei write sessions (dialect/...), the table of them
// (dialects), conversion, adoption of their folders, and stores over their files.
// The file stores import dialect and dialect/native only; gateway, ops and term import
// the rest.
package formats
