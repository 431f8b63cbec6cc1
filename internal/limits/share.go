// Package limits fits what a process keeps open to the number of file
// descriptors that the system lets it have, and reports when they run out.
package limits

// Share is how the file descriptors of a process are divided. What it names
// together with the reserve fits into Limit.
type Share struct {
	// Limit is the number of descriptors the process may have.
	Limit int
	// Connections is how many connections may be accepted at a time. Each is
	// counted twice: most requests read a file.
	Connections int
	// Transcripts is how many sessions may be kept open to append to. Each is
	// counted twice: a session of several parts needs its first and its last.
	Transcripts int
}

// reserve is the number of descriptors that are neither connections nor
// transcripts: the standard streams, the poller, listeners, locks, the commit
// log, one watcher, five connections to the index of words with two files
// each, the pipes of a command, and files that are open for a moment.
const reserve = 32

// Unlimited is the limit where the system has none, or does not report it.
const Unlimited = 1 << 20

// MinDescriptors is the lowest limit that a gateway is made for.
const MinDescriptors = 64

// Divide divides a number of descriptors. Below MinDescriptors nothing is
// promised, but at least one of each is allowed.
func Divide(limit int) Share {
	left := limit - reserve
	return Share{Limit: limit, Connections: max(left/3, 1), Transcripts: max(left/6, 1)}
}

// Current divides the descriptors that this process may have. Go has raised
// the soft limit to the hard one at start; child processes get the original.
func Current() Share { return Divide(Descriptors()) }
