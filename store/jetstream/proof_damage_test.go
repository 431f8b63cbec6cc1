package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/store"
	"firn.dev/store/jetstream"
)

// clusterDamage flips a byte in the files of one replica, then reads through that server,
// through the others, and through that server as the leader.
func clusterDamage(t *testing.T, c *cluster) {
	o := c.options(t)
	o.SealAfter = -1 // the damaged messages must not be replaced by a seal
	st := c.open(t, o)
	for i := range 40 {
		mustAppend(t, st, "s1", message(fmt.Sprint("entry number ", i, " ", strings.Repeat("x", 200))))
	}
	for range 50 { // the server checks its last block when it starts, so there must be another
		mustAppend(t, st, "filler", message(strings.Repeat("y", 200_000)))
	}
	mustAppend(t, st, "s1", message("the end"))
	want := records(t, st.Read(t.Context(), "s1", store.Start))
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	api := c.connect(t)
	leader := c.leader(t, api, o.Space+"_S00")
	victim := c.nodes[0]
	if victim == leader {
		victim = c.nodes[1]
	}
	victim.stop() // a killed server would check all its blocks when it starts
	flip(t, victim.Dir, o.Space+"_S00", "entry number 20 ")
	victim.start(t)

	var mu sync.Mutex
	var texts []string
	through := c.through(o, victim.Name)
	through.Report = func(m string) {
		mu.Lock()
		defer mu.Unlock()
		texts = append(texts, m)
	}
	reader := c.open(t, through)
	ctx, cancel := context.WithTimeout(t.Context(), basetest.Limit)
	defer cancel()
	for named := false; !named; { // other servers respond until it has caught up
		same(t, reader, "s1", want) // the leader has the messages that the replica lost
		mu.Lock()
		named = strings.Contains(strings.Join(texts, "\n"), fmt.Sprintf("replica of server %q", victim.Name))
		mu.Unlock()
		if ctx.Err() != nil {
			t.Fatalf("no report names the server %s: %q", victim.Name, texts)
		}
	}
	same(t, c.open(t, c.through(o, leader.Name)), "s1", want)
	clusterDamagedLeader(t, c, through, victim)
	c.clear(t, o.Space)
}

// clusterDamagedLeader reads while only the damaged server can respond.
func clusterDamagedLeader(t *testing.T, c *cluster, o jetstream.Options, victim *node) {
	o.Wait = 4 * time.Second
	st := c.open(t, o)
	for _, n := range c.nodes {
		if n != victim {
			n.kill()
		}
	}
	var failed error
	for _, err := range st.Read(t.Context(), "s1", store.Start) {
		failed = err
	}
	var d *jetstream.Damage
	if !errors.As(failed, &d) || !errors.Is(failed, firn.ErrCorrupt) || !strings.Contains(d.Server, victim.Name) || d.At != 21 {
		t.Errorf("reading from the damaged server alone: %v", failed)
	}
	for _, n := range c.nodes {
		if n != victim {
			n.start(t)
		}
	}
}

// flip changes a byte of the text in the block files of a stream.
func flip(t *testing.T, dir, stream, text string) {
	t.Helper()
	flipped := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".blk") || !strings.Contains(path, filepath.Join("streams", stream)) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if i := bytes.Index(data, []byte(text)); i >= 0 {
			data[i] ^= 1
			flipped++
			return os.WriteFile(path, data, 0o600)
		}
		return nil
	})
	if err != nil || flipped == 0 {
		t.Fatalf("%q was found in %d files, error %v", text, flipped, err)
	}
}
