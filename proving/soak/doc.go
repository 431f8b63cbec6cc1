// Command soak runs a real gateway for a long time under mixed load and faults, and
// compares the resulting files with the acknowledgments that clients received.
//
// It builds bin/firn, starts firn serve on a small file system of its own, and uses it over
// HTTP and the command line: messages, entries, branches, compactions, searches, event
// streams, pages, hooks, resets. Meanwhile the gateway is killed during turns, the disk is
// full or stalls, the clock of the gateway (not of the machine) jumps, and the indexes are
// corrupted. Acknowledged messages must exist once and in order.
//
// With -promise it runs a fixed scenario instead: a session of many gigabytes, and a
// gateway that is killed during a tool call and during a compaction while its disk is full.
// It checks that the session can be resumed, searched, compacted, undone and continued, and
// that writes to a full disk fail with a reason.
//
// With -sync it runs three homes instead, whose commands talk, change titles and notes, and sync
// through a target all the time. Commands are killed, and the target is full, stalls, and loses
// and cuts files. When all have synced until nothing changes, every acknowledged message and note
// must exist once on each machine, and all must show the same.
//
// It runs on Linux. Mounting a disk requires root; clock jumps require amd64. The summary
// lists the faults that could not be tried; if $CI is set, they fail the run.
package main
