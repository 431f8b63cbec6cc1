package storetest

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/store"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func listTests() []test {
	return []test{
		{"is empty at first", listEmpty},
		{"tells what is known", listEntries},
		{"selects by directory", listDirectories},
		{"puts the latest first", listOrder},
		{"selects", listSelects},
		{"tags", listTags},
		{"leaves out what is hidden", listHidden},
		{"chooses the title", listTitles},
		{"heeds the context", listHeedsContext},
	}
}

// day is a fixed base time for tests.
var day = time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)

// createSession creates a session with a header and one entry, both at the given hour.
func (s *suite) createSession(h firn.Header, hour int) {
	s.Helper()
	at := day.Add(time.Duration(hour) * time.Hour)
	first := userEntry("hello from " + string(h.Session))
	first.Time = at
	s.append(h.Session, firn.Entry{Time: at, Body: &h}, first)
}

func listEmpty(s *suite) {
	if got := s.list(store.Query{}); len(got) != 0 {
		s.Errorf("a new store lists %+v", got)
	}
}

func listEntries(s *suite) {
	prompt := strings.Repeat("ü", 80)
	end := s.append("s1",
		firn.Entry{Time: day, Body: &firn.Header{CWD: "/w", Agent: "ops", Key: "k"}},
		firn.Entry{Time: day, Body: &firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: "hi"}}}},
		firn.Entry{Time: day, Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: prompt}}}},
		firn.Entry{Time: day, Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "more"}}}},
		firn.Entry{Time: day.Add(time.Hour), Body: &firn.Title{Name: "named"}})
	want := []store.Info{{ID: "s1", Agent: "ops", Key: "k", CWD: "/w", Title: "named", Prompt: strings.Repeat("ü", 50),
		Created: day, Updated: day.Add(time.Hour), End: end}}
	for range 2 {
		got := s.list(store.Query{})
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(store.Info{}, "Bytes", "Parts")); diff != "" {
			s.Errorf("list (-want +got):\n%s", diff)
		}
		s.restart()
	}
}

// listDirectories checks listing by the directory in which a session was created or used,
// also if later messages have another directory, and after a restart.
func listDirectories(s *suite) {
	in := func(dir string) firn.Entry {
		e := userEntry("in " + dir)
		if dir != "" {
			e.Extra = firn.Fields{{Name: firn.DirectoryField, Value: json.RawMessage(strconv.Quote(dir))}}
		}
		return e
	}
	s.append("s1", firn.Entry{Time: day, Body: &firn.Header{CWD: "/a"}}, in(""), in("/b"), in("/c"), in(""), in("/b"), in(""))
	s.append("s2", firn.Entry{Time: day, Body: &firn.Header{CWD: "/c"}}, in(""))
	for range 2 {
		for dir, want := range map[string]int{"/a": 1, "/b": 1, "/c": 2, "/d": 0, "/": 0} {
			if got := s.list(store.Query{Directory: dir}); len(got) != want {
				s.Errorf("%d sessions are listed of %s, want %d: %+v", len(got), dir, want, got)
			}
		}
		for dir, want := range map[string]int{"/a": 1, "/a/": 1, "/c": 2, "/d": 0, "/": 2, "/a/x": 0, "/a/nested": 0} {
			if got := s.list(store.Query{Under: dir}); len(got) != want {
				s.Errorf("%d sessions are listed under %s, want %d: %+v", len(got), dir, want, got)
			}
		}
		for _, info := range s.list(store.Query{Directory: "/b"}) {
			if info.CWD != "/a" || info.Directories != "/c\n/b" || info.Directory() != "/b" {
				s.Errorf("it was begun in %q, and its directories are %q", info.CWD, info.Directories)
			}
		}
		s.restart()
	}
}

func listOrder(s *suite) {
	for i, id := range []firn.ID{"a", "b", "c", "d"} {
		s.createSession(firn.Header{Session: id}, i)
	}
	late := userEntry("again")
	late.Time = day.Add(24 * time.Hour)
	s.append("b", late)
	tie := userEntry("tie")
	tie.Time = late.Time
	s.append("a", tie)
	want := []firn.ID{"a", "b", "d", "c"}
	for range 2 {
		if got := s.ids(store.Query{}); !slices.Equal(got, want) {
			s.Errorf("listed %q, want %q", got, want)
		}
		if got := s.ids(store.Query{Limit: 2}); !slices.Equal(got, want[:2]) {
			s.Errorf("listed %q with a limit of 2", got)
		}
		s.restart()
	}
	seq := s.store.List(s.ctx, store.Query{})
	for range 2 {
		if got, err := drainList(seq); err != nil || len(got) != 4 {
			s.Errorf("ranging over a list yields %d, %v", len(got), err)
		}
	}
}

