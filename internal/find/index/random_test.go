package index_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/find/index"
	"firn.dev/store"
	"firn.dev/store/filestore"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// world is a home that is changed at random: through the wrapper of this process, through
// that of another one, and without a wrapper. After every change the catalog must agree
// with the files.
type world struct {
	*rapid.T
	ctx  context.Context
	mem  *faultfs.FS
	us   *process
	them *process
	tick int
	// stale is set after a change that no catalog was notified of. Only a check of all
	// sessions can find it.
	stale bool
}

// process is a process that has the home open.
type process struct {
	files *filestore.Store
	cat   *index.Catalogue
	store store.Store
}

func (w *world) start() *process {
	files, err := filestore.Open("/home", filestore.Options{FS: w.mem, PartSize: 2000})
	w.ok(err)
	cat, err := index.Open(w.mem, "/home/index", files, index.Options{})
	w.ok(err)
	return &process{files: files, cat: cat, store: index.Wrap(files, cat)}
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func TestRandomChanges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{T: rt, ctx: t.Context(), mem: faultfs.New()}
		w.us, w.them = w.start(), w.start()
		defer func() {
			w.us.store.Close()
			w.them.store.Close()
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"":       func(*rapid.T) { w.compare() },
			"append": func(*rapid.T) { w.append(w.text("text")) },
			"title":  func(*rapid.T) { w.append(firn.Entry{Body: &firn.Title{Name: w.word("title"), Source: w.source()}}) },
			"hide": func(*rapid.T) {
				id := w.id()
				w.appendTo(id, firn.Entry{Body: &firn.Tombstone{Target: firn.EntryID(id)}})
			},
			"archive": func(*rapid.T) { w.put(store.Remover.Archive) },
			"back":    func(*rapid.T) { w.put(store.Remover.Unarchive) },
			"remove": func(*rapid.T) {
				w.put(func(r store.Remover, ctx context.Context, id firn.ID) error { return r.Remove(ctx, id, "test") })
			},
			"restore": func(*rapid.T) { w.put(store.Remover.Restore) },
			"purge": func(*rapid.T) {
				w.put(func(r store.Remover, ctx context.Context, id firn.ID) error {
					_, err := r.Purge(ctx, id, "test")
					return err
				})
			},
			"touch":   func(*rapid.T) { w.touch() },
			"damage":  func(*rapid.T) { w.damage() },
			"refresh": func(*rapid.T) { w.refresh() },
			"count": func(*rapid.T) { // later pages come from memory
				_, err := w.us.cat.Count(w.ctx, store.Query{})
				w.ok(err)
			},
			"restart": func(*rapid.T) { w.restart() },
		})
	})
}

// compare compares lists with those of a store without a catalog. Pages come first, since
// a full list would update the catalog.
func (w *world) compare() {
	all := queries()
	pages := slices.DeleteFunc(slices.Clone(all), func(q store.Query) bool { return q.Limit == 0 })
	if !w.stale {
		for range 3 {
			w.compareQuery(rapid.SampledFrom(pages).Draw(w.T, "page"))
		}
	}
	if rapid.IntRange(0, 3).Draw(w.T, "all") == 0 {
		for _, q := range all {
			w.compareQuery(q)
		}
		w.stale = false
	}
}

func (w *world) compareQuery(q store.Query) {
	w.Helper()
	want, err := collect(w.us.files.List(w.ctx, q))
	w.ok(err)
	got, err := collect(w.us.store.List(w.ctx, q))
	w.ok(err)
	if diff := cmp.Diff(want, got); diff != "" {
		w.Fatalf("list of %+v (-files +catalog):\n%s", q, diff)
	}
}

func (w *world) id() firn.ID {
	return firn.ID(fmt.Sprintf("session-%d", rapid.IntRange(0, 7).Draw(w.T, "id")))
}

func (w *world) word(label string) string { return rapid.StringN(0, 40, 200).Draw(w.T, label) }

