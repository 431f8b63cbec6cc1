// Package interop proves, with the real programs, that other tools open what
// firn writes and that firn reads what they add. It has no code of its own,
// only tests.
//
// The programs are two releases of pi, whose session format the native one is:
// the last of the old line (0.73.1) and one of the new (0.87.1). npm installs
// them, and the node that runs them, at the versions of package-lock.json;
// `make test` calls it. The tests drive pi's own session code through pi.mjs,
// and its command line against a provider that the test plays itself. Nothing
// of it needs a network.
//
// What holds, for both releases:
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
