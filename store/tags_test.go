package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/store"
)

func TestNewTagsChecksTags(t *testing.T) {
	for _, tag := range []string{"a", "billing", "über-uns", "v1.2", "a/b", "#1", strings.Repeat("x", 40), "日本語"} {
		if _, err := store.NewTags([]string{tag}); err != nil {
			t.Errorf("%q: %v", tag, err)
		}
	}
	for _, tag := range []string{"", "a b", "a,b", "+a", "-a", "a\n", "a\x00", "\xff", strings.Repeat("x", 41), "a\u2028"} {
		if _, err := store.NewTags([]string{tag}); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%q is accepted: %v", tag, err)
		}
	}
}

// TestTagsAreReadBack checks that TagsOf returns the tags of NewTags, sorted and without
// duplicates.
func TestTagsAreReadBack(t *testing.T) {
	for _, tags := range [][]string{nil, {"one"}, {"b", "a", "b"}} {
		e, err := store.NewTags(tags)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := store.TagsOf(e.Body.(*firn.Custom))
		want := slices.Compact(slices.Sorted(slices.Values(tags)))
		if !ok || !slices.Equal(got, want) || !slices.Equal(store.SplitTags(store.JoinTags(got)), want) {
			t.Errorf("%q are read as %q, %v", tags, got, ok)
		}
	}
	var many []string
	for i := range 33 {
		many = append(many, fmt.Sprint("t", i))
	}
	if _, err := store.NewTags(many); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("%d tags are accepted: %v", len(many), err)
	}
	if _, err := store.NewTags(append(many[:5], many[:5]...)); err != nil {
		t.Error(err)
	}
}

// TestTagsOfOtherPrograms checks that tags written by other software are converted.
func TestTagsOfOtherPrograms(t *testing.T) {
	for _, test := range []struct {
		kind, data, want string
		ok               bool
	}{
		{firn.TagsType, `{"tags":["b c","-x","a,b","",",","ok"]}`, "a-b,b-c,ok,x", true},
		{firn.TagsType, `{"tags":[]}`, "", true},
		{firn.TagsType, `{}`, "", true},
		{firn.TagsType, `{"tags":"no"}`, "", false},
		{firn.TagsType, ``, "", false},
		{firn.TagsType, `{"tags":["` + strings.Repeat("ä", 90) + `"]}`, strings.Repeat("ä", 40), true},
		{"claudecode:tag", `{"type":"tag","tag":"my tag","sessionId":"x"}`, "my-tag", true},
		{"claudecode:tag", `{"type":"tag","tag":""}`, "", true},
		{"claudecode:mode", `{"tag":"x"}`, "", false},
		{"somebody.tags", `{"tags":["x"]}`, "", false},
	} {
		got, ok := store.TagsOf(&firn.Custom{Type: test.kind, Data: json.RawMessage(test.data)})
		if ok != test.ok || store.JoinTags(got) != test.want {
			t.Errorf("%s %s is read as %q, %v", test.kind, test.data, got, ok)
		}
	}
}

func TestQuerySelects(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	info := store.Info{ID: "a", Agent: "main", Key: "agent:main:Tea", Title: "A Trip", Prompt: "where to go", Updated: noon, Source: "pi-1", Tags: "fun,work"}
	own := info
	own.Source, own.Tags = "", ""
	for _, test := range []struct {
		q           store.Query
		theirs, our bool
	}{
		{store.Query{}, true, true},
		{store.Query{Source: "pi-1"}, true, false},
		{store.Query{Source: "pi"}, true, false},
		{store.Query{Source: "p"}, false, false},
		{store.Query{Source: store.OwnSource}, false, true},
		{store.Query{Tag: "fun"}, true, false},
		{store.Query{Tag: "fu"}, false, false},
		{store.Query{Tag: "fun,work"}, false, false},
		{store.Query{Since: noon}, true, true},
		{store.Query{Since: noon.Add(1)}, false, false},
		{store.Query{Until: noon}, false, false},
		{store.Query{Until: noon.Add(1)}, true, true},
		{store.Query{Text: "TRIP"}, true, true},
		{store.Query{Text: "to go"}, true, true},
		{store.Query{Text: ":tea"}, true, true},
		{store.Query{Text: "elsewhere"}, false, false},
		{store.Query{Text: "trip", Tag: "work", Source: "pi-1", Since: noon.Add(-1), Until: noon.Add(1)}, true, false},
	} {
		if got := test.q.Matches(info); got != test.theirs {
			t.Errorf("%+v selects the mirrored session: %v", test.q, got)
		}
		if got := test.q.Matches(own); got != test.our {
			t.Errorf("%+v selects the native session: %v", test.q, got)
		}
	}
}
