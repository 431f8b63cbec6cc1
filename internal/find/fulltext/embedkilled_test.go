package fulltext

import (
	"fmt"
	"testing"
)

// childEmbed embeds messages, and prints a line for each call.
func childEmbed(index *Index) error {
	index.opts.Embedder = &fakeEmbedder{name: "fake", answer: func(v [][]float32) ([][]float32, error) {
		fmt.Println("embedded", len(v))
		return v, nil
	}}
	index.Start()
	<-index.work.ctx.Done()
	return nil
}

// TestVectorsKilled kills a process with SIGKILL again and again while it writes vectors. In
// the end each message has one, and those that were written are not computed again.
func TestVectorsKilled(t *testing.T) {
	b := newTestIndex(t)
	b.fill(6, 20)
	b.search("something") // builds the index
	b.reopen()
	for round := range 4 {
		c := startChild(t, "embed", b.dir, "one")
		c.until("embedded", 3+round)
		c.kill()
	}
	e := &fakeEmbedder{name: "fake"}
	b.index.opts.Embedder = e
	b.embedded()
	db, done, err := b.index.use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	var vectors, signs, messages int
	if err := db.read.QueryRow("select (select count(*) from vectors), (select count(*) from signs), (select count(*) from docs new where "+embeddable+")").Scan(&vectors, &signs, &messages); err != nil {
		t.Fatal(err)
	}
	// A call that was printed may not have been written, but the ones before it were.
	if sent := len(e.sent()); vectors != messages || signs != messages || sent > messages-3*(2+3+4+5) {
		t.Errorf("%d vectors and %d signs of %d messages; the last process embedded %d", vectors, signs, messages, sent)
	}
	b.sound()
}
