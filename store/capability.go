package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"firn.dev"
)

// Deferred is a store that can append without waiting for the disk, for what
// may be lost in a crash: checkpoints of a stream. An ordinary Append makes
// everything before it durable as well.
type Deferred interface {
	// AppendDeferred is Append but for the promise to be durable.
	AppendDeferred(ctx context.Context, id firn.ID, expect Pos, entries ...firn.Entry) (Pos, error)
	// Sync makes durable what was appended so far.
	Sync(ctx context.Context, id firn.ID) error
}

// Confirmer is a store that can be asked to make sure of what is there.
type Confirmer interface {
	// Confirm makes durable what stands in a session from a position on, whoever
	// wrote it, and even if making it durable failed before (ErrUnknownOutcome).
	Confirm(ctx context.Context, id firn.ID, from Pos) error
}

// Confirm makes durable what stands in a session from a position on, if the store
// does not keep all that can be read durable anyway.
func Confirm(ctx context.Context, s Store, id firn.ID, from Pos) error {
	if c, ok := As[Confirmer](s); ok {
		return c.Confirm(ctx, id, from)
	}
	return nil
}

// Keyed is a store that remembers which session a key points at. What may be a
// key is said by [CheckKey].
type Keyed interface {
	// Lookup returns the session a key points at, or ErrNotFound if it points
	// nowhere or at a session that was removed or purged.
	Lookup(ctx context.Context, key string) (firn.ID, error)
	// Bind points a key at a session, wherever it pointed before. The session
	// must exist, else ErrNotFound. It is durable when it returns. The transcripts do
	// not say so: see the function [Bind], which writes it there too.
	Bind(ctx context.Context, key string, id firn.ID) error
}

// Unbinder is a Keyed store from which keys can be taken away.
type Unbinder interface {
	// Unbind makes a key point nowhere, and forgets what else is kept under it. A
	// key that points nowhere stays so. It is durable when it returns. The
	// transcripts do not say so: see the function [Release], which writes it there
	// too.
	Unbind(ctx context.Context, key string) error
}

// Claimer is a Keyed store in which a key can be bound by at most one of those
// who try at the same time.
type Claimer interface {
	// Claim is Bind if Lookup would not find the key, and does nothing
	// otherwise. It returns the session that the key points at afterwards.
	Claim(ctx context.Context, key string, id firn.ID) (firn.ID, error)
}

// Remover is a store that can put sessions away. Everything but Purge can be
// undone and removes no byte. Asking for what is already so is not an error;
// naming a session or an entry that never was is ErrNotFound.
type Remover interface {
	// Archive puts a session out of the list, Unarchive back into it. An
	// archived session can be read and appended to as before.
	Archive(ctx context.Context, id firn.ID) error
	Unarchive(ctx context.Context, id firn.ID) error
	// Remove moves a session to the bin, Restore takes it out again. While it
	// is there its id stays taken: reading and appending are ErrNotFound.
	Remove(ctx context.Context, id firn.ID, reason string) error
	Restore(ctx context.Context, id firn.ID) error
	// Purge erases for good: a session, also one in the bin, or only some of
	// its entries. What is left is a gap where they were (an [firn.Opaque]
	// entry of kind [firn.KindErased] with the old id and parent) and the
	// receipt, which it returns. The id of a purged session stays taken. Where a
	// store has saved pieces of lines that it could not read, purging an entry
	// erases those of its session too: nobody can tell that they are not of it.
	// Whole entries that it saved stay, but for the ones that are named.
	Purge(ctx context.Context, id firn.ID, reason string, entries ...firn.EntryID) (Receipt, error)
}

// Binner is a Remover that lists the sessions in its bin.
type Binner interface {
	// Bin returns the sessions in the bin, the one removed last first. Purged
	// sessions are not among them.
	Bin(ctx context.Context) ([]Binned, error)
}

// Binned is a session in the bin. Its Info is the one that a list would show if the
// session were restored; Bytes is the space that it takes in the bin.
type Binned struct {
	Info
	// Removed is when the session was moved to the bin, zero if that is not known.
	Removed time.Time
	Reason  string
}

// SortBinned orders sessions in the bin by Removed, newest first, then by ID.
func SortBinned(all []Binned) {
	slices.SortFunc(all, func(a, b Binned) int { return cmp.Or(b.Removed.Compare(a.Removed), cmp.Compare(a.ID, b.ID)) })
}

// Weigher is a Remover that knows beforehand what Purge takes.
type Weigher interface {
	// Weigh tells which files purging a session would take, as the receipt names
	// them, and how many bytes they are; it changes nothing. If not the whole
	// session is meant but entries of it, they are those files alone that go
	// wholly.
	Weigh(ctx context.Context, id firn.ID, whole bool) (files []string, bytes int64, err error)
}

// Receipt proves that something was erased, without telling what it said.
type Receipt struct {
	Session firn.ID        `json:"session"`
	Entries []firn.EntryID `json:"entries,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Begun   time.Time      `json:"begun"`
	// Done is zero while the purge is under way; one that was interrupted can
	// be called again.
	Done time.Time `json:"done,omitzero"`
	// Bytes counts the bytes that were overwritten or removed.
	Bytes int64 `json:"bytes"`
	// Files names the files that were changed or removed, relative to the home.
	Files []string `json:"files"`
}

// Placer is a store whose positions are bytes of files.
type Placer interface {
	// Place returns the part of a session, counted from 1, and the byte in it
	// that a position stands for; zero if the session is kept otherwise.
	Place(ctx context.Context, id firn.ID, pos Pos) (part int, offset int64)
}

// As finds a capability of a store, also behind wrappers: a wrapper has a
// method Unwrap that returns the store it wraps.
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
