package window

import (
	"encoding/json"
	"slices"

	"firn.dev"
)

// KnewField is an extra field of an answer's entry: the last entry that the
// model knew of when it gave the answer. It is there if the user said something
// meanwhile, which then stands before the answer in the log though the answer
// says nothing of it.
const KnewField = "knew"

// WithKnew marks an answer with the last entry it knew of.
func WithKnew(answer firn.Entry, last firn.EntryID) firn.Entry {
	value, err := json.Marshal(string(last))
	if err != nil {
		return answer // a string can always be spelt
	}
	answer.Extra = append(slices.Clip(answer.Extra), firn.Field{Name: KnewField, Value: value})
	return answer
}

// Knew returns the last entry that an answer knew of; empty if nothing was
// said while it was given.
func Knew(answer firn.Entry) firn.EntryID {
	if len(answer.Extra) == 0 {
		return ""
	}
	return firn.EntryID(stringOf(answer.Extra.Get(KnewField)))
}

// overheard moves what the user said while an answer was given behind it: that
// is where the model must see it, or it would take it for answered. The answer
// is the last item, and the entry at the given place.
func (r *rendering) overheard(entries []firn.Entry, at int) {
	knew := Knew(entries[at])
	if knew == "" || len(r.items) == 0 || r.items[len(r.items)-1].at != at {
		return
	}
	first := at
	for first > 0 && entries[first-1].ID != knew {
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
		if it.said {
			it.at, it.moved = at+1, true
			later = append(later, it)
		} else {
			stay = append(stay, it)
		}
	}
	r.items = append(append(r.items[:cut], stay...), later...)
}

// knownBefore reports whether an item stands before a place on the path. What
// was moved behind an answer was known to whoever knew that answer.
func (it *Item) knownBefore(place int) bool {
	if it.moved {
		return it.at-1 < place
	}
	return it.at < place
}
