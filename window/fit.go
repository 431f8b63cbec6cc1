package window

import (
	"firn"
)

// Limit leaves out all but the last turns of the user. A turn begins with a
// message that the user said and ends before the next one; what stands before
// the first such message goes as soon as a turn does. With turns <= 0 nothing
// is left out. [Path.Out] tells what went as [TurnLimit].
//
// Like all methods that leave something out or shorten it, it returns a new
// path and never changes p nor any entry, which belong to the log.
func (p Path) Limit(turns int) Path {
	return p // skeleton
}

// Fit leaves out the oldest whole turns until what is sent is at most budget
// tokens by the counter; nil means [Chars]. The system prompt and what is
// injected are not on the path: take them off the budget first. [Path.Out]
// tells what went as [OverBudget].
//
// The summary of a compaction always stays, and so does the last turn. If that
// is still too much, the oldest rounds of the last turn go, which are a message
// of the assistant with the results of its calls; what the user said to begin
// it stays. Calls and results are never parted. What cannot be left out may
// still be too much: [Build] tells how much it is.
func (p Path) Fit(budget int64, counter TokenCounter) Path {
	return p // skeleton
}

// PathOf makes a path of messages that a caller supplies, to replay them or to
// take them to another provider. The ids of its entries are made up, and the
// same for the same number of messages; there is no log behind it.
func PathOf(messages []firn.Message) Path {
	return Path{} // skeleton
}
