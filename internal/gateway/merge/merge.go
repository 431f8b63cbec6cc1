// Package merge adds entries from other machines to the copy of a session in a store. It
// only appends: entries that the session has are never changed, and its head stays where the
// caller says.
package merge

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/syncmark"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
)

// Reason is the reason of the head entries that a merge appends.
const Reason = "sync"

// batchBytes is the size of lines from which a batch is appended.
const batchBytes = 4 << 20

// recounts is how often the counters are computed again if other writers append meanwhile.
const recounts = 3

// Result is the result of a merge.
type Result struct {
	// Added is the number of entries that were appended from the given lines.
	Added int
	End   store.Pos
	// changesKeys is set if an added entry changes the keys of the session.
	changesKeys bool
}

// Run appends lines of the native dialect to a session that ends at expect ([store.Start]: a
// new session, whose first line is its header), moves the head to the entry head, stores
// counters of the whole session and updates the table of keys. It fails with ErrConflict if
// the session ends elsewhere. Lines are in an order in which parents and targets precede the
// entries that refer to them. After a crash a prefix of them may be stored.
func Run(ctx context.Context, st store.Store, id firn.ID, expect store.Pos, head firn.EntryID, lines iter.Seq2[[]byte, error]) (Result, error) {
	r := Result{End: expect}
	if err := r.appendAll(ctx, st, id, head, lines); err != nil {
		return r, err
	}
	end, names, err := agent.Recount(ctx, st, id)
	for range recounts {
		if !errors.Is(err, firn.ErrConflict) {
			break
		}
		end, names, err = agent.Recount(ctx, st, id) // another writer was faster; its entries count too
	}
	if err != nil {
		return r, err
	}
	r.End = end
	return r, bindKeys(ctx, st, id, names, r.changesKeys)
}

// appendAll decodes and appends lines in batches. The entry that moves the head is in the last
// batch, so that it usually is written with all others at once.
func (r *Result) appendAll(ctx context.Context, st store.Store, id firn.ID, head firn.EntryID, lines iter.Seq2[[]byte, error]) error {
	var batch []firn.Entry
	size := 0
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		end, err := st.Append(ctx, id, r.End, batch...)
		if err != nil {
			return err
		}
		r.End, batch, size = end, batch[:0], 0
		return nil
	}
	dialect := native.New()
	for line, err := range lines {
		if err != nil {
			return err
		}
		e, err := dialect.Decode(slices.Clone(line))
		if err != nil {
			return fmt.Errorf("merge into session %s: %w", id, err)
		}
		if e.Parent == "" && e.Body.Kind() != firn.KindHeader {
			e.Parent = firn.Root
		}
		if b, ok := e.Body.(*firn.Custom); ok && b.Type == store.KeyType {
			r.changesKeys = true
		}
		batch, size, r.Added = append(batch, e), size+len(line), r.Added+1
		if size >= batchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if head != "" {
		e := firn.Entry{Parent: head, Body: &firn.Head{Reason: Reason}}
		syncmark.Add(&e)
		batch = append(batch, e)
	}
	return flush()
}
