package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"firn.dev/store"
)

var _ store.Binner = (*Store)(nil)

// Bin lists the sessions in the bin. The rows of the index name them; when and why each
// was removed is in its last message.
func (st *Store) Bin(ctx context.Context) ([]store.Binned, error) {
	if err := st.begin(ctx); err != nil {
		return nil, err
	}
	defer st.working.Done()
	all, err := st.bin(ctx)
	if err != nil {
		return nil, st.failed(ctx, fmt.Errorf("list the bin: %w", err))
	}
	return all, nil
}

func (st *Store) bin(ctx context.Context) ([]store.Binned, error) {
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
		h, said, err := st.lastMark(ctx, info.ID)
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", info.ID, err)
		}
		if !h.Removed || h.Receipt != nil {
			continue // restored or purged since the row was made
		}
		b := store.Binned{Info: info, Reason: h.Reason}
		b.Removed, _ = time.Parse(time.RFC3339Nano, said.Time) // zero if it is not known
		all = append(all, b)
	}
	store.SortBinned(all)
	return all, nil
}

// parseMark reads the mark of a frame; a frame of another kind has none.
func parseMark(f *frame) mark {
	var said mark
	if f.kind == kindMark && json.Unmarshal(f.data, &said) != nil {
		return mark{}
	}
	return said
}
