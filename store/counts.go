package store

import (
	"encoding/json"

	"firn.dev"
)

// Counts are what was counted of a session at the end of its latest turn. All
// are zero if nothing was counted yet, as in what another tool wrote.
type Counts struct {
	// Turns is how often the user spoke, Messages how many messages there are,
	// Compactions how many there were, Branches how many ends of branches.
	Turns, Messages, Compactions, Branches int
	// Tokens is what was used in all, Window how large the conversation was as
	// last reported.
	Tokens, Window int64
	Cost           float64
}

// Plausible reports whether numbers can have been counted: none is negative or so
// large that a sum of them overflows. Counts that are not are not believed, and what
// they count is counted again.
func Plausible(counts ...int64) bool {
	for _, n := range counts {
		if n < 0 || n > 1<<53 {
			return false
		}
	}
	return true
}

// mostCost is more than any session can have cost.
const mostCost = 1e12

// CountsOf returns the counts that an entry carries, if it is one that does, and
// they are [Plausible].
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
	if !Plausible(data.Input, data.Output, data.CacheRead, data.CacheWrite, data.Window, int64(data.Turns), int64(data.Messages), int64(data.Compactions)) ||
		data.Cost < 0 || data.Cost > mostCost {
		return Counts{}, false
	}
	return Counts{
		Turns: max(data.Turns, 0), Messages: max(data.Messages, 0), Compactions: max(data.Compactions, 0), Branches: len(data.Left) + 1,
		Tokens: max(data.Input+data.Output+data.CacheRead+data.CacheWrite, 0), Window: max(data.Window, 0), Cost: max(data.Cost, 0),
	}, true
}

// EntriesBefore returns how many entries stand before the one that carries counts, if
// it is one that does and says so. It is their number in the order of the file.
func EntriesBefore(c *firn.Custom) (int, bool) {
	if c.Type != firn.CountersType {
		return 0, false
	}
	var data struct{ Entries int64 }
	if json.Unmarshal(c.Data, &data) != nil || data.Entries <= 0 || !Plausible(data.Entries) {
		return 0, false
	}
	return int(data.Entries), true
}
