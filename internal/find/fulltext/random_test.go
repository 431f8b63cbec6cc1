package fulltext

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
	"firn.dev/internal/find/witness"
	"firn.dev/store"
)

// world is a home with random operations.
type world struct {
	*testIndex
	rng *rand.Rand
	// live are the existing sessions, binned the ones in the trash bin.
	live, binned []firn.ID
	gone         []string // purged words
	count        int
	next         int
}

var vocabulary = strings.Fields("lock test flaky server running tries journal getUserName write_file 東京 café build index purge because window entry head branch 2026")

// words returns a text with a word that occurs nowhere else.
func (w *world) words() (text, unique string) {
	w.count++
	unique = fmt.Sprintf("quux%sz", strings.Map(func(r rune) rune { return 'a' + r - '0' }, fmt.Sprint(100000+w.count)))
	parts := []string{unique}
	for range w.rng.IntN(12) {
		parts = append(parts, vocabulary[w.rng.IntN(len(vocabulary))])
	}
	w.rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return strings.Join(parts, " "), unique
}

func (w *world) pick() firn.ID { return w.live[w.rng.IntN(len(w.live))] }

// records reads a session.
func (w *world) records(id firn.ID) []firn.Entry {
	var all []firn.Entry
	for rec, err := range w.files.Read(context.Background(), id, store.Start) {
		if err != nil {
			w.t.Fatal(err)
		}
		if rec.Gap == nil && rec.Glance.Kind != firn.KindHeader {
			e, err := rec.Entry()
			if err != nil {
				w.t.Fatal(err)
			}
			all = append(all, e)
		}
	}
	return all
}

// entry returns a random entry.
func (w *world) entry() firn.Entry {
	text, _ := w.words()
	switch w.rng.IntN(8) {
	case 0:
		return firn.AssistantText(text)
	case 1:
		return firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Time: time.Now(), Parts: []firn.Part{
			firn.Text{Text: text}, firn.ToolCall{ID: "c", Name: "read_file", Arguments: []byte(`{"path":"internal/journal/write.go"}`)}}})
	case 2:
		return firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Time: time.Now(), Parts: []firn.Part{
			firn.ToolResult{CallID: "c", Name: "read_file", Content: []firn.Part{firn.Text{Text: text}}}}})
	case 3:
		return firn.NewEntry(&firn.Title{Name: text})
	}
	return firn.UserText(text)
}

// step performs one random operation.
func (w *world) step() {
	ctx := context.Background()
	if len(w.live) == 0 || w.rng.IntN(12) == 0 {
		w.next++
		id := firn.ID(fmt.Sprintf("session-%d", w.next))
		w.append(id, firn.Entry{Body: &firn.Header{Agent: "main", CWD: fmt.Sprintf("/w/p%d", w.rng.IntN(3))}}, w.entry())
		w.live = append(w.live, id)
		return
	}
	id := w.pick()
	all := w.records(id)
	any := func() firn.EntryID { return all[w.rng.IntN(len(all))].ID }
	var err error
	switch w.rng.IntN(14) {
	case 0: // hide an entry, or restore a hidden one
		w.append(id, firn.Hide(any()))
	case 1:
		summary, _ := w.words()
		w.append(id, firn.NewEntry(&firn.Compaction{Summary: summary, FirstKept: any()}))
	case 2: // continue from an earlier entry
		e := w.entry()
		e.Parent = any()
		w.append(id, e)
	case 3: // a fork: the same entries in another session
		w.next++
		other := firn.ID(fmt.Sprintf("session-%d", w.next))
		w.append(other, append([]firn.Entry{{Body: &firn.Header{Agent: "main", ParentSession: string(id)}}}, all...)...)
		w.live = append(w.live, other)
	case 4:
		err = w.remover().Remove(ctx, id, "")
		w.live, w.binned = slices.DeleteFunc(w.live, func(other firn.ID) bool { return other == id }), append(w.binned, id)
	case 5:
		if len(w.binned) > 0 {
			id := w.binned[0]
			err = w.remover().Restore(ctx, id)
			w.live, w.binned = append(w.live, id), w.binned[1:]
		}
	case 6:
		w.purge(id, all)
	case 7:
		err = w.remover().Archive(ctx, id)
	case 8: // a crash that loses the queued updates
		w.index.work.mu.Lock()
		clear(w.index.work.due.dirty)
		w.index.work.mu.Unlock()
		w.reopen()
	case 9: // another process appends without updating the index, and dies
		if _, err := w.files.Append(ctx, id, store.Any, w.entry()); err != nil {
			w.t.Fatal(err)
		}
		w.reopen()
	default:
		for range 1 + w.rng.IntN(4) {
			w.append(id, w.entry())
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remover() store.Remover {
	r, _ := store.As[store.Remover](w.store)
	return r
}

// purge erases a message everywhere it was copied to, or a session.
func (w *world) purge(id firn.ID, all []firn.Entry) {
	victim := all[w.rng.IntN(len(all))]
	text := textOf(victim)
	for _, other := range slices.Concat(w.live, w.binned) {
		if slices.Contains(w.binned, other) {
			continue // a copy in the trash bin is not purged with it
		}
		for _, e := range w.records(other) {
			if e.ID == victim.ID && text != "" {
				if _, err := w.remover().Purge(context.Background(), other, "", e.ID); err != nil {
					w.t.Fatal(err)
				}
			}
		}
	}
	for _, word := range strings.Fields(text) {
		if strings.HasPrefix(word, "quux") {
			w.gone = append(w.gone, word)
		}
	}
}

func textOf(e firn.Entry) string {
	var texts []string
	for _, p := range piecesOf(e) {
		texts = append(texts, p.text)
	}
	return strings.Join(texts, "\n")
}

// scan returns the expected hits of a search, by reading everything.
func (w *world) scan(q search.Query) map[string]bool {
	found := make(map[string]bool)
	for _, id := range w.live {
		for _, e := range w.records(id) {
			for _, p := range piecesOf(e) {
				if p.space == talk == (q.In != search.InTools) && q.Want.Holds(search.TextOf(p.text)) {
					found[string(id)+"/"+string(e.ID)] = true
				}
			}
		}
	}
	return found
}

// ask returns the hits of a search, with copies.
func (w *world) ask(q search.Query) map[string]bool {
	found := make(map[string]bool)
	q.Limit = search.MaxLimit
	for {
		a, err := w.index.Search(context.Background(), q)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, h := range a.Hits {
			found[string(h.Session)+"/"+string(h.Entry)] = true
			for _, c := range h.Copies {
				found[string(c.Session)+"/"+string(c.Entry)] = true
			}
		}
		if q.Cursor = a.Cursor; q.Cursor == "" {
			return found
		}
	}
}

// TestIndexEqualsFiles performs random operations, including crashes, and compares the
// index with the files.
func TestIndexEqualsFiles(t *testing.T) {
	worlds := uint64(8)
	if testing.Short() {
		worlds = 1
	}
	for seed := range worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &world{testIndex: newTestIndex(t), rng: rand.New(rand.NewPCG(seed, 6))}
			for range 6 {
				for range 12 {
					w.step()
				}
				w.compare()
			}
		})
	}
}

