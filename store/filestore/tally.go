package filestore

import (
	"encoding/json"
	"maps"

	"firn.dev"
	"firn.dev/store"
)

// tally is the statistics in the row of a key: token usage, size of the conversation,
// number of compactions. They are for users and programs that read the table. firn itself
// reads the log and ignores changes made here.
type tally map[string]int64

// flushType is the type of the entry recorded when notes were taken before a compaction.
const flushType = "firn.memory-flush"

// tallyOf returns the statistics contained in entries; nil if there are none.
func tallyOf(entries []firn.Entry) tally {
	var t tally
	for _, e := range entries {
		c, ok := e.Body.(*firn.Custom)
		if !ok {
			continue
		}
		switch c.Type {
		case firn.CountersType:
			t = t.merge(tallyCounters(c.Data))
		case flushType:
			var mark struct{ Compactions int64 }
			if json.Unmarshal(c.Data, &mark) == nil {
				t = t.merge(tally{"memoryFlushAt": e.Time.UnixMilli(), "memoryFlushCompactionCount": mark.Compactions})
			}
		}
	}
	return t
}

// tallyCounters returns the statistics of an entry of type [firn.CountersType].
func tallyCounters(data json.RawMessage) tally {
	var c struct{ Input, Output, CacheRead, CacheWrite, Window, Compactions int64 }
	if json.Unmarshal(data, &c) != nil || !store.ValidCounts(c.Input, c.Output, c.CacheRead, c.CacheWrite, c.Window, c.Compactions) {
		return nil
	}
	return tally{
		"inputTokens": c.Input, "outputTokens": c.Output, "cacheRead": c.CacheRead, "cacheWrite": c.CacheWrite,
		"totalTokens": c.Window, "compactionCount": c.Compactions,
	}
}

// merge returns t updated with the values of later.
func (t tally) merge(later tally) tally {
	if t == nil {
		return maps.Clone(later)
	}
	maps.Copy(t, later)
	return t
}

// writeTo writes the tally into a row, in a fixed order. An unknown size, as after a
// compaction, is removed.
func (t tally) writeTo(r *row) {
	for _, name := range sessionFields {
		n, ok := t[name]
		switch {
		case !ok:
		case n == 0 && name == "totalTokens":
			r.remove(name)
		default:
			r.setInt(name, n)
		}
	}
}
