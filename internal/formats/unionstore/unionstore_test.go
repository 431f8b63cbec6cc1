package unionstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/internal/formats/unionstore"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/store/storetest"
)

// TestConformance checks a union without sources.
func TestConformance(t *testing.T) { storetest.Run(t, opened) }

func TestRandom(t *testing.T) { storetest.RunRandom(t, opened) }

func opened(t *testing.T) storetest.Opened {
	t.Helper()
	home, source := t.TempDir(), t.TempDir()
	var st store.Store
	open := func() store.Store {
		if st != nil {
			if err := st.Close(); err != nil {
				t.Error(err)
			}
		}
		st = union(t, home, source)
		return st
	}
	t.Cleanup(func() { st.Close() })
	return storetest.Opened{Store: open(), Reopen: open}
}

// union returns an own store with a source in the native format. Sessions are copied in
// small steps.
func union(t *testing.T, home, source string) *unionstore.Store {
	t.Helper()
	own, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	return over(t, own, home, source, nil)
}

// over returns a union of a store with a source; step is called before each step of a
// takeover.
func over(t *testing.T, own unionstore.Own, home, source string, step func() error) *unionstore.Store {
	t.Helper()
	from, err := sourcestore.Open(source, native.NewTool(), sourcestore.Options{Poll: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return unionstore.New(own, unionstore.Options{
		Sources: func(bool) []unionstore.Source { return []unionstore.Source{from} },
		Take: func(ctx context.Context, id firn.ID, from unionstore.Source) error {
			return take(ctx, own, id, from, step)
		},
		Erase: func(ctx context.Context, id firn.ID, _ unionstore.Source) ([]string, int64, error) {
			files, err := from.Files(ctx, id)
			for _, name := range files {
				err = errors.Join(err, os.Remove(name))
			}
			return files, 1, err
		},
		Dir: filepath.Join(home, "taking"),
	})
}

// take copies the missing entries of a session one by one.
func take(ctx context.Context, own store.Store, id firn.ID, from store.Store, step func() error) error {
	has := make(map[firn.EntryID]bool)
	for record, err := range own.Read(ctx, id, store.Start) {
		if err == nil {
			has[record.Glance.ID] = true
		}
	}
	for record, err := range from.Read(ctx, id, store.Start) {
		if err != nil {
			return err
		}
		e, err := record.Entry()
		if err != nil || has[e.ID] {
			continue
		}
		if step != nil {
			if err := step(); err != nil {
				return err
			}
		}
		if e.Parent == "" && e.ID != "" {
			e.Parent = firn.Root
		}
		if _, err := own.Append(ctx, id, store.Any, e); err != nil {
			return err
		}
	}
	return nil
}

const mirrored = `{"type":"session","version":3,"id":"old","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/x"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"hello","timestamp":1}}
`

func texts(t *testing.T, st store.Store, id firn.ID) (all []string) {
	t.Helper()
	for record, err := range st.Read(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := record.Entry()
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.Body.(*firn.Message); ok {
			all = append(all, m.Text())
		}
	}
	return all
}

// TestTakeOver checks that a session of a source is visible, and is taken over by an
// append.
func TestTakeOver(t *testing.T) {
	home, source := t.TempDir(), t.TempDir()
	dir := filepath.Join(source, "agents", "main", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "old.jsonl")
	if err := os.WriteFile(file, []byte(mirrored), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	u := union(t, home, source)
	defer u.Close()
	if _, err := u.Append(ctx, "new", store.Any, firn.UserText("ours")); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, u); !slices.Equal(got, []firn.ID{"new", "old"}) {
		t.Errorf("the list is %v", got)
	}
	if _, foreign := u.SourceOf(ctx, "old"); !foreign {
		t.Error("the mirrored session is treated as ours")
	}
	for name, err := range map[string]error{"remove": u.Remove(ctx, "old", ""), "archive": u.Archive(ctx, "old")} {
		if !errors.Is(err, firn.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	info, err := u.Inspect(ctx, "old")
	if err != nil {
		t.Fatal(err)
	}
	var conflict *store.Conflict
	if _, err := u.Append(ctx, "old", info.End-1, firn.UserText("no")); !errors.As(err, &conflict) || conflict.End != info.End {
		t.Errorf("with another end expected: %v", err)
	}
	if _, err := u.Append(ctx, "old", info.End, firn.UserText("and I?")); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, u, "old"); !slices.Equal(got, []string{"hello", "and I?"}) {
		t.Errorf("got %q", got)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != mirrored {
		t.Errorf("the source was changed: %q, %v", data, err)
	}
	if got := ids(t, u); !slices.Equal(got, []firn.ID{"old", "new"}) && !slices.Equal(got, []firn.ID{"new", "old"}) {
		t.Errorf("then the list is %v", got)
	}
}

func ids(t *testing.T, st store.Store) (all []firn.ID) {
	t.Helper()
	for info, err := range st.List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, info.ID)
	}
	return all
}
