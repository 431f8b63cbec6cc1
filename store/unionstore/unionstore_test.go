package unionstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"firn"
	"firn/dialect/native"
	"firn/store"
	"firn/store/filestore"
	"firn/store/sourcestore"
	"firn/store/storetest"
	"firn/store/unionstore"
)

// A union without sources is the store itself.
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

// union is a store of our own beside a source in the native format.
func union(t *testing.T, home, source string) *unionstore.Store {
	t.Helper()
	own, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	from, err := sourcestore.Open(source, native.NewTool(), sourcestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return unionstore.New(own, []unionstore.Source{from}, func(ctx context.Context, id firn.ID, from unionstore.Source) error {
		var entries []firn.Entry
		for record, err := range from.Read(ctx, id, store.Start) {
			if err != nil {
				return err
			}
			e, err := record.Entry()
			if err != nil {
				return err
			}
			if e.Parent == "" && e.ID != "" {
				e.Parent = firn.Root
			}
			entries = append(entries, e)
		}
		_, err := own.Append(ctx, id, store.Start, entries...)
		return err
	})
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

// A session of a source is seen, and becomes ours when it is added to.
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
		t.Error("the mirrored session is taken for ours")
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
		t.Errorf("it says %q", got)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != mirrored {
		t.Errorf("the source was changed: %q, %v", data, err)
	}
	if got := ids(t, u); !slices.Equal(got, []firn.ID{"old", "new"}) && !slices.Equal(got, []firn.ID{"new", "old"}) {
		t.Errorf("then the list is %v", got)
	}
	if err := u.Remove(ctx, "old", "enough"); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, u, "old"); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("without our copy it says %q", got)
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
