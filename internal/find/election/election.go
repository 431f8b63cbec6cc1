// Package election computes the title, tags and keys of a session whose copies on several
// machines have the same entries in different orders.
package election

import (
	"cmp"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/entryid"
	"firn.dev/internal/base/syncmark"
	"firn.dev/store"
)

// Election computes the checkpoint of a session from the set of its entries, independent of
// their order in the file. Copies of a session on several machines have the same entries in
// different orders; they elect the same title, tags and keys: the newest by creation time of
// the entry's ID, then by ID. A store assigns IDs that are greater than all IDs of the
// session, so a change that was made knowing another one is newer even if a clock is wrong.
type Election struct {
	session firn.ID
	// file is the state that does not depend on the order: whether the session is hidden
	// and whether it has a prompt.
	file  store.Checkpoint
	dated []firn.Entry
}

// New returns an election without entries.
func New(session firn.ID) *Election { return &Election{session: session} }

// Add adds an entry. A tombstone must be added after its target, as it is in every file.
func (x *Election) Add(e firn.Entry) {
	if e.Body == nil || syncmark.Has(&e) {
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
		if b.Type == firn.TagsType || b.Type == store.KeyType {
			x.dated = append(x.dated, e)
		}
	}
}

// Checkpoint returns the elected state.
func (x *Election) Checkpoint() store.Checkpoint {
	slices.SortStableFunc(x.dated, compareAge)
	c := store.Checkpoint{Prompted: x.file.Prompted, Hiding: x.file.Hiding}
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
	if n, ok := entryid.Number(e.ID); ok {
		return int64(n >> 20)
	}
	return e.Time.UnixMilli()
}
