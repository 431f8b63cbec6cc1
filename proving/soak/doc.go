// Command soak lets one real gateway work for long, under mixed load and faults,
// and holds what is there afterwards against what clients were told.
//
// It builds bin/firn, starts firn serve on a small file system of its own, and
// talks to it over HTTP and the command line: messages, entries, branches,
// compactions, searches, streams of events, pages, hooks, resets. Meanwhile the
// gateway is killed in the middle of turns, the disk is full or stalls, the
// clock of the gateway (not that of the machine) jumps, and the indexes are
// scribbled on. What was acknowledged must be there once and in order.
//
// With -promise it tells one story instead: a session of many gigabytes, a gateway that is
// killed in a tool call and in a compaction while its disk is full, and what is promised of
// it: resumed, found, refused with a reason, undone, gone on with.
//
// It runs on Linux. To mount a disk it needs root; the clock jumps on amd64
// only. What cannot be tried is named in the summary, and is a fault of the run
// where $CI is set.
package main