func (w *world) source() firn.Source {
	return rapid.SampledFrom([]firn.Source{firn.SourceUser, firn.SourceAuto}).Draw(w.T, "source")
}

func (w *world) text(label string) firn.Entry {
	return firn.Entry{Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: w.word(label)}}}}
}

// anyone draws the writer: this process, the other one, or one without a catalog.
func (w *world) anyone() store.Store {
	switch rapid.IntRange(0, 3).Draw(w.T, "who") {
	case 0:
		w.stale = true
		return w.them.files
	case 1:
		return w.them.store
	}
	return w.us.store
}

func (w *world) append(e firn.Entry) { w.appendTo(w.id(), e) }

// appendTo appends at a time that usually advances, and sometimes jumps or repeats.
func (w *world) appendTo(id firn.ID, e firn.Entry) {
	w.tick += rapid.SampledFrom([]int{0, 1, 1, 1, 50, -30}).Draw(w.T, "step")
	e.Time = at(w.tick)
	entries := []firn.Entry{e}
	who := w.anyone()
	for range who.Read(w.ctx, id, store.Start) {
		// it exists; its header would be rejected
		w.try(who.Append(w.ctx, id, store.Any, entries...))
		return
	}
	agent := rapid.SampledFrom([]string{"main", "other"}).Draw(w.T, "agent")
	key := rapid.SampledFrom([]string{"", "agent:other:k"}).Draw(w.T, "key")
	head := headed(id, agent, key, w.tick)
	w.try(who.Append(w.ctx, id, store.Any, slices.Insert(entries, 0, head)...))
}

// try ignores errors, such as for IDs in the trash bin.
func (w *world) try(_ store.Pos, err error) {
	if err != nil {
		w.Logf("refused: %v", err)
	}
}

func (w *world) put(do func(store.Remover, context.Context, firn.ID) error) {
	remover, _ := store.As[store.Remover](w.anyone())
	if err := do(remover, w.ctx, w.id()); err != nil {
		w.Logf("refused: %v", err)
	}
}

// touch rewrites a file unchanged, with a later time.
func (w *world) touch() {
	path := "/home/agents/main/sessions/" + string(w.id()) + ".jsonl"
	file, err := w.mem.Open(path, vfs.Read)
	if err != nil {
		return
	}
	w.ok(file.Close())
	content, err := w.mem.Get(path)
	w.ok(err)
	file, err = w.mem.Open(path, vfs.Update)
	w.ok(err)
	_, err = file.WriteAt(content, 0)
	w.ok(err)
	w.ok(file.Close())
}

// damage damages the catalog file.
func (w *world) damage() {
	const path = "/home/index/catalogue.jsonl"
	content, err := w.mem.Get(path)
	if err != nil {
		return
	}
	switch n := rapid.IntRange(0, len(content)).Draw(w.T, "where"); rapid.IntRange(0, 2).Draw(w.T, "how") {
	case 0:
		w.ok(w.mem.Remove(path))
	case 1:
		w.ok(w.mem.Put(path, content[:n]))
	case 2:
		if n < len(content) {
			content[n] ^= 1
		}
		w.ok(w.mem.Put(path, content))
	}
}

func (w *world) refresh() {
	_, err := w.us.cat.Refresh(w.ctx, nil)
	w.ok(err)
	w.stale = false
	found, err := w.us.cat.Check(w.ctx)
	w.ok(err)
	if len(found) > 0 {
		w.Fatalf("after a refresh the catalog disagrees: %v", found)
	}
}

// restart closes or kills one process, and starts it again.
func (w *world) restart() {
	p := rapid.SampledFrom([]**process{&w.us, &w.them}).Draw(w.T, "which")
	if rapid.Bool().Draw(w.T, "well") {
		w.ok((*p).store.Close())
	} else {
		w.ok((*p).files.Close())
		w.ok((*p).cat.Close()) // it cannot inspect sessions any more, and leaves its mark
	}
	*p = w.start()
}
