package gateway_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// counted is a store that counts listed sessions and key lookups.
type counted struct {
	*memstore.Store
	listed, looked atomic.Int64
}

func (c *counted) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		for info, err := range c.Store.List(ctx, q) {
			c.listed.Add(1)
			if !yield(info, err) {
				return
			}
		}
	}
}

func (c *counted) Lookup(ctx context.Context, key string) (firn.ID, error) {
	c.looked.Add(1)
	return c.Store.Lookup(ctx, key)
}

// TestKeysInPages checks that paging returns every key once, including those with several
// sessions, and that a page lists the sessions once and looks up only its own keys.
func TestKeysInPages(t *testing.T) {
	st := &counted{Store: memstore.New(memstore.Options{})}
	g, err := gateway.New(gateway.Options{Store: st, Setup: gateway.Setup{Default: "main", Agents: map[string]*agent.Agent{"main": {Store: st, Model: scripted.New(scripted.Info())}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close(context.Background()) //nolint:errcheck // nothing runs
	const keys = 250
	var want []string
	for n := range 2 * keys { // each has two sessions
		key := fmt.Sprintf("agent:main:telegram:direct:%03d", n%keys)
		if n < keys {
			want = append(want, key)
		}
		id := firn.NewID()
		if _, err := st.Append(t.Context(), id, store.Start, firn.Entry{Body: &firn.Header{Session: id, Agent: "main", Key: key}}); err != nil {
			t.Fatal(err)
		}
		if err := st.Bind(t.Context(), key, id); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	cursor := ""
	for pages := 0; ; pages++ {
		st.listed.Store(0)
		st.looked.Store(0)
		page, err := g.Keys(t.Context(), gateway.KeyQuery{Limit: 40, Cursor: cursor})
		if err != nil || page.Total != keys || len(page.Items) > 40 || pages > keys {
			t.Fatalf("page %d has %d of %d, %v", pages, len(page.Items), page.Total, err)
		}
		if st.listed.Load() > 2*keys || st.looked.Load() > int64(len(page.Items)) {
			t.Errorf("page %d listed %d sessions and looked up %d keys", pages, st.listed.Load(), st.looked.Load())
		}
		for _, k := range page.Items {
			if k.Session == "" || k.History != nil {
				t.Errorf("key %s: %+v", k.Key, k)
			}
			got = append(got, k.Key)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d keys were listed, want %d", len(got), len(want))
	}
	page, err := g.Keys(t.Context(), gateway.KeyQuery{Text: "DIRECT:01", Visible: func(_, key string) bool { return key != want[10] }})
	if err != nil || page.Total != 9 {
		t.Errorf("with a text and a bound, %d were listed, %v", page.Total, err)
	}
}
