package sourcestore

import (
	"context"
	"fmt"
	"iter"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// partsCheckInterval is the number of polls between checks for new parts.
const partsCheckInterval = 8

// Follow yields the records after a position and then those added by the tool or by this
// store. It polls the files; nothing is read twice.
func (st *Store) Follow(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		t, err := st.find(context.WithoutCancel(ctx), id)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		r := st.read(t)
		wanted := func(record store.Record, err error) bool {
			if err != nil && ctx.Err() != nil {
				return false
			}
			return err == nil && record.At < after || yield(st.withoutLine(record), err)
		}
		tick := time.NewTicker(st.opts.Poll)
		defer tick.Stop()
		for look := 1; ; look++ {
			if !r.more(ctx, wanted) {
				return
			}
			after = min(after, r.at) // a position past the end means the end at the start
			select {
			case <-ctx.Done():
				return
			case <-st.closed:
				yield(store.Record{}, fmt.Errorf("follow session %s: %w", id, firn.ErrClosed))
				return
			case <-tick.C:
			}
			if look%partsCheckInterval == 0 {
				r.lookAgain(id)
			}
		}
	}
}

// lookAgain finds new parts. The current transcript is kept: the tool may move it while it
// is followed.
func (r *reading) lookAgain(id firn.ID) {
	r.st.mu.Lock()
	defer r.st.mu.Unlock()
	r.st.survey()
	if t, ok := r.st.found[id]; ok && len(t.Parts) > len(r.t.Parts) {
		r.t = t
	}
}
