package agent

import (
	"context"

	"firn.dev"
	"firn.dev/internal/base/syncmark"
	"firn.dev/internal/find/election"
	"firn.dev/store"
)

// Recount counts a session from its start, without regard to the counters stored in it, and
// appends the result with a checkpoint, marked as [syncmark.Field]. It is for a session to
// which entries from other machines were added: the counters among them belong to other
// files. The title, tags and keys are those that [election.Election] elects. It returns the new
// end, and fails with a conflict if another writer appends meanwhile.
func Recount(ctx context.Context, st store.Store, id firn.ID) (firn.Pos, store.Checkpoint, error) {
	t := tally{session: id, numbered: true, election: election.New(id)}
	if err := t.advance(ctx, st, id, store.End); err != nil {
		return 0, store.Checkpoint{}, err
	}
	t.Names = t.election.Checkpoint()
	// The entry itself follows the head, which may have moved just before it.
	t.ends.add(firn.Glance{Kind: firn.KindCustom, ID: "counters", Parent: t.ends.last})
	t.Left = t.ends.left
	entry := customEntry(countersType, t.record())
	entry.ID = "" // the store assigns one after the newest, which may be ahead of this clock
	syncmark.Add(&entry)
	add := st.Append
	if deferred, ok := store.As[store.Deferred](st); ok {
		add = deferred.AppendDeferred // after a power failure the next sync counts again
	}
	end, err := add(ctx, id, t.end, entry)
	return end, t.Names, err
}
