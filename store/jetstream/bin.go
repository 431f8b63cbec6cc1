package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"firn.dev/store"
)

var _ store.Binner = (*Store)(nil)

// Bin lists the sessions in the trash bin. It finds them by the rows of the index; the time and
// reason of the removal are in the last message of each session.
func (st *Store) Bin(ctx context.Context) ([]store.Binned, error) {
	if err := st.beginOperation(ctx); err != nil {
		return nil, err
	}
	defer st.working.Done()
	all, err := st.bin(ctx)
	if err != nil {
		return nil, st.failed(ctx, fmt.Errorf("list the trash bin: %w", err))
	}
	return all, nil
}

func (st *directory) bin(ctx context.Context) ([]store.Binned, error) {
	var rows []store.Info
	err := st.index.with(ctx, func() error {
		if err := st.index.read(ctx); err != nil {
			return err
		}
		for shard := range st.names.shards {
			if err := st.index.catchUp(ctx, shard); err != nil {
				return err
			}
		}
		for id, k := range st.index.rows {
			if k.row.Gone && k.row.Info.ID == id {
				rows = append(rows, k.row.Info)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []store.Binned
	for _, info := range rows {
		h, state, err := st.lastMark(ctx, info.ID)
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", info.ID, err)
		}
		if !h.Removed || h.Receipt != nil {
			continue // restored or purged since the row was written
		}
		b := store.Binned{Info: info, Reason: h.Reason}
		b.Removed, _ = time.Parse(time.RFC3339Nano, state.Time) // zero if unknown
		all = append(all, b)
	}
	store.SortBinned(all)
	return all, nil
}

// parseMark decodes the mark of a frame; it is zero for frames of another kind.
func parseMark(f *frame) mark {
	var state mark
	if f.kind == kindMark && json.Unmarshal(f.data, &state) != nil {
		return mark{}
	}
	return state
}
