package window

import (
	"encoding/json"
	"slices"

	"firn.dev"
)

// lastSeenField is an extra field of an answer's entry: the last entry that the model had seen
// when it gave the answer. It is present if user messages arrived in the meantime; they
// precede the answer in the log although it does not respond to them.
const lastSeenField = "knew"

// WithLastSeen marks an answer with the last entry that the model had seen.
func WithLastSeen(answer firn.Entry, last firn.EntryID) firn.Entry {
	value, err := json.Marshal(string(last))
	if err != nil {
		return answer // marshaling a string cannot fail
	}
	answer.Extra = append(slices.Clip(answer.Extra), firn.Field{Name: lastSeenField, Value: value})
	return answer
}

// LastSeen returns the last entry that the model had seen when it gave the answer. It is empty
// if no message arrived in the meantime.
func LastSeen(answer firn.Entry) firn.EntryID {
	if len(answer.Extra) == 0 {
		return ""
	}
	return firn.EntryID(stringOf(answer.Extra.Get(lastSeenField)))
}

// moveUnknownMessages moves user messages that arrived during an answer after that answer.
// Otherwise the model would take them for answered. The answer is the last item, and the
// entry at the given index.
func (r *rendering) moveUnknownMessages(entries []firn.Entry, at int) {
	seen := LastSeen(entries[at])
	if seen == "" || len(r.items) == 0 || r.items[len(r.items)-1].at != at {
		return
	}
	first := at
	for first > 0 && entries[first-1].ID != seen {
		first--
	}
	if first == 0 {
		return // it is not on the path
	}
	var stay, later []Item
	cut := len(r.items)
	for cut > 0 && !r.items[cut-1].knownBefore(first) {
		cut--
	}
	for _, it := range r.items[cut:] {
		if it.byUser {
			it.at, it.moved = at+1, true
			later = append(later, it)
		} else {
			stay = append(stay, it)
		}
	}
	r.items = append(append(r.items[:cut], stay...), later...)
}

// knownBefore reports whether an item precedes an index of the path. Messages that were
// moved after an answer count as known once that answer is known.
func (it *Item) knownBefore(place int) bool {
	if it.moved {
		return it.at-1 < place
	}
	return it.at < place
}