func listSelects(s *suite) {
	s.createSession(firn.Header{Session: "a", Agent: "ops", Key: "agent:ops:1"}, 3)
	s.createSession(firn.Header{Session: "b", Agent: "ops", Key: "agent:ops:2"}, 2)
	s.createSession(firn.Header{Session: "c"}, 1)
	cases := []struct {
		q    store.Query
		want []firn.ID
	}{
		{store.Query{Agent: "ops"}, []firn.ID{"a", "b"}},
		{store.Query{Agent: "ops", Limit: 1}, []firn.ID{"a"}},
		{store.Query{Agent: "main"}, []firn.ID{"c"}},
		{store.Query{Key: "agent:ops:2"}, []firn.ID{"b"}},
		{store.Query{Agent: "main", Key: "agent:ops:2"}, nil},
		{store.Query{Agent: "nobody"}, nil},
		{store.Query{Archived: true}, nil},
		{store.Query{Hidden: true}, nil},
		{store.Query{Limit: 9}, []firn.ID{"a", "b", "c"}},
	}
	for _, c := range cases {
		if got := s.ids(c.q); !slices.Equal(got, c.want) {
			s.Errorf("%+v listed %q, want %q", c.q, got, c.want)
		}
	}
}

func listTags(s *suite) {
	for i, tags := range [][]string{{"red"}, {"red", "blue"}, {}, nil} {
		id := firn.ID([]string{"a", "b", "c", "d"}[i])
		s.createSession(firn.Header{Session: id}, 4-i)
		if tags == nil {
			continue
		}
		entry, err := store.NewTags(tags)
		if err != nil {
			s.Fatal(err)
		}
		entry.Time = day.Add(time.Duration(10-i) * time.Hour)
		s.append(id, entry)
	}
	for _, c := range []struct {
		q    store.Query
		want []firn.ID
	}{
		{store.Query{Tag: "red"}, []firn.ID{"a", "b"}},
		{store.Query{Tag: "blue"}, []firn.ID{"b"}},
		{store.Query{Tag: "green"}, nil},
		{store.Query{Since: day.Add(9 * time.Hour)}, []firn.ID{"a", "b"}},
		{store.Query{Until: day.Add(9 * time.Hour)}, []firn.ID{"c", "d"}},
		{store.Query{Source: store.OwnSource}, []firn.ID{"a", "b", "c", "d"}},
	} {
		if got := s.ids(c.q); !slices.Equal(got, c.want) {
			s.Errorf("%+v listed %q, want %q", c.q, got, c.want)
		}
	}
	if got := s.list(store.Query{Tag: "blue"}); len(got) != 1 || got[0].Tags != "blue,red" {
		s.Errorf("the tags are %+v", got)
	}
}

func listHidden(s *suite) {
	s.createSession(firn.Header{Session: "a"}, 1)
	s.createSession(firn.Header{Session: "b"}, 2)
	s.append("b", entry("stone", "", &firn.Tombstone{Target: "b"}))
	s.wantLists("hidden", []firn.ID{"a"}, []firn.ID{"b"})
	s.append("b", entry("stone2", "", &firn.Tombstone{Target: "stone"}))
	s.wantLists("shown again", []firn.ID{"b", "a"}, nil)
	s.append("b", entry("stone3", "", &firn.Tombstone{Target: "stone2"}))
	s.restart()
	s.wantLists("hidden again", []firn.ID{"a"}, []firn.ID{"b"})
}

// wantLists checks the visible and the hidden sessions.
func (s *suite) wantLists(when string, plain, hidden []firn.ID) {
	s.Helper()
	if got := s.ids(store.Query{}); !slices.Equal(got, plain) {
		s.Errorf("%s: listed %q, want %q", when, got, plain)
	}
	if got := s.ids(store.Query{Hidden: true}); !slices.Equal(got, hidden) {
		s.Errorf("%s: listed as hidden %q, want %q", when, got, hidden)
	}
}

func listTitles(s *suite) {
	steps := []struct {
		title firn.Title
		want  string
	}{
		{firn.Title{Name: "auto 1", Source: firn.SourceAuto}, "auto 1"},
		{firn.Title{Name: "auto 2", Source: firn.SourceAuto}, "auto 2"},
		{firn.Title{Name: "mine", Source: firn.SourceUser}, "mine"},
		{firn.Title{Name: "auto 3", Source: firn.SourceAuto}, "mine"},
		{firn.Title{Name: "old tool"}, "old tool"},
		{firn.Title{}, ""},
		{firn.Title{Name: "auto 4", Source: firn.SourceAuto}, "auto 4"},
	}
	for _, step := range steps {
		s.append("s1", firn.Entry{Body: &step.title})
		if got := s.list(store.Query{}); len(got) != 1 || got[0].Title != step.want {
			s.Errorf("after %+v the list tells %+v", step.title, got)
		}
	}
}

func listHeedsContext(s *suite) {
	s.appendTexts("s1", "a")
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := drainList(s.store.List(ctx, store.Query{}))
	s.wantErr("List when the context is done", err, context.Canceled)
}
