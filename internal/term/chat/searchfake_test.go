package chat

import (
	"context"

	"firn.dev"
	"firn.dev/internal/find/search"
	"firn.dev/store"
	"firn.dev/wire"
)

// plainIndex searches messages by reading all sessions.
type plainIndex struct{ st store.Store }

func (p plainIndex) Search(ctx context.Context, q search.Query) (search.Answer, error) {
	var a search.Answer
	for info, err := range p.st.List(ctx, store.Query{}) {
		if err != nil {
			return a, err
		}
		for rec, err := range p.st.Read(ctx, info.ID, store.Start) {
			if err != nil {
				return a, err
			}
			e, err := rec.Entry()
			if err != nil {
				return a, err
			}
			m, ok := e.Body.(*firn.Message)
			if !ok || !q.Want.Holds(search.TextOf(m.Text())) || len(a.Hits) == q.Limit {
				continue
			}
			a.Hits = append(a.Hits, search.Hit{Session: info.ID, Title: info.Title, Entry: e.ID, Role: search.Role(m.Role), Snippet: m.Text(), Time: e.Time})
		}
	}
	return a, nil
}

func (plainIndex) State() search.State { return search.State{} }

func (plainIndex) StartRebuild() {}

func (plainIndex) Check(context.Context) ([]wire.IndexDifference, error) { return nil, nil }
