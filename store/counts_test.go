package store_test

import (
	"testing"

	"firn.dev"
	"firn.dev/store"
)

func TestCountsOf(t *testing.T) {
	for _, c := range []struct {
		kind, data string
		want       store.Counts
		ok         bool
	}{
		{firn.CountersType, `{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":0.5,"answers":9,"turns":5,"compactions":6,"window":7,"messages":8,"left":["a","b"]}`,
			store.Counts{Turns: 5, Messages: 8, Compactions: 6, Branches: 3, Tokens: 10, Window: 7, Cost: 0.5}, true},
		{firn.CountersType, `{}`, store.Counts{Branches: 1}, true},
		{firn.CountersType, `{"turns":"many"}`, store.Counts{}, false},
		{firn.CountersType, `[`, store.Counts{}, false},
		{firn.TagsType, `{"turns":1}`, store.Counts{}, false},
	} {
		got, ok := store.CountsOf(&firn.Custom{Type: c.kind, Data: []byte(c.data)})
		if got != c.want || ok != c.ok {
			t.Errorf("%s %s: got %+v, %v, want %+v, %v", c.kind, c.data, got, ok, c.want, c.ok)
		}
	}
}
