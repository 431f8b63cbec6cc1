package jetstream

import (
	"context"
	"fmt"
	"iter"

	"firn.dev/store"
)

// List yields the infos of the matching sessions; see [store.Store].
func (st *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return store.Infos(func() ([]store.Info, error) {
		if err := st.beginOperation(ctx); err != nil {
			return nil, err
		}
		defer st.working.Done()
		infos, err := st.list(ctx, q)
		if err != nil {
			return nil, st.failed(ctx, fmt.Errorf("list sessions: %w", err))
		}
		return infos, nil
	})
}

func (st *reader) list(ctx context.Context, q store.Query) ([]store.Info, error) {
	var infos []store.Info
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
			if !k.row.Gone && k.row.Info.ID == id && q.Matches(k.row.Info) {
				infos = append(infos, k.row.Info)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	store.SortByUpdate(infos)
	if q.Limit > 0 && len(infos) > q.Limit {
		infos = infos[:q.Limit]
	}
	return infos, nil
}
