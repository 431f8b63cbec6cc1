// Package interop tests with the real programs that other tools open firn's sessions and
// that firn reads the entries they add. It contains only tests.
//
// The programs are three releases of pi, whose session format is the base of the native
// one: the last of the old line (0.73.1), one of the new line (0.87.1), and the newest
// (1.5.0), of which only the bundled command can be installed: some of its packages are
// missing from npm, so package.json replaces them by others, which the bundle does not use.
// Further, Claude Code (2.1.325), which is part of its SDK (0.3.325), and Codex (0.166.0).
// npm installs them, and the Node.js for some of them, at the versions of
// package-lock.json; `make test` runs it.
//
// `make interop-all` also installs two releases of OpenClaw: the last one that stores
// sessions in files (2026.5.7), and one that imports them into a database (2026.9.6). They
// are large and slow to start. It hands every session to every tool on every API; `make
// test` hands each session to some.
//
// The fake provider of the tests rejects the same requests as Anthropic and OpenAI, with
// their errors, so that a resumed session is one that a real provider would accept. The
// tests drive pi's session code through pi.mjs, Claude Code's SDK through claude.mjs, and
// all command lines against the fake provider. No network is needed: requests to other
// hosts are rejected, and a test fails if Claude Code or Codex sends one.
//
// Guarantees for a handed over session (firn handoff), including branched, rewound,
// compacted, partly hidden and failed ones:
//
//   - Claude Code, Codex, pi and OpenClaw resume it with a request that their provider
//     accepts, with the last messages of the session and nothing from abandoned
//     branches.
//   - Claude Code, Codex and pi send the same messages as firn would, in the same order,
//     followed by the question. They change no bytes that firn wrote. firn import adds
//     their new messages without duplicates.
//   - The SDK lists it with its title and reads its messages in order. It also reads
//     transcripts of other tools that firn converted.
//   - A session that Claude Code or pi started can be continued in firn in their own
//     files (firn --in-place), and in them again: they send the messages from firn, omit
//     those that firn hid, and continue where firn rewound to.
//
// The known deviations are in the tests: thinking is sent only to the provider that signed
// it, commands are in the tool's own form, Claude Code sends no images with failed results,
// and its SDK includes failed answers and omits meta messages.
//
// Guarantees for sessions in firn's own home that pi opens, for both releases:
//
//   - pi opens every session of one part. It sees all entries, its leaf is firn's head,
//     its path is firn's path, and the file does not change.
//   - pi sends the same messages as [firn.dev/window.Build] without a profile.
//   - firn reads the entries that pi appends: the head advances, and a concurrent writer
//     gets a conflict.
//   - A file that pi started can be copied into a home under its ID, and is an ordinary
//     session there.
//
// Known differences, each with a test that fails when it disappears:
//
//   - pi ignores tombstones. Hidden messages are still sent, and an undone compaction
//     still counts.
//   - pi shows the latest title, even an automatic one after the user's.
//   - pi 1.5 sends images in the result of a failed call in a separate message after it,
//     and omits thinking of other models.
//   - pi words failed and canceled commands differently.
//   - pi keeps failed answers in its context and omits them when sending; firn omits
//     them from the window.
//   - A message with the role system is part of firn's system prompt; pi 0.73.1 drops
//     it.
//   - A compaction by pi does not record the thinking level. pi searches the whole
//     history for it; firn reads only the kept part.
//   - Edits of pi 0.87.1 ("context_edit") are preserved by firn, but not applied.
//   - pi reads only the first part of a transcript. It must not be given a later one:
//     0.73.1 treats a file without a header as an empty session and overwrites it.
//   - pi 0.73.1 writes a session without an assistant message a second time when the
//     first answer arrives: every entry is there twice. firn can read it, and verify
//     reports it.
package interop
