package filehistory_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/internal/disk/filehistory"
	"firn.dev/internal/disk/vfs"
)

const session, other = firn.ID("0198c5a2-0000-7000-8000-000000000001"), firn.ID("0198c5a2-0000-7000-8000-000000000002")

// record records a change from one content to another; nil means that there is no file.
func record(t interface{ Fatal(...any) }, h *filehistory.History, id firn.ID, call, path string, before, after []byte) {
	c := filehistory.Change{Entry: firn.EntryID("of " + call), Call: call, Tool: "write_file", Path: path, Before: state(before)}
	if call == "" {
		c.Entry, c.Tool = "", "rewind"
	}
	if _, err := h.Before(id, c, before); err != nil {
		t.Fatal(err)
	}
	s := state(after)
	c.After = &s
	if err := h.After(id, c, after); err != nil {
		t.Fatal(err)
	}
}

func state(content []byte) filehistory.State {
	if content == nil {
		return filehistory.State{}
	}
	return filehistory.StateOf(content, 0o644)
}

func TestContentsAreShared(t *testing.T) {
	dir := t.TempDir()
	h := filehistory.New(vfs.OS{}, dir)
	text := []byte(strings.Repeat("the same line again\n", 1000))
	record(t, h, session, "call-1", "/a", text, []byte("short"))
	record(t, h, session, "call-2", "/b", text, nil)
	record(t, h, other, "call-3", "/a", text, []byte("longer"))
	hash := state(text).Hash
	info, err := vfs.OS{}.Stat(filepath.Join(dir, "objects", hash[:2], hash))
	if err != nil || info.Links != 3 || info.Size > int64(len(text))/10 {
		t.Errorf("the shared content is %+v, %v", info, err)
	}
	if ids, err := h.Sessions("/a"); err != nil || !slices.Equal(ids, []firn.ID{session, other}) {
		t.Errorf("sessions %v, %v", ids, err)
	}
	if err := h.Remove(session); err != nil {
		t.Fatal(err)
	}
	if got, err := h.Content(other, hash); err != nil || !bytes.Equal(got, text) {
		t.Errorf("after the other session was removed: %d bytes, %v", len(got), err)
	}
	if ids, _ := h.Sessions("/b"); len(ids) != 0 {
		t.Errorf("/b still lists %v", ids)
	}
	if err := h.Remove(other); err != nil {
		t.Fatal(err)
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if size, err := h.Size(); size != 0 || err != nil {
		t.Errorf("%d bytes are left, %v", size, err)
	}
}

// TestRemoveEntries checks that exactly the contents of removed entries are deleted.
func TestRemoveEntries(t *testing.T) {
	dir := t.TempDir()
	h := filehistory.New(vfs.OS{}, dir)
	for i, entry := range []firn.EntryID{"one", "two"} {
		before, after := []byte{'a' + byte(i)}, []byte{'b' + byte(i)}
		c := filehistory.Change{Entry: entry, Call: "call", Path: "/a", Before: state(before)}
		if _, err := h.Before(session, c, before); err != nil {
			t.Fatal(err)
		}
		s := state(after)
		c.After = &s
		if err := h.After(session, c, after); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Remove(session, "one"); err != nil {
		t.Fatal(err)
	}
	changes, err := h.Changes(session)
	if err != nil || len(changes) != 1 || changes[0].Entry != "two" || changes[0].After == nil {
		t.Fatalf("%+v, %v", changes, err)
	}
	for text, want := range map[string]bool{"a": false, "b": true, "c": true} {
		hash := state([]byte(text)).Hash
		_, err := h.Content(session, hash)
		_, object := os.Stat(filepath.Join(dir, "objects", hash[:2], hash))
		if (err == nil) != want || (object == nil) != want {
			t.Errorf("%q: %v, %v", text, err, object)
		}
	}
}

func TestDamagedContent(t *testing.T) {
	dir := t.TempDir()
	h := filehistory.New(vfs.OS{}, dir)
	record(t, h, session, "call-1", "/a", []byte("right"), nil)
	hash := state([]byte("right")).Hash
	path := filepath.Join(dir, "sessions", string(session), hash)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Content(session, hash); err == nil && string(got) != "right" || err != nil && !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("byte %d: %q, %v", i, got, err)
		}
	}
	for _, hash := range []string{"", "../../x", strings.Repeat("z", 64)} {
		if _, err := h.Content(session, hash); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("hash %q: %v", hash, err)
		}
	}
	for _, id := range []firn.ID{"", "..", "a/b", ".x"} {
		if _, err := h.Changes(id); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("session %q: %v", id, err)
		}
	}
}

// TestJournalCutShort checks that a journal cut at any byte loses at most its last line, and
// that later changes are readable.
func TestJournalCutShort(t *testing.T) {
	dir := t.TempDir()
	h := filehistory.New(vfs.OS{}, dir)
	record(t, h, session, "call-1", "/a", []byte("1"), []byte("2"))
	path := filepath.Join(dir, "sessions", string(session), "changes.jsonl")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(whole) + 1 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		record(t, h, session, "call-2", "/b", nil, []byte("new"))
		changes, err := h.Changes(session)
		if err != nil || len(changes) == 0 || changes[len(changes)-1].Path != "/b" || changes[len(changes)-1].After == nil {
			t.Fatalf("cut at %d: %+v, %v", n, changes, err)
		}
	}
}

