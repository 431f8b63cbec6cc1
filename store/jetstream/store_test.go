package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/base/hashchain"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/store/jetstream"
	"firn.dev/store/storetest"
)

func message(text string) firn.Entry {
	return firn.Entry{Body: &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}}}
}

// record is the part of a record that tests compare.
type record struct {
	at, next store.Pos
	line     string
}

// records reads a sequence to the end.
func records(t testing.TB, seq iter.Seq2[store.Record, error]) []record {
	t.Helper()
	var all []record
	for r, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, record{r.At, r.Next, string(r.Line())})
	}
	return all
}

// same checks that a session reads the same as before, forwards and backwards.
func same(t testing.TB, st store.Store, id firn.ID, want []record) {
	t.Helper()
	forth := records(t, st.Read(t.Context(), id, store.Start))
	if !slices.Equal(forth, want) {
		t.Errorf("read %d records, want %d the same", len(forth), len(want))
	}
	back := records(t, st.ReadBack(t.Context(), id, store.End))
	slices.Reverse(back)
	if !slices.Equal(back, want) {
		t.Errorf("read back %d records, want %d the same", len(back), len(want))
	}
}

func mustAppend(t testing.TB, st store.Store, id firn.ID, entries ...firn.Entry) store.Pos {
	t.Helper()
	end, err := st.Append(t.Context(), id, store.Any, entries...)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func opened(t testing.TB) (*jetstream.Store, jetstream.Options) {
	t.Helper()
	o := options(t)
	st := openStore(t, o)
	t.Cleanup(func() { _ = st.Close() })
	return st, o
}

func another(t testing.TB, o jetstream.Options) *jetstream.Store {
	t.Helper()
	st := openStore(t, o)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

// TestLinesEqualFiles appends the same entries to files and to a cluster.
func TestLinesEqualFiles(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, 3, 15, 10, 0, 0, 0, time.UTC) }
	o := options(t)
	o.Now = now
	st := another(t, o)
	home := t.TempDir()
	files, err := filestore.Open(home, filestore.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var parent firn.EntryID
	for i := range 20 {
		var batch []firn.Entry
		for j := range 1 + i%4 {
			e := message(fmt.Sprint(i, j, " ü\n\u2028"))
			if i == 7 {
				e = message(strings.Repeat("large ", 100_000))
			}
			e.ID = firn.EntryID(fmt.Sprintf("e%d-%d", i, j))
			parent = e.ID
			batch = append(batch, e)
		}
		mustAppend(t, st, "s1", batch...)
		mustAppend(t, files, "s1", batch...)
	}
	mustAppend(t, st, "s1", firn.Entry{ID: "stone", Body: &firn.Tombstone{Target: parent}})
	mustAppend(t, files, "s1", firn.Entry{ID: "stone", Body: &firn.Tombstone{Target: parent}})
	check := func(when string) {
		t.Helper()
		var got, want bytes.Buffer
		there, here := hashchain.NewChecker("s1"), hashchain.NewChecker("s1")
		for _, r := range records(t, st.Read(t.Context(), "s1", store.Start)) {
			there.Add([]byte(r.line))
			fmt.Fprintf(&got, "%s\n", hashchain.Without([]byte(r.line)))
		}
		data, err := os.ReadFile(filepath.Join(home, "agents", "main", "sessions", "s1.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			line = bytes.TrimSuffix(line, []byte{'\n'})
			here.Add(line)
			fmt.Fprintf(&want, "%s\n", hashchain.Without(line))
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%s: the cluster has %d bytes, the file %d, and they differ", when, got.Len(), want.Len())
		}
		if n := there.Lines(); there.Linked != n || here.Linked != n || there.First > 0 || here.First > 0 {
			t.Errorf("%s: of %d lines %d and %d are linked; faults at %d and %d", when, n, there.Linked, here.Linked, there.First, here.First)
		}
	}
	check("as it was written")
	if err := st.Seal(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	check("sealed")
}

func TestSealKeepsEverything(t *testing.T) {
	t.Parallel()
	st, o := opened(t)
	for i := range 40 {
		mustAppend(t, st, "s1", message(fmt.Sprint(i)), message(strings.Repeat("x", i*100)))
	}
	want := records(t, st.Read(t.Context(), "s1", store.Start))
	for round := range 3 {
		for range 2 { // sealing twice has no further effect
			if err := st.Seal(t.Context(), "s1"); err != nil {
				t.Fatal(err)
			}
			same(t, st, "s1", want)
		}
		for after := range store.Pos(len(want)) {
			if got := records(t, st.Read(t.Context(), "s1", after)); !slices.Equal(got, want[after:]) {
				t.Fatalf("read %d records after %d", len(got), after)
			}
			if got := records(t, st.ReadBack(t.Context(), "s1", after)); len(got) != int(after) {
				t.Fatalf("read back %d records before %d", len(got), after)
			}
		}
		mustAppend(t, st, "s1", message(fmt.Sprint("after seal ", round)))
		other := another(t, o)
		mustAppend(t, other, "s1", firn.Entry{Parent: firn.EntryID(idAt(t, want, 1)), Body: &firn.Head{}})
		want = records(t, other.Read(t.Context(), "s1", store.Start))
		same(t, st, "s1", want)
	}
	if len(want) != 87 {
		t.Errorf("there are %d records", len(want))
	}
	if err := st.Seal(t.Context(), "nobody"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("sealing nothing: %v", err)
	}
}

// idAt returns the ID in the line of a record.
func idAt(t testing.TB, all []record, i int) string {
	t.Helper()
	_, rest, ok := strings.Cut(all[i].line, `"id":"`)
	id, _, ok2 := strings.Cut(rest, `"`)
	if !ok || !ok2 {
		t.Fatalf("no id in %s", all[i].line)
	}
	return id
}

// TestSealLarge seals a session that does not fit into a message, twice.
func TestSealLarge(t *testing.T) {
	t.Parallel()
	st, _ := opened(t)
	noise := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('!' + noise.IntN(90))
		}
		return string(b)
	}
	for range 30 {
		mustAppend(t, st, "s1", message(text(200_000)))
	}
	want := records(t, st.Read(t.Context(), "s1", store.Start))
	for range 2 {
		if err := st.Seal(t.Context(), "s1"); err != nil {
			t.Fatal(err)
		}
		same(t, st, "s1", want)
		mustAppend(t, st, "s1", message(text(700_000)))
		want = records(t, st.Read(t.Context(), "s1", store.Start))
		same(t, st, "s1", want)
	}
	infos := slices.Collect(firsts(st.List(t.Context(), store.Query{})))
	if len(infos) != 1 || infos[0].End != store.Pos(len(want)) || infos[0].Bytes < 7_000_000 {
		t.Errorf("listed %+v", infos)
	}
}

func firsts[A, B any](seq iter.Seq2[A, B]) iter.Seq[A] {
	return func(yield func(A) bool) {
		for a := range seq {
			if !yield(a) {
				return
			}
		}
	}
}

// TestSealWhileOthersAppend seals a session again and again while two stores
// append to it and three follow and read it.
func TestSealWhileOthersAppend(t *testing.T) {
	t.Parallel()
	st, o := opened(t)
	other, third := another(t, o), another(t, o)
	mustAppend(t, st, "s1", message("first"))
	const each = 60
	total := 2 + 2*each
	ctx, cancel := context.WithTimeout(t.Context(), basetest.Limit)
	defer cancel()
	var writers, others sync.WaitGroup
	for i, w := range []*jetstream.Store{st, other} {
		writers.Go(func() {
			for n := range each {
				if _, err := w.Append(ctx, "s1", store.Any, message(fmt.Sprint("writer ", i, " ", n))); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	written := make(chan struct{})
	others.Go(func() {
		for {
			select {
			case <-written:
				return
			default:
			}
			if err := third.Seal(ctx, "s1"); err != nil && !errors.Is(err, firn.ErrConflict) {
				t.Errorf("seal: %v", err)
			}
			n := store.Pos(0)
			for r, err := range third.Read(ctx, "s1", store.Start) {
				if err != nil || r.At != n {
					t.Errorf("reading at %d: %v", n, err)
					return
				}
				n = r.Next
			}
			for r, err := range other.ReadBack(ctx, "s1", n) {
				if n--; err != nil || r.At != n {
					t.Errorf("reading back at %d: %v", n, err)
					return
				}
			}
		}
	})
	followed := make([][]record, 2)
	for i, f := range []*jetstream.Store{st, third} {
		others.Go(func() {
			for r, err := range f.Follow(ctx, "s1", store.Start) {
				if err != nil {
					t.Errorf("follow: %v", err)
					return
				}
				followed[i] = append(followed[i], record{r.At, r.Next, string(r.Line())})
				if len(followed[i]) == total {
					return
				}
			}
			t.Errorf("following ended after %d records", len(followed[i]))
		})
	}
	writers.Wait()
	close(written)
	others.Wait()
	want := records(t, st.Read(ctx, "s1", store.Start))
	if len(want) != total {
		t.Errorf("there are %d records, want %d", len(want), total)
	}
	for i := range followed {
		if !slices.Equal(followed[i], want) {
			t.Errorf("follower %d saw %d records, which differ from the stored ones", i, len(followed[i]))
		}
	}
}

// TestStaleWriterIsFenced has two stores that each assume to be the only writer.
func TestStaleWriterIsFenced(t *testing.T) {
	t.Parallel()
	st, o := opened(t)
	other := another(t, o)
	end := mustAppend(t, st, "s1", message("a"))
	next, err := other.Append(t.Context(), "s1", end, message("b"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = st.Append(t.Context(), "s1", end, message("stale"))
	var c *store.Conflict
	if !errors.As(err, &c) || c.End != next {
		t.Errorf("the stale writer got %v", err)
	}
	if err := other.Remove(t.Context(), "s1", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(t.Context(), "s1", store.Any, message("late")); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("append to a session that another store has removed: %v", err)
	}
	if err := st.Restore(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, other, "s1", message("c"))
	if got := records(t, st.Read(t.Context(), "s1", store.Start)); len(got) != 4 {
		t.Errorf("there are %d records", len(got))
	}
}

// TestListsAgree compares the lists of stores that know different
// parts of the index.
func TestListsAgree(t *testing.T) {
	t.Parallel()
	st, o := opened(t)
	other := another(t, o)
	for i := range 30 {
		id := firn.ID(fmt.Sprint("s", i))
		mustAppend(t, st, id, message(fmt.Sprint("prompt ", i)), firn.Entry{Body: &firn.Title{Name: fmt.Sprint("title ", i)}})
		if i%3 == 0 {
			list(t, other)
		}
		mustAppend(t, other, id, message("more"))
		if i%5 == 0 {
			if err := other.Seal(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			mustAppend(t, st, id, firn.Entry{Body: &firn.Tombstone{Target: firn.EntryID(id)}})
		}
		if i%7 == 0 {
			if err := other.Archive(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := list(t, st)
	if len(want) != 30 {
		t.Errorf("listed %d sessions", len(want))
	}
	for name, s := range map[string]*jetstream.Store{"another store": other, "a new store": another(t, o)} {
		if got := list(t, s); !slices.Equal(got, want) {
			t.Errorf("%s lists %+v\nwant %+v", name, got, want)
		}
	}
	loseIndex(t, o)
	if got := list(t, another(t, o)); !slices.Equal(got, want) {
		t.Errorf("made again, the index lists %+v\nwant %+v", got, want)
	}
}

// list returns everything that a store lists.
func list(t testing.TB, st store.Store) []store.Info {
	t.Helper()
	var all []store.Info
	for i := range 4 {
		for info, err := range st.List(t.Context(), store.Query{Archived: i&1 > 0, Hidden: i&2 > 0}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, info)
		}
	}
	return all
}

// TestPurgeLeavesNothing searches everything that the server returns for erased words.
func TestPurgeLeavesNothing(t *testing.T) {
	t.Parallel()
	st, o := opened(t)
	const secret = "hunter2-hunter2"
	secretEntry := func(id firn.EntryID, n int) firn.Entry {
		e := message(strings.Repeat(secret, n))
		e.ID = id
		return e
	}
	mustAppend(t, st, "s1", message("fine"), secretEntry("a", 1), secretEntry("b", 40_000))
	mustAppend(t, st, "s1", firn.Entry{ID: "c", Body: &firn.Title{Name: secret}})
	mustAppend(t, st, "s2", secretEntry("a", 1), secretEntry("b", 40_000))
	if _, err := store.LoadOrCreate(t.Context(), st, secret); err != nil {
		t.Fatal(err)
	}
	key, err := st.Lookup(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	list(t, st)
	if err := st.Seal(t.Context(), "s2"); err != nil {
		t.Fatal(err)
	}
	if n := occurrences(t, o, secret); n < 5 {
		t.Fatalf("the secret is in only %d messages before", n)
	}
	receipt, err := st.Purge(t.Context(), "s1", "asked to", "a", "b", "c")
	if err != nil || receipt.Done.IsZero() || receipt.Bytes == 0 || len(receipt.Files) < 2 {
		t.Errorf("purged with %+v, %v", receipt, err)
	}
	for _, id := range []firn.ID{"s2", key} {
		if receipt, err := st.Purge(t.Context(), id, "asked to"); err != nil || receipt.Done.IsZero() || receipt.Bytes == 0 {
			t.Errorf("purged with %+v, %v", receipt, err)
		}
	}
	if n := occurrences(t, o, secret); n > 0 {
		t.Errorf("the secret is still in %d messages", n)
	}
	if got := records(t, st.Read(t.Context(), "s1", store.Start)); len(got) != 5 || !strings.Contains(got[3].line, `"erased","id":"b"`) {
		t.Errorf("remaining: %v", got)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, o := range map[string]jetstream.Options{
		"no server":       {},
		"an odd space":    {Server: shared, Space: "a.b"},
		"too many shards": {Server: shared, Shards: 1 << 20},
		"odd replicas":    {Server: shared, Replicas: -1},
	} {
		if _, err := jetstream.Open(t.Context(), o); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := jetstream.NewServer(""); !errors.Is(err, firn.ErrInvalid) {
		t.Error("a server without a directory was started")
	}
}

// TestShardCountIsFixed opens a store with another number of shards.
func TestShardCountIsFixed(t *testing.T) {
	st, o := opened(t)
	for i := range 20 {
		mustAppend(t, st, firn.ID(fmt.Sprint("s", i)), message("hello"))
	}
	o.Shards = 7
	other := another(t, o)
	for i := range 20 {
		if got := records(t, other.Read(t.Context(), firn.ID(fmt.Sprint("s", i)), store.Start)); len(got) != 2 {
			t.Errorf("session %d has %d records", i, len(got))
		}
	}
}

// sealing is a store that seals sessions at unexpected times.
type sealing struct {
	*jetstream.Store
	t       *testing.T
	appends atomic.Int64
}

func (s *sealing) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	end, err := s.Store.Append(ctx, id, expect, entries...)
	if err == nil && len(entries) > 0 && s.appends.Add(1)%3 == 0 {
		if err := s.Seal(ctx, id); err != nil && !errors.Is(err, firn.ErrConflict) && !errors.Is(err, firn.ErrNotFound) {
			s.t.Errorf("seal: %v", err)
		}
	}
	return end, err
}

func openSealing(t *testing.T) storetest.Opened {
	o := options(t)
	st := openStore(t, o)
	return storetest.Opened{Store: &sealing{Store: st, t: t}, Reopen: func() store.Store {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		st = openStore(t, o)
		return &sealing{Store: st, t: t}
	}}
}

func TestContractSealed(t *testing.T) { storetest.Run(t, openSealing) }

func TestRandomSealed(t *testing.T) {
	t.Parallel()
	storetest.RunRandom(t, openSealing)
}

// TestLongSession lists and reads a session that is not read completely for a list, with the
// messages of another one in between.
func TestLongSession(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Shards = 1
	st := another(t, o)
	bytes := int64(0)
	for i := range 700 {
		mustAppend(t, st, "s1", message(fmt.Sprint(i, " a")), message(fmt.Sprint(i, " b")))
		if i%10 == 0 {
			mustAppend(t, st, "s2", message("between"))
		}
	}
	mustAppend(t, st, "s1", firn.Entry{Body: &firn.Title{Name: "the end"}})
	want := records(t, st.Read(t.Context(), "s1", store.Start))
	for _, r := range want {
		bytes += int64(len(r.line)) + 1
	}
	same(t, st, "s1", want)
	for _, at := range []store.Pos{1, 63, 511, 512, 513, 700, 1000, 1100, 1401} {
		if got := records(t, st.Read(t.Context(), "s1", at)); !slices.Equal(got, want[at:]) {
			t.Errorf("read %d records after %d", len(got), at)
		}
		n := 0
		for r, err := range st.ReadBack(t.Context(), "s1", at) {
			if err != nil || r.Next != at-store.Pos(n) {
				t.Fatalf("reading back from %d: %d, %v", at, r.Next, err)
			}
			if n++; n == 5 {
				break
			}
		}
	}
	for info, err := range st.List(t.Context(), store.Query{Text: "the end"}) {
		if err != nil || info.ID != "s1" || info.Bytes != bytes || info.End != store.Pos(len(want)) || info.Prompt != "0 a" {
			t.Errorf("listed %+v, %v; it has %d bytes", info, err, bytes)
		}
	}
}
