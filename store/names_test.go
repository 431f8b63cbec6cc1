package store_test

import (
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/store"
)

func TestNames(t *testing.T) {
	tags, err := store.NewTags([]string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	counters := func(data string) firn.Entry {
		return firn.NewEntry(&firn.Custom{Type: firn.CountersType, Data: []byte(data)})
	}
	title := func(name string, source firn.Source) firn.Entry {
		return firn.NewEntry(&firn.Title{Name: name, Source: source})
	}
	for _, c := range []struct {
		name  string
		all   []firn.Entry
		title string
		tags  []string
	}{
		{"a person's title stays", []firn.Entry{title("mine", ""), title("made up", firn.SourceAuto)}, "mine", nil},
		{"the end of a turn knows better", []firn.Entry{title("first", ""), tags, counters(`{"turns":1,"names":{"complete":true,"title":"second","tags":["c"]}}`)}, "second", []string{"c"}},
		{"also that there are none", []firn.Entry{tags, counters(`{"names":{"complete":true,"title":"x"}}`)}, "x", nil},
		{"what comes later counts", []firn.Entry{counters(`{"names":{"complete":true,"title":"old","tags":["c"]}}`), title("new", ""), tags}, "new", []string{"a", "b"}},
		{"a person's title holds over the end of a turn", []firn.Entry{counters(`{"names":{"complete":true,"title":"mine"}}`), title("made up", firn.SourceAuto)}, "mine", nil},
		{"one that tells no names", []firn.Entry{title("first", ""), tags, counters(`{"turns":3}`)}, "first", []string{"a", "b"}},
		{"nonsense", []firn.Entry{title("first", ""), counters(`{"names":7}`), counters(`[`)}, "first", nil},
		{"what can be no tag", []firn.Entry{counters(`{"names":{"complete":true,"tags":["", "fine"]}}`)}, "", []string{"fine"}},
	} {
		var n store.Names
		var g store.Gist
		for _, e := range c.all {
			n.See(e)
			g.Add(e)
		}
		info := g.Info()
		if n.Title != c.title || !slices.Equal(n.Tags, c.tags) || info.Title != c.title || info.Tags != store.JoinTags(c.tags) {
			t.Errorf("%s: got %+v, in a list %q, %q", c.name, n, info.Title, info.Tags)
		}
	}
}
