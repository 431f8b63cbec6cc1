package store

import (
	"encoding/json"

	"firn"
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

// CountsOf returns the counts that an entry carries, if it is one that does.
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
	return Counts{
		Turns: max(data.Turns, 0), Messages: max(data.Messages, 0), Compactions: max(data.Compactions, 0), Branches: len(data.Left) + 1,
		Tokens: max(data.Input+data.Output+data.CacheRead+data.CacheWrite, 0), Window: max(data.Window, 0), Cost: max(data.Cost, 0),
	}, true
}