// TestPlanRewinds changes files at random, with some changes interrupted, and checks that
// the files can be moved between any two points.
func TestPlanRewinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths := []string{"/a", "/b", "/c"}
		content := rapid.SampledFrom([]string{"", "1", "2", "3"})
		files := map[string]string{} // absent means no file
		now := func() map[string]filehistory.State {
			states := make(map[string]filehistory.State)
			for p, text := range files {
				states[p] = state([]byte(text))
			}
			return states
		}
		var changes []filehistory.Change
		points := []map[string]filehistory.State{now()}
		for i := range rapid.IntRange(1, 12).Draw(t, "changes") {
			path := rapid.SampledFrom(paths).Draw(t, "path")
			c := filehistory.Change{Call: fmt.Sprint(i), Path: path, Before: now()[path]}
			if rapid.Bool().Draw(t, "delete") {
				delete(files, path)
			} else {
				files[path] = content.Draw(t, "content")
			}
			after := now()[path]
			c.After = &after
			changes = append(changes, c)
			points = append(points, now())
		}
		from := rapid.IntRange(0, len(changes)).Draw(t, "from")
		to := rapid.IntRange(0, len(changes)).Draw(t, "to")
		fork := rapid.IntRange(0, min(from, to)).Draw(t, "fork")
		touched := rapid.SampledFrom([]string{"", "/a", "/b"}).Draw(t, "touched")
		current := map[string]filehistory.State{}
		for p, s := range points[from] {
			current[p] = s
		}
		if touched != "" {
			current[touched] = state([]byte("something else"))
		}
		for _, s := range filehistory.Plan(changes[fork:from], changes[fork:to], changes, current) {
			if s.Problem != "" && s.Path != touched {
				t.Fatalf("%+v", s)
			}
			if s.Path == touched && s.Problem != filehistory.Changed {
				t.Fatalf("a file that was changed since would be overwritten: %+v", s)
			}
			if !s.Target.Same(points[to][s.Path]) {
				t.Fatalf("%s would get %+v, not %+v", s.Path, s.Target, points[to][s.Path])
			}
			current[s.Path] = s.Target
		}
		for _, p := range paths {
			if p != touched && !current[p].Same(points[to][p]) {
				t.Fatalf("%s has %+v, not %+v", p, current[p], points[to][p])
			}
		}
	})
}

func TestPlanProblems(t *testing.T) {
	big := filehistory.State{Exists: true, Hash: "x", Omitted: true}
	small := state([]byte("small"))
	for _, c := range []struct {
		change  filehistory.Change
		current filehistory.State
		want    filehistory.Problem
	}{
		{filehistory.Change{Path: "/a", Before: big, After: &small}, small, filehistory.NotStored},
		{filehistory.Change{Path: "/a", Before: small}, state([]byte("half written")), filehistory.Changed},
		{filehistory.Change{Path: "/a", Before: small, After: &filehistory.State{}}, state([]byte("again")), filehistory.Changed},
	} {
		steps := filehistory.Plan([]filehistory.Change{c.change}, nil, []filehistory.Change{c.change}, map[string]filehistory.State{"/a": c.current})
		if len(steps) != 1 || steps[0].Problem != c.want {
			t.Errorf("%s: %+v", c.want, steps)
		}
	}
	if steps := filehistory.Plan([]filehistory.Change{{Path: "/a", Before: small}}, nil, nil, map[string]filehistory.State{"/a": small}); len(steps) != 0 {
		t.Errorf("an interrupted change that did nothing: %+v", steps)
	}
}

func TestBlame(t *testing.T) {
	h := filehistory.New(vfs.OS{}, t.TempDir())
	texts := []string{"old 1\nold 2\n", "old 1\nnew a\nold 2\n", "user line\nold 1\nnew a\nold 2\n", "user line\nold 1\nnew a\nnew b\n"}
	record(t, h, session, "call-1", "/a", []byte(texts[0]), []byte(texts[1]))
	record(t, h, session, "call-x", "/a", []byte(texts[1]), []byte("new a\n"))
	record(t, h, session, "", "/a", []byte("new a\n"), []byte(texts[1]))
	record(t, h, other, "call-2", "/a", []byte(texts[2]), []byte(texts[3]))
	var changes []filehistory.SessionChange
	for _, id := range []firn.ID{session, other} {
		own, err := h.Changes(id)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range own {
			changes = append(changes, filehistory.SessionChange{Session: id, Change: c})
		}
	}
	origins := filehistory.Blame("new b\nadded later\nold 1\nnew a\nnew b\n", changes, func(c filehistory.SessionChange, s filehistory.State) (string, bool) {
		data, err := h.Content(c.Session, s.Hash)
		return string(data), err == nil
	})
	var got []string
	for _, o := range origins {
		if o.Change == nil {
			got = append(got, "-")
			continue
		}
		got = append(got, o.Change.Call)
	}
	if !slices.Equal(got, []string{"-", "-", "-", "call-1", "call-2"}) {
		t.Errorf("got %v", got)
	}
}

func FuzzChanges(f *testing.F) {
	f.Add([]byte(`{"call":"c","path":"/a","before":{"exists":false}}` + "\n" + `{"call":"c","path":"/a","before":{"exists":false},"after":{"exists":true}}`))
	f.Add([]byte("\n\n{}\nnull\n[1]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "sessions", string(session))
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "changes.jsonl"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		changes, err := filehistory.New(vfs.OS{}, dir).Changes(session)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if c.Path == "" {
				t.Errorf("a change without a path: %+v", c)
			}
		}
		filehistory.Plan(changes, changes, changes, nil)
	})
}
