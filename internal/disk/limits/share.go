// Package limits fits the number of open files and connections of a process to its limit of
// file descriptors, and reports when they run out.
package limits

// Share is the division of a process's file descriptors. All of its parts plus the reserve
// fit into Limit.
type Share struct {
	// Limit is the number of descriptors that the process may open.
	Limit int
	// Connections is the maximum number of accepted connections. Each counts twice, because
	// most requests read a file.
	Connections int
	// Transcripts is the maximum number of sessions kept open for appending. Each counts
	// twice, because a session of several parts needs its first and its last.
	Transcripts int
}

// reserve is the number of descriptors for everything else: the standard streams, the
// poller, listeners, locks, the commit log, one watcher, five connections to the word index
// with two files each, the pipes of a command, and short-lived files.
const reserve = 32

// Unlimited is the limit where the system has none or does not report it.
const Unlimited = 1 << 20

// MinDescriptors is the lowest limit that a gateway supports.
const MinDescriptors = 64

// Divide divides a number of descriptors. Below MinDescriptors the result may exceed the
// limit, but at least one of each is allowed.
func Divide(limit int) Share {
	left := limit - reserve
	return Share{Limit: limit, Connections: max(left/3, 1), Transcripts: max(left/6, 1)}
}

// Current divides the descriptors of this process. The Go runtime raises the soft limit to
// the hard limit at startup; child processes get the original.
func Current() Share { return Divide(Descriptors()) }
