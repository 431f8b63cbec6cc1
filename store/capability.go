package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"firn.dev"
)

// Deferred is a store that can append without waiting for the disk. It is meant for entries
// that may be lost in a crash, such as checkpoints of a stream. An ordinary Append also
// makes all earlier entries durable.
type Deferred interface {
	// AppendDeferred is like Append, but does not guarantee durability.
	AppendDeferred(ctx context.Context, id firn.ID, expect Pos, entries ...firn.Entry) (Pos, error)
	// Sync makes all entries appended so far durable.
	Sync(ctx context.Context, id firn.ID) error
}

// Confirmer is a store that can make existing entries durable on request.
type Confirmer interface {
	// Confirm makes the entries of a session from a position on durable. It works for
	// entries written by any process, and after an earlier attempt failed with
	// ErrUnknownOutcome.
	Confirm(ctx context.Context, id firn.ID, from Pos) error
}

// Confirm makes the entries of a session from a position on durable. It does nothing if
// every readable entry of the store is durable anyway.
func Confirm(ctx context.Context, s Store, id firn.ID, from Pos) error {
	if c, ok := As[Confirmer](s); ok {
		return c.Confirm(ctx, id, from)
	}
	return nil
}

// Keyed is a store that maps keys to sessions. [CheckKey] defines valid keys.
type Keyed interface {
	// Lookup returns the session a key points to. It returns ErrNotFound if the key is
	// unbound or its session was removed or purged.
	Lookup(ctx context.Context, key string) (firn.ID, error)
	// Bind points a key to a session, replacing an earlier binding. It returns ErrNotFound
	// if the session does not exist. The binding is durable when Bind returns. Transcripts
	// do not record it; the function [Bind] does that as well.
	Bind(ctx context.Context, key string, id firn.ID) error
}

// KeyLister is a Keyed store that lists its keys in pages.
type KeyLister interface {
	// ListKeys returns a page of the keys that point to a session, in the order of
	// [KeyUse.Compare]. The session may have been removed since: see Lookup. It reads no
	// session.
	ListKeys(ctx context.Context, q KeyQuery) (KeyPage, error)
}

// KeyQuery selects a page of keys.
type KeyQuery struct {
	// Agent selects the keys of an agent, see [AgentOf]; empty selects all.
	Agent string
	// Matches selects keys; nil selects all.
	Matches func(key string) bool
	// After is the last key of the previous page; zero selects the first page.
	After KeyUse
	// Limit is the maximum number of keys.
	Limit int
}

// KeyPage is a part of the list of keys.
type KeyPage struct {
	Keys []KeyUse
	// More is set if there are more keys after the last one.
	More bool
	// Total is the number of selected keys on all pages.
	Total int
}

// KeyUse is a key, its session and the time of its last use, zero if unknown.
type KeyUse struct {
	Key     string
	Session firn.ID
	Used    time.Time
}

// Compare orders by Used, newest first, then by Key.
func (u KeyUse) Compare(other KeyUse) int {
	return cmp.Or(other.Used.Compare(u.Used), cmp.Compare(u.Key, other.Key))
}

// Unbinder is a Keyed store that can delete keys.
type Unbinder interface {
	// Unbind deletes a key and everything stored under it. Unbinding an unknown key is not
	// an error. The change is durable when Unbind returns. Transcripts do not record it;
	// the function [Release] does that as well.
	Unbind(ctx context.Context, key string) error
}

// Claimer is a Keyed store that can bind a key atomically: of several concurrent callers,
// only one succeeds.
type Claimer interface {
	// Claim binds the key like Bind if Lookup would not find it, and does nothing
	// otherwise. It returns the session the key points to afterwards.
	Claim(ctx context.Context, key string, id firn.ID) (firn.ID, error)
}

// Remover is a store that can archive, remove and purge sessions. Everything except Purge
// is reversible and deletes no data. Repeating an operation is not an error. An unknown
// session or entry yields ErrNotFound.
type Remover interface {
	// Archive hides a session from lists, Unarchive shows it again. An archived session can
	// still be read and appended to.
	Archive(ctx context.Context, id firn.ID) error
	Unarchive(ctx context.Context, id firn.ID) error
	// Remove moves a session to the trash bin, Restore moves it back. While a session is in the
	// bin its ID stays reserved, and reading and appending return ErrNotFound.
	Remove(ctx context.Context, id firn.ID, reason string) error
	Restore(ctx context.Context, id firn.ID) error
	// Purge permanently erases a session, even one in the trash bin, or only some of its
	// entries. It leaves a gap in place of each entry (an [firn.Opaque] entry of kind
	// [firn.KindErased] with the old ID and parent) and returns a receipt. The ID of a purged
	// session stays reserved. If the store has saved fragments of unreadable lines, purging an
	// entry also erases the fragments of its session, since they may belong to it. Other
	// complete entries that were saved are kept.
	Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (Receipt, error)
}

// Binner is a Remover that lists the sessions in its trash bin.
type Binner interface {
	// Bin returns the sessions in the trash bin, most recently removed first. Purged sessions
	// are not included.
	Bin(ctx context.Context) ([]Binned, error)
}

// Binned is a session in the trash bin. Its Info is the one that List would return after a
// restore. Bytes is the disk space used in the trash bin.
type Binned struct {
	Info
	// Removed is the time the session was moved to the trash bin; zero if unknown.
	Removed time.Time
	Reason  string
}

// SortBinned orders sessions in the trash bin by Removed, newest first, then by ID.
func SortBinned(all []Binned) {
	slices.SortFunc(all, func(a, b Binned) int { return cmp.Or(b.Removed.Compare(a.Removed), cmp.Compare(a.ID, b.ID)) })
}

// Weigher is a Remover that can report in advance how much Purge would erase.
type Weigher interface {
	// Weigh returns the files that purging a session would remove, named as in the receipt,
	// and their total size. It changes nothing. If whole is false, only entries are to be
	// purged, and Weigh returns the files that this would remove completely.
	Weigh(ctx context.Context, id firn.ID, whole bool) (files []string, bytes int64, err error)
}

// Receipt records a purge without revealing the erased content.
type Receipt struct {
	Session firn.ID        `json:"session"`
	Entries []firn.EntryID `json:"entries,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Begun   time.Time      `json:"begun"`
	// Done is zero while the purge is in progress. An interrupted purge can be repeated.
	Done time.Time `json:"done,omitzero"`
	// Bytes is the number of bytes that were overwritten or removed.
	Bytes int64 `json:"bytes"`
	// Files are the changed or removed files, relative to the home.
	Files []string `json:"files"`
}

// Placer is a store whose positions map to byte offsets in files.
type Placer interface {
	// Place returns the part of a session, counting from 1, and the byte offset in it for a
	// position. It returns zeros if the session is not stored in files.
	Place(ctx context.Context, id firn.ID, pos Pos) (part int, offset int64)
}

// As returns the capability T of a store. It looks through wrappers, which have a method
// Unwrap that returns the wrapped store.
func As[T any](s Store) (T, bool) {
	for {
		if t, ok := s.(T); ok {
			return t, true
		}
		w, ok := s.(interface{ Unwrap() Store })
		if !ok {
			var none T
			return none, false
		}
		s = w.Unwrap()
	}
}
