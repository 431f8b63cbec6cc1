package sourcestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/claw0"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
)

// titles returns the titles of a session from Inspect and from List.
func titles(t *testing.T, st *sourcestore.Store, id firn.ID) [2]string {
	t.Helper()
	info, err := st.Inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	shown := [2]string{info.Title}
	n := 0
	for info, err := range st.List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		shown[1] = info.Title
	}
	if n != 1 {
		t.Errorf("the list has %d sessions, want one", n)
	}
	return shown
}

// tools returns all tools, and the version of claw0 that has titles in its index.
func tools() map[string]dialect.Tool {
	all := make(map[string]dialect.Tool)
	for _, tool := range dialects.All() {
		all[string(tool.Name())] = tool
	}
	all["claw0, current"] = claw0.New(claw0.Options{Current: true})
	return all
}

// TestTitleInPlace checks that a title set in place is read back: here, by another store,
// and after replacing one.
func TestTitleInPlace(t *testing.T) {
	for name, tool := range tools() {
		t.Run(name, func(t *testing.T) {
			home, st, id := begun(t, tool, sourcestore.Options{})
			titles(t, st, id) // fill the cache
			for _, name := range []string{"Early snow", "Late snow"} {
				title := firn.NewEntry(&firn.Title{Name: name, Source: firn.SourceUser})
				if _, err := st.Append(t.Context(), id, store.Any, title); err != nil {
					t.Fatal(err)
				}
				want := [2]string{name, name}
				if got := titles(t, st, id); got != want {
					t.Errorf("it is called %q, want %q", got, name)
				}
				if got := titles(t, open(t, home, tool, sourcestore.Options{}), id); got != want {
					t.Errorf("for others it is called %q, want %q", got, name)
				}
			}
			auto := firn.NewEntry(&firn.Title{Name: "A talk about weather", Source: firn.SourceAuto})
			if _, err := st.Append(t.Context(), id, store.Any, auto, firn.UserText("and now?")); err != nil {
				t.Fatal(err)
			}
			if got, want := titles(t, open(t, home, tool, sourcestore.Options{}), id), [2]string{"Late snow", "Late snow"}; got != want {
				t.Errorf("after another automatic title it is called %q", got)
			}
		})
	}
}

// TestTitleNotSaved checks that a title stored only in an index is missing if the index
// cannot be written.
func TestTitleNotSaved(t *testing.T) {
	for _, name := range []dialect.Name{dialect.Codex, dialect.CrabTalk} {
		t.Run(string(name), func(t *testing.T) {
			tool, _ := dialects.Find(string(name))
			var broken atomic.Bool
			_, st, id := begun(t, tool, sourcestore.Options{FS: noRename{vfs.OS{}, &broken}})
			title := firn.NewEntry(&firn.Title{Name: "Snow", Source: firn.SourceUser})
			broken.Store(true)
			if _, err := st.Append(t.Context(), id, store.Any, title); !errors.Is(err, firn.ErrNotSaved) {
				t.Errorf("got %v, want ErrNotSaved", err)
			}
			broken.Store(false)
			if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(title.Body)); err != nil {
				t.Error(err)
			}
			if got := titles(t, st, id); got[0] != "Snow" {
				t.Errorf("it is called %q", got)
			}
		})
	}
}

// TestMarksInPlace checks that a mark appended alone is either stored or rejected without
// changing a file. Omitting program state is not a failure.
func TestMarksInPlace(t *testing.T) {
	marks := map[string]func(target firn.EntryID) firn.Body{
		"a label":           func(id firn.EntryID) firn.Body { return &firn.Label{Target: id, Name: "here"} },
		"a model":           func(firn.EntryID) firn.Body { return &firn.ModelChange{Provider: "anthropic", Model: "other"} },
		"a level":           func(firn.EntryID) firn.Body { return &firn.ThinkingChange{Level: "high"} },
		"a title":           func(firn.EntryID) firn.Body { return &firn.Title{Name: "Snow", Source: firn.SourceUser} },
		"a hidden message":  func(id firn.EntryID) firn.Body { return &firn.Tombstone{Target: id} },
		"no title any more": func(firn.EntryID) firn.Body { return &firn.Title{Source: firn.SourceUser} },
	}
	for name, tool := range tools() {
		t.Run(name, func(t *testing.T) {
			for mark, body := range marks {
				home, st, id := begun(t, tool, sourcestore.Options{})
				if mark == "no title any more" {
					if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(marks["a title"](""))); err != nil {
						t.Fatal(err)
					}
				}
				asked := body(find(t, st, id, "what does it say?"))
				before := snapshot(t, home)
				_, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(asked))
				switch {
				case errors.Is(err, firn.ErrUnsupported):
					unchanged(t, mark, before, snapshot(t, home))
				case err != nil:
					t.Errorf("%s: %v", mark, err)
				case !done(t, open(t, home, tool, sourcestore.Options{}), id, asked):
					t.Errorf("%s: it is reported as done, but is not", mark)
				}
				if _, err := st.Append(t.Context(), id, store.Any, firn.UserText("go on")); err != nil {
					t.Errorf("after %s: %v", mark, err)
				}
			}
			_, st, id := begun(t, tool, sourcestore.Options{OnLoss: func(l dialect.Loss) {
				if l.Kind == firn.KindCustom {
					t.Errorf("reported %v", l)
				}
			}})
			if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(&firn.Custom{Type: "firn.counters", Data: []byte(`{}`)})); err != nil {
				t.Errorf("a program's state: %v", err)
			}
		})
	}
}

// unchanged checks that files did not change.
func unchanged(t *testing.T, mark string, before, after map[string]string) {
	t.Helper()
	for name, text := range after {
		if before[name] != text {
			t.Errorf("%s is refused, and %s is changed:\n%s", mark, name, text)
		}
	}
}

// done reports whether a mark is visible.
func done(t *testing.T, st *sourcestore.Store, id firn.ID, mark firn.Body) bool {
	t.Helper()
	if title, ok := mark.(*firn.Title); ok {
		return titles(t, st, id)[0] == title.Name
	}
	if _, ok := mark.(*firn.Tombstone); ok {
		return !strings.Contains(spoken(t, st, id), "what does it say?")
	}
	seen := false
	for record, err := range st.Read(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		seen = seen || record.Gap == nil && record.Glance.Kind == mark.Kind()
	}
	return seen
}

// TestBareMessages checks that hiding or naming is rejected for bare messages of Cersei.
func TestBareMessages(t *testing.T) {
	tool, _ := dialects.Find("cersei")
	home := t.TempDir()
	name := filepath.Join(home, "bare.jsonl")
	text := `{"role":"user","content":"what is it?"}` + "\n" + `{"role":"assistant","content":[{"type":"text","text":"Snow."}]}` + "\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	st := open(t, home, tool, sourcestore.Options{InPlace: true})
	asked := find(t, st, "bare", "what is it?")
	for _, body := range []firn.Body{&firn.Tombstone{Target: asked}, &firn.Title{Name: "Snow", Source: firn.SourceUser}, &firn.Label{Target: asked, Name: "here"}} {
		if _, err := st.Append(t.Context(), "bare", store.Any, firn.NewEntry(body)); !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", body.Kind(), err)
		}
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != text {
		t.Errorf("the file reads %s, %v", data, err)
	}
	if _, err := st.Append(t.Context(), "bare", store.Any, firn.UserText("cold?")); err != nil {
		t.Error(err)
	}
	if got, want := spoken(t, st, "bare"), "what is it? | Snow. | cold?"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