// compare compares the index with the files.
func (w *world) compare() {
	w.t.Helper()
	for _, text := range []string{
		"lock", "flaky server", `"lock test"`, "run", "tri*", "username OR journal", "test NOT lock", "(café OR 東京) AND build", "getUserName", "in:tools lock", "quux*",
	} {
		q, err := search.Parse(text, time.Now())
		if err != nil {
			w.t.Fatal(err)
		}
		want, got := w.scan(q), w.ask(q)
		if !maps.Equal(want, got) {
			w.t.Errorf("%s finds %d, want %d: %v, want %v", text, len(got), len(want), keys(got), keys(want))
		}
	}
	differences, err := w.index.Check(context.Background())
	if err != nil || len(differences) > 0 {
		w.t.Errorf("the check returned %v, %v", differences, err)
	}
	if differences, err = w.index.Compare(context.Background()); err != nil || len(differences) > 0 {
		w.t.Errorf("the comparison returned %v, %v", differences, err)
	}
	w.marks()
	w.grepGone()
	w.sound()
}

func keys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

// grepGone searches for purged words in every byte of the index, unless a copy is in the
// trash bin.
func (w *world) grepGone() {
	w.t.Helper()
	err := filepath.WalkDir(filepath.Join(w.dir, "index"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, word := range w.gone {
			if bytes.Contains(data, []byte(word)) && !w.inFiles(word) {
				w.t.Errorf("%s still contains %s, which was purged", path, word)
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// inFiles reports whether a word is in an existing session, or in one in the trash bin, which
// the index may not have removed yet.
func (w *world) inFiles(word string) bool {
	for _, id := range w.binned {
		files, err := filepath.Glob(filepath.Join(w.dir, "bin", string(id), "*"))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				w.t.Fatal(err)
			}
			if bytes.Contains(data, []byte(word)) {
				return true
			}
		}
	}
	for _, id := range w.live {
		for _, e := range w.records(id) {
			if strings.Contains(textOf(e), word) {
				return true
			}
		}
	}
	return false
}

// TestPurgedRowsThatMoved purges rows that SQLite had moved between pages, because rows were
// inserted between them.
func TestPurgedRowsThatMoved(t *testing.T) {
	w := &world{testIndex: newTestIndex(t), rng: rand.New(rand.NewPCG(1, 6))}
	const sessions = 60
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, n := range w.rng.Perm(sessions) {
		text, _ := w.words()
		e := firn.NewEntry(&firn.Message{Role: firn.RoleUser, Time: day.AddDate(0, 0, n), Parts: []firn.Part{firn.Text{Text: text + strings.Repeat(" lock", n)}}})
		id := firn.ID(fmt.Sprintf("session-%d", n))
		w.append(id, firn.Entry{Body: &firn.Header{Agent: "main"}}, e)
		w.live = append(w.live, id)
		w.search("lock")
	}
	for _, id := range w.live {
		w.purge(id, w.records(id))
		w.grepGone()
	}
	if len(w.gone) == 0 {
		t.Error("nothing was purged")
	}
}

// TestPurgesTogether purges several sessions and erases their text once.
func TestPurgesTogether(t *testing.T) {
	w := &world{testIndex: newTestIndex(t), rng: rand.New(rand.NewPCG(2, 6))}
	for n := range 5 {
		text, unique := w.words()
		w.append(firn.ID(fmt.Sprintf("session-%d", n)), firn.Entry{Body: &firn.Header{Agent: "main"}}, firn.UserText(text))
		w.gone = append(w.gone, unique)
	}
	w.search("quux*")
	many, finish := witness.Together(context.Background())
	before := w.index.work.requests()
	for n := range 5 {
		if _, err := w.remover().Purge(many, firn.ID(fmt.Sprintf("session-%d", n)), ""); err != nil {
			t.Fatal(err)
		}
	}
	if after := w.index.work.requests(); after != before {
		t.Errorf("the index was asked to erase %d times before the end", after-before)
	}
	if err := finish(); err != nil {
		t.Fatal(err)
	}
	w.grepGone()
	w.compare()
}

// requests returns the number of requests to the background goroutine.
func (w *work) requests() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}
