package fulltext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
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
	"firn.dev/internal/find/search"
)

// meanings are the words that mean the same to a fakeEmbedder.
var meanings = map[string]string{"automobile": "car", "lorry": "car", "purchase": "buy", "bought": "buy", "acquired": "buy"}

// fakeEmbedder returns a vector with a component for each meaning. It keeps the texts.
type fakeEmbedder struct {
	// answer, if not nil, replaces the vectors or returns an error.
	answer func(vectors [][]float32) ([][]float32, error)
	// ask, if not nil, is called first, and may return an error.
	ask func(ctx context.Context, texts []string) error

	mu    sync.Mutex
	name  string
	texts []string
	// ready is the error of Ready.
	ready error
}

func (f *fakeEmbedder) Ready() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready
}

func (f *fakeEmbedder) Name() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.name
}

func (f *fakeEmbedder) Batch() int { return 3 }

func (f *fakeEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if f.ask != nil {
		if err := f.ask(ctx, texts); err != nil {
			return nil, err
		}
	}
	var vectors [][]float32
	for _, text := range texts {
		v := make([]float32, 256)
		for i := range v {
			v[i] = -0.01
		}
		for _, word := range strings.Fields(strings.ToLower(text)) {
			word = strings.Trim(word, ".?,")
			if same := meanings[word]; same != "" {
				word = same
			}
			h := fnv.New32a()
			h.Write([]byte(word))
			for k := range 8 {
				v[(h.Sum32()>>(3*k))%256]++
			}
		}
		vectors = append(vectors, v)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts = append(f.texts, texts...)
	if f.answer != nil {
		return f.answer(vectors)
	}
	return vectors, nil
}

// sent returns the texts that were embedded.
func (f *fakeEmbedder) sent() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.texts...)
}

