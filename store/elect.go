package store

import (
	"cmp"
	"encoding/json"
	"slices"

	"firn.dev"
)

// SyncField is the extra field of entries that a sync or a purge appended to the copy of a
// session on one machine: a head that stays where it was, counters of that copy. Such an
// entry is not copied to other machines unless another entry refers to it, and never takes
// part in an [Election].
const SyncField = "sync"

// syncMark is the value of SyncField.
const syncMark = `"local"`

// MarkSync marks an entry as appended by a sync or a purge.
func MarkSync(e *firn.Entry) {
	e.Extra = append(slices.Clip(e.Extra), firn.Field{Name: SyncField, Value: json.RawMessage(syncMark)})
}

// BySync reports whether an entry was appended by a sync or a purge.
func BySync(e *firn.Entry) bool { return e.Extra.Get(SyncField) != nil }

// Election computes the checkpoint of a session from the set of its entries, independent of
// their order in the file. Copies of a session on several machines have the same entries in
// different orders; they elect the same title, tags and keys: the newest by creation time of
// the entry's ID, then by ID. A store assigns IDs that are greater than all IDs of the
// session, so a change that was made knowing another one is newer even if a clock is wrong.
type Election struct {
	session firn.ID
	// file is the state that does not depend on the order: whether the session is hidden
	// and whether it has a prompt.
	file  Checkpoint
	dated []firn.Entry
}

// NewElection returns an election without entries.
func NewElection(session firn.ID) *Election { return &Election{session: session} }

// Add adds an entry. A tombstone must be added after its target, as it is in every file.
func (x *Election) Add(e firn.Entry) {
	if e.Body == nil || BySync(&e) {
		return
	}
	switch b := e.Body.(type) {
	case *firn.Tombstone:
		x.file.See(x.session, e)
	case *firn.Message:
		x.file.Prompted = x.file.Prompted || b.Role == firn.RoleUser && b.Text() != ""
		if firn.DirectoryOf(e) != "" {
			e.Body = &firn.Message{Role: b.Role}
			x.dated = append(x.dated, e)
		}
	case *firn.Header, *firn.Title:
		x.dated = append(x.dated, e)
	case *firn.Custom:
		if b.Type == firn.TagsType || b.Type == KeyType {
			x.dated = append(x.dated, e)
		}
	}
}

// Checkpoint returns the elected state.
func (x *Election) Checkpoint() Checkpoint {
	slices.SortStableFunc(x.dated, compareAge)
	c := Checkpoint{Prompted: x.file.Prompted, Hiding: x.file.Hiding}
	for _, e := range x.dated {
		c.See(x.session, e)
	}
	return c
}

// compareAge orders entries by creation time, then by ID. The header is the oldest.
func compareAge(a, b firn.Entry) int {
	return cmp.Or(cmp.Compare(ageOf(&a), ageOf(&b)), cmp.Compare(a.ID, b.ID))
}

// ageOf returns the creation time of an entry in milliseconds since 1970: that of its native
// ID, or else its time.
func ageOf(e *firn.Entry) int64 {
	if e.Body.Kind() == firn.KindHeader {
		return 0
	}
	if n, ok := ordinal(e.ID); ok {
		return int64(n >> 20)
	}
	return e.Time.UnixMilli()
}
