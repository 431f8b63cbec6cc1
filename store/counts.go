package store

import (
	"encoding/json"

	"firn.dev"
)

// Counts are the counters of a session at the end of its latest turn. All are zero if none
// were recorded, as in sessions of other tools.
type Counts struct {
	// Turns is the number of turns of the user, Messages the number of messages,
	// Compactions the number of compactions, Branches the number of branches.
	Turns, Messages, Compactions, Branches int
	// Tokens is the total token usage, Window the last reported size of the conversation in
	// tokens.
	Tokens, Window int64
	Cost           float64
}

// ValidCounts reports whether all counts are in range: not negative, and small enough that
// sums do not overflow. Implausible counts are ignored and computed again.
func ValidCounts(counts ...int64) bool {
	for _, n := range counts {
		if n < 0 || n > 1<<53 {
			return false
		}
	}
	return true
}

// maxCost is the upper limit for a plausible cost.
const maxCost = 1e12

// CountsOf returns the counts of an entry. It returns false if the entry has none or they
// are not [ValidCounts].
func CountsOf(c *firn.Custom) (Counts, bool) {
	if c.Type != firn.CountersType {
		return Counts{}, false
	}
	var data struct {
		Input, Output, CacheRead, CacheWrite int64
		Cost                                 float64
		Turns, Messages, Compactions         int
		Window                               int64
		Left                                 []firn.EntryID
	}
	if json.Unmarshal(c.Data, &data) != nil {
		return Counts{}, false
	}
	if !ValidCounts(data.Input, data.Output, data.CacheRead, data.CacheWrite, data.Window, int64(data.Turns), int64(data.Messages), int64(data.Compactions)) ||
		data.Cost < 0 || data.Cost > maxCost {
		return Counts{}, false
	}
	return Counts{
		Turns: max(data.Turns, 0), Messages: max(data.Messages, 0), Compactions: max(data.Compactions, 0), Branches: len(data.Left) + 1,
		Tokens: max(data.Input+data.Output+data.CacheRead+data.CacheWrite, 0), Window: max(data.Window, 0), Cost: max(data.Cost, 0),
	}, true
}