// setAnswer changes the answer.
func (f *fakeEmbedder) setAnswer(answer func([][]float32) ([][]float32, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// embeddedIndex returns an index whose messages have vectors: one about a lorry among others.
func embeddedIndex(t *testing.T, e *fakeEmbedder) *testIndex {
	b := newTestIndex(t)
	b.index.opts.Embedder = e
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, text := range []string{"We acquired the lorry.", "The weather in spring is mild.", "My sister plays chess.", "The roof of the barn leaks.", "Bread needs salt and patience.", "The password=hunter2hunter2 is new.", "This is hidden gossip.", "Birds sing early."} {
		e := firn.NewEntry(firn.UserText(text).Body)
		e.ID = firn.EntryID(fmt.Sprintf("e%d", i))
		e.Time = begin.Add(time.Duration(i) * time.Hour)
		e.Body.(*firn.Message).Time = e.Time
		b.append(firn.ID(fmt.Sprintf("s%d", i)), e)
	}
	b.append("s6", firn.NewEntry(&firn.Tombstone{Target: "e6"}))
	return b
}

// embedded waits until all messages have a vector.
func (b *testIndex) embedded() {
	b.t.Helper()
	b.index.Start()
	basetest.Eventually(b.t, "all messages have a vector", func() bool {
		s := b.index.State()
		return !s.Building && s.Vectors != nil && s.Vectors.Total > 0 && s.Vectors.Done == s.Vectors.Total
	})
}

// TestVectorsAreKeptWithoutModel checks that the vectors of a model whose files are missing
// when the index is opened again are neither used nor removed.
func TestVectorsAreKeptWithoutModel(t *testing.T) {
	e := &fakeEmbedder{name: "fake"}
	b := embeddedIndex(t, e)
	b.embedded()
	sent := len(e.sent())
	found := func() bool {
		hits := b.search(otherWords)
		return len(hits) > 0 && hits[0].Entry == "e0" && hits[0].Parts["vector"] > 0
	}
	set := func(name string, ready error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.name, e.ready = name, ready
	}
	b.reopen()
	b.index.opts.Embedder = e
	set("incomplete", errors.New("the files are missing"))
	if found() || !strings.Contains(b.index.State().Vectors.Failed, "files are missing") {
		t.Errorf("found without a model; %+v", b.index.State().Vectors)
	}
	if err := b.index.embedding.fill(t.Context()); err == nil {
		t.Error("filled without a model")
	}
	set("fake", nil)
	b.index.embedding.mu.Lock()
	b.index.embedding.failed = time.Time{} // as after embedRetry
	b.index.embedding.mu.Unlock()
	if ok, n := found(), len(e.sent()); !ok || n > sent+1 {
		t.Errorf("found %v after %d texts, before %d", ok, n, sent)
	}
}

const otherWords = "Which automobile did they purchase yesterday afternoon?"

// TestVectorsFindOtherWords finds a message that has no word of the question, and sends
// neither hidden messages nor secrets.
func TestVectorsFindOtherWords(t *testing.T) {
	e := &fakeEmbedder{name: "fake"}
	b := embeddedIndex(t, e)
	if hits := b.search(otherWords); len(hits) > 0 && hits[0].Entry == "e0" && hits[0].Parts["vector"] > 0 {
		t.Fatalf("vectors exist before they are computed: %v", hits[0].Parts)
	}
	b.embedded()
	hits := b.search(otherWords)
	if len(hits) == 0 || hits[0].Entry != "e0" || hits[0].Parts["vector"] <= 0 {
		t.Errorf("found %s first", entries(hits[:min(1, len(hits))]))
	}
	all := strings.Join(e.sent(), "\n")
	for _, not := range []string{"hunter2", "gossip"} {
		if strings.Contains(all, not) {
			t.Errorf("%q was sent: %q", not, all)
		}
	}
	if !strings.Contains(all, "password=[secret]") || !strings.Contains(all, "lorry") {
		t.Errorf("sent %q", all)
	}
	b.append("late", firn.UserText("An automobile arrived late."))
	basetest.Eventually(t, "a new message has a vector", func() bool { return strings.Contains(strings.Join(e.sent(), "\n"), "arrived late") })
	for _, query := range []string{otherWords + " session:s1xx", otherWords + " role:assistant", otherWords + " since:2026-06-01 until:2026-06-02"} {
		if hits := b.search(query); len(hits) > 0 {
			t.Errorf("%s finds %s", query, entries(hits))
		}
	}
}

// TestVectorsAreResumed closes an index in the midst of its vectors. The next one embeds the
// others only; another model embeds all of them, and no index removes any.
func TestVectorsAreResumed(t *testing.T) {
	calls := 0
	first := &fakeEmbedder{name: "fake", answer: func(v [][]float32) ([][]float32, error) {
		if calls++; calls > 1 {
			return nil, errors.New("interrupted")
		}
		return v, nil
	}}
	b := embeddedIndex(t, first)
	b.index.Start()
	basetest.Eventually(t, "the endpoint failed", func() bool { return b.index.State().Vectors.Failed == "interrupted" })
	b.reopen()
	second := &fakeEmbedder{name: "fake"}
	b.index.opts.Embedder = second
	b.embedded()
	if n := len(second.sent()); n == 0 || n >= 7 {
		t.Errorf("%d messages were embedded again", n)
	}
	if hits := b.search(otherWords); len(hits) == 0 || hits[0].Entry != "e0" {
		t.Errorf("found %s", entries(hits))
	}
	b.reopen()
	third := &fakeEmbedder{name: "another"}
	b.index.opts.Embedder = third
	b.embedded()
	if n := len(third.sent()); n != 7 {
		t.Errorf("another model embeds %d messages", n)
	}
	b.reopen()
	b.index.Start()
	basetest.Eventually(t, "the vectors are removed", func() bool {
		db, done, err := b.index.use(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer done()
		var n int
		if err := db.read.QueryRow("select count(*) from sqlite_master where name in ('vectors', 'signs', 'unembedded', 'embedder', 'docs_unembedded')").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 0
	})
	b.append("later", firn.UserText("Another lorry."))
	if hits := b.search("lorry"); len(hits) != 2 {
		t.Errorf("found %s", entries(hits))
	}
}

// TestVectorsAreOptional checks that search continues with an endpoint that fails or returns
// invalid data, reports this once, and recovers.
func TestVectorsAreOptional(t *testing.T) {
	for name, answer := range map[string]func([][]float32) ([][]float32, error){
		"an error":        func([][]float32) ([][]float32, error) { return nil, errors.New("out of order") },
		"too few":         func(v [][]float32) ([][]float32, error) { return v[1:], nil },
		"different sizes": func(v [][]float32) ([][]float32, error) { v[0] = v[0][:7]; return append(v[:1:1], v[1:]...), nil },
		"empty":           func(v [][]float32) ([][]float32, error) { v[0] = nil; return v, nil },
		"not a number":    func(v [][]float32) ([][]float32, error) { v[0][3] = float32(math.NaN()); return v, nil },
	} {
		t.Run(name, func(t *testing.T) {
			e := &fakeEmbedder{name: "fake", answer: answer}
			b := embeddedIndex(t, e)
			b.index.Start()
			basetest.Eventually(t, "the endpoint failed", func() bool { return b.index.State().Vectors.Failed != "" })
			for range 3 {
				if hits := b.search("where does the roof of the barn leak"); len(hits) == 0 || hits[0].Entry != "e3" {
					t.Errorf("found %s", entries(hits))
				}
			}
			b.mu.Lock()
			reports := strings.Join(b.reports, "\n")
			b.mu.Unlock()
			if strings.Count(reports, "similar meanings are not searched") != 1 {
				t.Errorf("reported %q", reports)
			}
			e.setAnswer(nil)
			if err := b.index.embedding.fill(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := b.index.State().Vectors; s.Failed != "" || s.Done != s.Total {
				t.Errorf("after a recovery: %+v", s)
			}
		})
	}
}

// hasVector reports whether a file of the index contains the vector of a text, or its signs.
func (b *testIndex) hasVector(text string) bool {
	b.t.Helper()
	vectors, err := (&fakeEmbedder{}).Embed(b.t.Context(), []string{text})
	if err != nil {
		b.t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(b.dir, "index", "*"))
	if err != nil || len(files) == 0 {
		b.t.Fatalf("the files of the index: %v, %v", files, err)
	}
	found := false
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			b.t.Fatal(err)
		}
		found = found || bytes.Contains(data, encodeVector(vectors[0])) || bytes.Contains(data, encodeSigns(vectors[0]))
	}
	return found
}

// numbers returns the numbers of vectors, of signs and of queued rows.
func (b *testIndex) numbers() (vectors, signs, queued int) {
	b.t.Helper()
	db, done, err := b.index.use(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	defer done()
	if err := db.read.QueryRow("select (select count(*) from vectors), (select count(*) from signs), (select count(*) from unembedded)").Scan(&vectors, &signs, &queued); err != nil {
		b.t.Fatal(err)
	}
	return vectors, signs, queued
}

// TestEmbeddingOutlivesCancelledSearch checks that a canceled search does not turn vectors off
// for others, but an endpoint that is too slow does.
func TestEmbeddingOutlivesCancelledSearch(t *testing.T) {
	var slow atomic.Bool
	asked := make(chan bool, 100)
	e := &fakeEmbedder{name: "fake", ask: func(ctx context.Context, _ []string) error {
		if slow.Load() {
			asked <- true
			<-ctx.Done()
			return fmt.Errorf("call: %w", ctx.Err())
		}
		return nil
	}}
	b := embeddedIndex(t, e)
	b.embedded()
	q, err := search.Parse(otherWords, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	db, done, err := b.index.use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	slow.Store(true)
	cancelled, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	short, cancelShort := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancelShort()
	for _, ctx := range []context.Context{cancelled, short} {
		if v := b.index.embedding.queryVector(ctx, db, q); v != nil {
			t.Error("a slow endpoint returned a vector")
		}
		if s := b.index.State().Vectors; s.Failed != "" {
			t.Errorf("a canceled search is reported as an error: %s", s.Failed)
		}
	}
	slow.Store(false)
	if hits := b.search(otherWords); len(hits) == 0 || hits[0].Parts["vector"] <= 0 {
		t.Error("vectors are turned off")
	}
	slow.Store(true)
	q.Want.Kids = q.Want.Kids[1:]
	if b.index.embedding.queryVector(t.Context(), db, q); b.index.State().Vectors.Failed == "" {
		t.Error("an endpoint that is too slow is not an error")
	}
}

// TestEmbeddingRejectedTexts checks that texts that are rejected do not block others and are not
// sent again, and that texts stay queued if all of them are rejected.
func TestEmbeddingRejectedTexts(t *testing.T) {
	reject := func(bad ...string) func(context.Context, []string) error {
		return func(_ context.Context, texts []string) error {
			for _, text := range texts {
				if len(bad) == 0 || slices.Contains(bad, text) {
					return fmt.Errorf("status 400: %w", ErrRejected)
				}
			}
			return nil
		}
	}
	e := &fakeEmbedder{name: "fake", ask: reject()}
	b := embeddedIndex(t, e)
	b.search("something") // builds the index
	if err := b.index.embedding.fill(t.Context()); !errors.Is(err, ErrRejected) {
		t.Errorf("all texts are rejected: %v", err)
	}
	if vectors, _, queued := b.numbers(); vectors != 0 || queued != 8 {
		t.Errorf("all texts are rejected: %d vectors, %d queued", vectors, queued)
	}
	e.ask = reject("Birds sing early.", "My sister plays chess.")
	if err := b.index.embedding.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if vectors, signs, queued := b.numbers(); vectors != 7 || signs != 5 || queued != 0 {
		t.Errorf("%d vectors, %d signs, %d queued", vectors, signs, queued)
	}
	if hits := b.search(otherWords); len(hits) == 0 || hits[0].Entry != "e0" || hits[0].Parts["vector"] <= 0 {
		t.Errorf("found %s", entries(hits))
	}
	if s := b.index.State().Vectors; s.Done != s.Total || s.Failed != "" {
		t.Errorf("%+v", s)
	}
	b.append("late", firn.UserText("odd"), firn.UserText("even"))
	b.search("something")
	e.ask = nil
	e.setAnswer(func(v [][]float32) ([][]float32, error) { // texts of one word have another size
		for i := range v {
			if e.texts[len(e.texts)-len(v)+i] == "odd" {
				v[i] = v[i][:7]
			}
		}
		return v, nil
	})
	if err := b.index.embedding.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if vectors, signs, queued := b.numbers(); vectors != 9 || signs != 6 || queued != 0 {
		t.Errorf("with another size: %d vectors, %d signs, %d queued", vectors, signs, queued)
	}
}

// TestEmbeddingSendsOnce appends to a session of another tool, which is read from its beginning
// each time.
func TestEmbeddingSendsOnce(t *testing.T) {
	e := &fakeEmbedder{name: "fake"}
	b := newTestIndex(t)
	b.index.opts.Embedder = e
	b.index.opts.SourceOf = func(context.Context, firn.ID) Origin { return Origin{Tool: "codex"} }
	for i := range 6 {
		b.append("imported", firn.UserText(fmt.Sprintf("Message number %d.", i)))
		b.search("message")
		if err := b.index.embedding.fill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if sent := e.sent(); len(sent) != 6 {
		t.Errorf("sent %q", sent)
	}
	if vectors, signs, queued := b.numbers(); vectors != 6 || signs != 6 || queued != 0 {
		t.Errorf("%d vectors, %d signs, %d queued", vectors, signs, queued)
	}
}

// TestEmbeddingMasksBeforeCutting checks that a secret across the end of an embedded text is
// masked.
func TestEmbeddingMasksBeforeCutting(t *testing.T) {
	key := "sk-" + "ant-api03-" + strings.Repeat("Ab3dEf7hIj", 5)
	for _, before := range []int{4, 8, 14, 20} {
		e := &fakeEmbedder{name: "fake"}
		b := newTestIndex(t)
		b.index.opts.Embedder = e
		text := strings.Repeat("word ", maxEmbedded/5)[:maxEmbedded-before-1] + " " + key
		b.append("s", firn.UserText(text))
		b.search("word")
		if err := b.index.embedding.fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		if sent := e.sent(); len(sent) != 1 || len(sent[0]) > maxEmbedded || strings.Contains(sent[0], "sk-") {
			t.Errorf("%d bytes of the key: sent %d texts, %q", before, len(sent), sent[0][len(sent[0])-40:])
		}
	}
}
