// Package interop proves, with the real programs, that other tools open what
// firn writes and that firn reads what they add. It has no code of its own,
// only tests.
//
// The programs are three releases of pi, whose session format the native one is:
// the last of the old line (0.73.1), one of the new (0.87.1), and the newest
// (1.5.0), of which only the bundled command can be installed: packages that it
// names are missing from npm, so package.json puts others in their place, which
// the bundle does not use. Then Claude Code (2.1.325), which comes with its SDK
// (0.3.325), and Codex (0.166.0). npm installs them, and the node that runs some
// of them, at the versions of package-lock.json; `make test` calls it.
//
// `make interop-all` also installs two releases of OpenClaw: the last one that
// keeps sessions in files (2026.5.7), and one that imports them into a database
// (2026.9.6). They are large and slow to start. It hands every session to every
// tool on every API; `make test` hands each session to some.
//
// The provider of the tests refuses what Anthropic and OpenAI refuse, with their
// errors, so that a session which is handed over and resumed is one that a real
// provider would have taken. The tests drive pi's own session code
// through pi.mjs and Claude Code's SDK through claude.mjs, and all command lines
// against a provider that the test plays itself. Nothing of it needs a network:
// what a program would send elsewhere is refused, and a test fails if Claude
// Code or Codex tries.
//
// What holds when a session is handed over (firn handoff), be it one that was
// branched, rewound, compacted, hidden in or failed in:
//
//   - Claude Code, Codex, pi and OpenClaw, told to resume it, send a request that
//     their provider takes, with the last words of the session, and nothing of
//     branches that were left.
//   - Claude Code, Codex and pi send the model all that firn
//     would, in its order, and then the question. They change no byte that firn
//     wrote. firn import adds what they said, and nothing twice.
//   - The SDK lists it with its title and reads its messages in order. It also
//     reads what firn converts from transcripts of other tools.
//   - A session that Claude Code or pi began goes on in firn in their own files
//     (firn --in-place), and again in them: they send what was said in firn, do
//     not send what firn hid, and go on where firn rewound to.
//
// What they do differently there is in the tests: thinking is told only to who
// signed it, commands are told in the tool's own words, Claude Code sends no
// pictures with a result that is an error, its SDK shows answers that failed and
// not what is said aside.
//
// What holds for sessions of firn's own home that pi opens, for both releases:
//
//   - pi opens every session of one part. It sees all entries, its leaf is our
//     head, its path is our path, and not a byte of the file changes.
//   - What pi would send to a model is what [firn/window.Build] gives without a
//     profile, message for message.
//   - What pi appends, firn reads as the next entries: the head moves on, and a
//     writer that did not know is told of a conflict.
//   - A file that pi began can be put into a home under its id, and is a
//     session like any other.
//
// What differs is known, and each difference has a test that will notice when
// it goes away:
//
//   - pi ignores tombstones. To pi, what was hidden is still said, and a
//     compaction that was undone still counts.
//   - pi shows the latest title, also an automatic one after the user's.
//   - pi 1.5 sends images in the result of a call that failed in a message behind
//     it, and leaves out what another model thought.
//   - pi tells a model in other words that a command failed or was cancelled.
//   - pi keeps answers that failed in its context and leaves them out when it
//     sends; firn leaves them out of the window.
//   - A message of the role system is part of firn's system prompt; pi 0.73.1
//     drops it.
//   - A compaction by pi does not tell the thinking level that held. pi looks
//     for it all the way back; firn reads no further than what is kept.
//   - Edits of pi 0.87.1 ("context_edit") are carried by firn, not applied.
//   - pi reads only the first part of a transcript. It must not be given a
//     later one: 0.73.1 takes a file without a header for an empty session and
//     writes over it.
//   - pi 0.73.1 writes a session in which no assistant has spoken yet a second
//     time when one does: every entry stands there twice. firn reads it all the
//     same, and verify names it.
package interop
