package fulltext

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/basetest"
)

// TestVectorsOfTextPurgedMeanwhile purges a message while it is embedded.
func TestVectorsOfTextPurgedMeanwhile(t *testing.T) {
	const text = "We acquired the lorry."
	var b *testIndex
	var once sync.Once
	e := &fakeEmbedder{name: "fake"}
	e.ask = func(ctx context.Context, texts []string) error {
		if slices.Contains(texts, text) {
			once.Do(func() {
				if _, err := b.files.Purge(ctx, "s0", "", "e0"); err != nil {
					t.Error(err)
				}
				if err := b.index.Erase(ctx, "s0"); err != nil {
					t.Error(err)
				}
			})
		}
		return nil
	}
	b = embeddedIndex(t, e)
	b.embedded()
	if !slices.Contains(e.sent(), text) {
		t.Fatal("the message was not embedded")
	}
	if b.hasVector(text) {
		t.Error("the vector of a purged message was written")
	}
	if !b.hasVector("Birds sing early.") {
		t.Error("other vectors were not written")
	}
	if vectors, signs, queued := b.numbers(); vectors != 6 || signs != 6 || queued != 0 {
		t.Errorf("%d vectors, %d signs, %d queued", vectors, signs, queued)
	}
}

// TestVectorsOfChangedTextStayQueued checks that a message that changes while it is embedded
// is embedded again.
func TestVectorsOfChangedTextStayQueued(t *testing.T) {
	e := &fakeEmbedder{name: "fake"}
	b := embeddedIndex(t, e)
	b.embedded()
	// The background work may still look for messages: it must not embed this one.
	e.setAnswer(func([][]float32) ([][]float32, error) { return nil, errors.New("out of order") })
	db, done, err := b.index.use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if _, err := db.write.Exec("delete from vectors; delete from signs; insert into unembedded select id from docs new where " + embeddable + " limit 1"); err != nil {
		t.Fatal(err)
	}
	var id int64
	if err := db.read.QueryRow("select id from unembedded").Scan(&id); err != nil {
		t.Fatal(err)
	}
	if err := db.writeVectors(t.Context(), "fake", []vector{{id: id, sum: sumOf("other words"), v: make([]float32, 256)}}); err != nil {
		t.Fatal(err)
	}
	if vectors, signs, queued := b.numbers(); vectors+signs != 0 || queued != 1 {
		t.Errorf("%d vectors, %d signs, %d queued", vectors, signs, queued)
	}
}

// TestVectorsOfLostMessages reads a session again that has lost a message, while the endpoint
// is out of order.
func TestVectorsOfLostMessages(t *testing.T) {
	e := &fakeEmbedder{name: "fake"}
	b := embeddedIndex(t, e)
	b.append("s0", firn.UserText("It is red."))
	b.embedded()
	if vectors, _, _ := b.numbers(); vectors != 8 {
		t.Fatalf("%d vectors", vectors)
	}
	e.setAnswer(func([][]float32) ([][]float32, error) { return nil, errors.New("out of order") })
	if _, err := b.files.Purge(t.Context(), "s0", "", "e0"); err != nil {
		t.Fatal(err)
	}
	db, done, err := b.index.use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := b.index.refresh(t.Context(), db, []firn.ID{"s0"}); err != nil {
		t.Fatal(err)
	}
	b.append("s1", firn.UserText("Something for the queue."))
	b.search("something")
	if err := b.index.embedding.fill(t.Context()); err == nil {
		t.Error("the endpoint is not out of order")
	}
	if vectors, signs, _ := b.numbers(); vectors != 7 || signs != 7 {
		t.Errorf("%d vectors and %d signs of 7 messages", vectors, signs)
	}
}

// TestVectorsOfPurgedTextAreErased checks that no vector of a purged message is left.
func TestVectorsOfPurgedTextAreErased(t *testing.T) {
	e := &fakeEmbedder{name: "fake"}
	b := embeddedIndex(t, e)
	b.embedded()
	holds := func() bool { return b.hasVector("We acquired the lorry.") }
	if !holds() {
		t.Fatal("the vector is not in the files")
	}
	if _, err := b.files.Purge(t.Context(), "s0", "", "e0"); err != nil {
		t.Fatal(err)
	}
	if err := b.index.Erase(t.Context(), "s0"); err != nil {
		t.Fatal(err)
	}
	if holds() {
		t.Error("the vector is still in the files")
	}
}

// TestNearestVectors compares the scan of signs with the cosines of all vectors.
func TestNearestVectors(t *testing.T) {
	rng := basetest.Random(t)
	b := newTestIndex(t)
	b.append("s", firn.UserText("something"))
	b.search("something")
	db, done, err := b.index.use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := db.setUpVectors(t.Context(), "fake"); err != nil {
		t.Fatal(err)
	}
	random := func() []float32 {
		v := make([]float32, 100)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return v
	}
	var all []vector
	for i := range 2000 {
		all = append(all, vector{id: int64(i), sum: sumOf("word"), v: random()})
		if _, err := db.write.Exec("insert into docs values(?, 1, ?, 0, '', 0, 'user', 0, 0, 1, 0, 'word', '', '')", i, i); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.writeVectors(t.Context(), "fake", all); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		k := rng.IntN(len(all))
		near := random()
		for i := range near {
			near[i] = all[k].v[i] + 0.3*near[i]
		}
		found, err := db.nearest(t.Context(), near, 50)
		if err != nil || len(found) == 0 || len(found) > 50 || found[0].id != int64(k) {
			t.Fatalf("nearest to %d is %+v, %v", k, found[:min(len(found), 1)], err)
		}
	}
	if err := db.writeVectors(t.Context(), "fake", all[:1]); err != nil {
		t.Fatal(err)
	}
	again, err := db.nearest(t.Context(), all[0].v, 50)
	if err != nil || len(again) < 2 || again[0].id != 0 || again[1].id == 0 {
		t.Errorf("a row that was embedded again: %+v, %v", again[:min(len(again), 2)], err)
	}
	if err := db.writeVectors(t.Context(), "fake", []vector{{id: 9999, v: make([]float32, 7)}}); err == nil {
		t.Error("a vector of another size was written")
	}
}
