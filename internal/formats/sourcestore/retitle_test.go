package sourcestore_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
)

// crabHome opens a home of CrabTalk in place.
func crabHome(t *testing.T, home string) *sourcestore.Store {
	t.Helper()
	tool, ok := dialects.Find(string(dialect.CrabTalk))
	if !ok {
		t.Fatal("CrabTalk is unknown")
	}
	st, err := sourcestore.Open(home, tool, sourcestore.Options{InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// filesIn returns the names of the sessions in a home of CrabTalk.
func filesIn(t *testing.T, home string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(home, "sessions"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestRetitle creates a session in CrabTalk's folder and titles it twice. The file gets the
// title in its name, and both the ID of the session and the one it was created with work
// before and after.
func TestRetitle(t *testing.T) {
	home := t.TempDir()
	st := crabHome(t, home)
	add := func(id firn.ID, entries ...firn.Entry) {
		t.Helper()
		if _, err := st.Append(t.Context(), id, store.Any, entries...); err != nil {
			t.Fatal(err)
		}
	}
	begun := firn.NewID()
	add(begun, firn.Entry{Body: &firn.Header{Session: begun, Agent: "crab"}}, firn.UserText("hello"))
	id := st.ListedAs(begun)
	if id != "crab_user_1" || st.ListedAs(id) != id {
		t.Fatalf("it is listed as %s", id)
	}
	add(id, firn.AssistantText("hi"))
	for _, c := range []struct {
		by          firn.ID
		title, file string
	}{
		{id, "Pricing chat", "crab_user_1_pricing-chat.jsonl"},
		{begun, "Other: Name", "crab_user_1_other-name.jsonl"},
		{id, "?!", "crab_user_1_other-name.jsonl"},
	} {
		add(c.by, firn.NewEntry(&firn.Title{Name: c.title, Source: firn.SourceUser}))
		if names := filesIn(t, home); !slices.Equal(names, []string{c.file}) {
			t.Errorf("with the title %q the files are %v", c.title, names)
		}
		for _, by := range []firn.ID{begun, id} {
			add(by, firn.UserText("after "+c.title+" by "+string(by)))
		}
		for info, err := range crabHome(t, home).List(t.Context(), store.Query{}) { // as another process
			if err != nil || info.ID != id || info.Title != c.title {
				t.Errorf("with the title %q the list has %s %q, %v", c.title, info.ID, info.Title, err)
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(home, "sessions", "crab_user_1_other-name.jsonl"))
	if err != nil || strings.Count(string(data), `"content":"after `) != 6 {
		t.Errorf("the file is\n%s%v", data, err)
	}
}

// TestRetitleKeepsOthers checks that no file is replaced and that a name without a number,
// which is the ID of its session, stays.
func TestRetitleKeepsOthers(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	meta := `{"agent":"crab","created_by":"user","created_at":"2026-04-01T09:05:00Z","title":"","uptime_secs":0}` + "\n"
	for _, name := range []string{"crab_user_1.jsonl", "crab_user_1_taken.jsonl", "crab_user_hello-world.jsonl"} {
		if err := os.WriteFile(filepath.Join(home, "sessions", name), []byte(meta+`{"role":"user","content":"`+name+`"}`+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := filesIn(t, home)
	st := crabHome(t, home)
	for _, id := range []firn.ID{"crab_user_1", "crab_user_hello-world"} {
		if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(&firn.Title{Name: "Taken", Source: firn.SourceUser})); err != nil {
			t.Fatal(err)
		}
	}
	if after := filesIn(t, home); !slices.Equal(after, before) {
		t.Errorf("the files are %v", after)
	}
	for _, name := range before {
		data, err := os.ReadFile(filepath.Join(home, "sessions", name))
		if err != nil || !strings.Contains(string(data), `"content":"`+name) {
			t.Errorf("%s is\n%s%v", name, data, err)
		}
	}
}
