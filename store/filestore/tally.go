package filestore

import (
	"encoding/json"
	"maps"

	"firn.dev"
	"firn.dev/store"
)

// tally is what the row of a key tells of its session beside where it is: what was
// used, how large the conversation is, how often it was compacted. It is there for
// people and programs that look at the table; firn itself asks the log, and what is
// changed here by hand changes nothing.
type tally map[string]int64

// flushType is the type of the entry that says that notes were taken before a
// compaction.
const flushType = "firn.memory-flush"

// tallyOf returns what entries tell of the session they are appended to; nil if that
// is nothing.
func tallyOf(entries []firn.Entry) tally {
	var t tally
	for _, e := range entries {
		c, ok := e.Body.(*firn.Custom)
		if !ok {
			continue
		}
		switch c.Type {
		case firn.CountersType:
			t = t.with(countersIn(c.Data))
		case flushType:
			var mark struct{ Compactions int64 }
			if json.Unmarshal(c.Data, &mark) == nil {
				t = t.with(tally{"memoryFlushAt": e.Time.UnixMilli(), "memoryFlushCompactionCount": mark.Compactions})
			}
		}
	}
	return t
}

// countersIn is what the counters at the end of a turn tell.
func countersIn(data json.RawMessage) tally {
	var c struct{ Input, Output, CacheRead, CacheWrite, Window, Compactions int64 }
	if json.Unmarshal(data, &c) != nil || !store.Plausible(c.Input, c.Output, c.CacheRead, c.CacheWrite, c.Window, c.Compactions) {
		return nil
	}
	return tally{
		"inputTokens": c.Input, "outputTokens": c.Output, "cacheRead": c.CacheRead, "cacheWrite": c.CacheWrite,
		"totalTokens": c.Window, "compactionCount": c.Compactions,
	}
}

// with is a tally with what came later.
func (t tally) with(later tally) tally {
	if t == nil {
		return maps.Clone(later)
	}
	maps.Copy(t, later)
	return t
}

// note writes the tally into a row, always in the same order. A size that is not
// known, as after a compaction, is left out.
func (t tally) note(r *row) {
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
