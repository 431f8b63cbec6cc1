package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// pi is a folder of pi with sessions written by the test.
type pi struct {
	t    *testing.T
	home string
}

// writeSession writes a session of n messages.
func (p pi) writeSession(id string, n int) {
	p.t.Helper()
	dir := filepath.Join(p.home, "sessions", "--x--")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		p.t.Fatal(err)
	}
	b := fmt.Appendf(nil, `{"type":"session","version":3,"id":%q,"timestamp":"2026-01-02T03:04:05.000Z","cwd":"/x"}`+"\n", id)
	parent := "null"
	for i := range n {
		b = fmt.Appendf(b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"word %d","timestamp":1}}`+"\n", i+1, parent, i)
		parent = fmt.Sprintf(`"%08x"`, i+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "2026-01-02T03-04-05-000Z_"+id+".jsonl"), b, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// adopt mirrors the folder into a home.
func (p pi) adopt(home string) {
	p.t.Helper()
	p.mirror(home)
}

func (p pi) mirror(home string) (*adopt.Mirror, adopt.Result) {
	p.t.Helper()
	tool, ok := dialects.Find(string(dialect.Pi))
	if !ok {
		p.t.Fatal("there is no such tool")
	}
	m := &adopt.Mirror{Tool: tool, Home: p.home, Dir: filepath.Join(home, SourcesDir, adopt.DirName(tool.Name(), p.home)), FS: vfs.OS{}, Now: time.Now}
	done, err := m.Run(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return m, done
}

func listed(t *testing.T, c *client.Client) (ids []string) {
	t.Helper()
	page, err := c.SessionsPage(t.Context(), client.Query{Limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range page.Items {
		ids = append(ids, string(s.ID))
	}
	slices.Sort(ids)
	return ids
}

const first, second = "aaaa1111-0000-4000-8000-000000000001", "bbbb2222-0000-4000-8000-000000000002"

// TestNewMirrorsAreNoticed checks that a running gateway notices new and updated mirrors.
func TestNewMirrorsAreNoticed(t *testing.T) {
	h, c := openInstance(t, Options{})
	ours, err := c.NewSession(t.Context(), wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Append(t.Context(), ours.ID, store.Any, wire.NewEntries{User: "hello"}); err != nil {
		t.Fatal(err)
	}
	want := []string{string(ours.ID)}
	if got := listed(t, c); !slices.Equal(got, want) {
		t.Fatalf("listed: %v", got)
	}
	tool := pi{t, t.TempDir()}
	for _, id := range []string{first, second} {
		tool.writeSession(id, 3)
		tool.adopt(h.home())
		want = append([]string{id}, want...)
		slices.Sort(want)
		if got := listed(t, c); !slices.Equal(got, want) {
			t.Errorf("listed: %v", got)
		}
		if s, err := c.Session(t.Context(), id[:8]); err != nil || string(s.ID) != id {
			t.Errorf("by the beginning of its id %s is %s, %v", id, s.ID, err)
		}
	}
}

// TestPurgedSessionDoesNotReturn checks that a purged session does not return with the next run.
func TestPurgedSessionDoesNotReturn(t *testing.T) {
	h, c := openInstance(t, Options{})
	tool := pi{t, t.TempDir()}
	tool.writeSession(first, 3)
	tool.writeSession(second, 3)
	tool.adopt(h.home())
	receipt, err := c.Purge(t.Context(), first, wire.Erase{Sure: first})
	if err != nil {
		t.Fatal(err)
	}
	if len(receipt.Files) != 1 || !strings.HasPrefix(receipt.Files[0], SourcesDir+"/") {
		t.Errorf("the receipt names %v", receipt.Files)
	}
	tool.writeSession(first, 5)
	tool.adopt(h.home())
	if got := listed(t, c); !slices.Equal(got, []string{second}) {
		t.Errorf("listed: %v", got)
	}
	left, err := filepath.Glob(filepath.Join(h.home(), SourcesDir, "*", "sessions", "*", "*"+first+"*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the mirror has %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(tool.home, "sessions", "--x--", "2026-01-02T03-04-05-000Z_"+first+".jsonl")); err != nil {
		t.Errorf("the tool's own file: %v", err)
	}
}

// TestFollowDuringTakeover checks that a client following a mirrored session when it is taken
// over receives a gap and then the complete session.
func TestFollowDuringTakeover(t *testing.T) {
	h, c := openInstance(t, Options{})
	tool := pi{t, t.TempDir()}
	tool.writeSession(first, 3)
	tool.adopt(h.home())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	received, anew := 0, false
	for e, err := range c.Events(ctx, first, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Name {
		case wire.EntryAppended:
			received++
		case wire.Gap:
			anew, received = true, 0
		}
		if received == 4 && !anew {
			if _, err := c.Append(ctx, first, client.Any, wire.NewEntries{User: "and I?"}); err != nil {
				t.Fatal(err)
			}
		}
		if anew && received == 5 {
			return
		}
	}
	t.Fatal("it ended")
}

// dying is a context that ends after a number of checks.
type dying struct {
	context.Context
	left *atomic.Int64
}

func (d dying) Err() error {
	if d.left.Add(-1) < 0 {
		return context.Canceled
	}
	return d.Context.Err()
}

// TestInterruptedTakeover interrupts a takeover at every point. The session stays readable,
// and the next attempt completes it.
func TestInterruptedTakeover(t *testing.T) {
	h, _ := openInstance(t, Options{})
	tool := pi{t, t.TempDir()}
	tool.writeSession(first, 1200)
	tool.adopt(h.home())
	interrupted := 0
	for n := int64(0); ; n += 97 {
		var left atomic.Int64
		left.Store(n)
		_, err := h.store.Append(dying{t.Context(), &left}, first, store.Any, firn.UserText("mine"))
		if got := messages(t, h); got != 1200 && (err != nil || got != 1201) {
			t.Fatalf("interrupted at %d it has %d messages: %v", n, got, err)
		}
		if err == nil {
			break
		}
		if parts, err := filepath.Glob(filepath.Join(h.home(), "agents", "*", "sessions", first+".jsonl")); err == nil && len(parts) > 0 {
			interrupted++
		}
	}
	if got := messages(t, h); got != 1201 || interrupted == 0 {
		t.Errorf("it has %d messages, and was partly taken over %d times", got, interrupted)
	}
}

// TestTakeoverOfHeaderOnly checks that a takeover that copied only the header is completed too.
func TestTakeoverOfHeaderOnly(t *testing.T) {
	h, _ := openInstance(t, Options{})
	tool := pi{t, t.TempDir()}
	tool.writeSession(first, 3)
	tool.adopt(h.home())
	own, err := filestore.Open(h.home(), filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := own.Append(t.Context(), first, store.Start, firn.NewEntry(&firn.Header{})); err != nil {
		t.Fatal(err)
	}
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	taking := filepath.Join(h.home(), SourcesDir, takeoverDir)
	if err := os.MkdirAll(taking, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(taking, first), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Append(t.Context(), first, store.Any, firn.UserText("mine")); err != nil {
		t.Fatal(err)
	}
	if got := messages(t, h); got != 4 {
		t.Errorf("it has %d messages", got)
	}
}

// messages counts the messages of the first session.
func messages(t *testing.T, h *Instance) (n int) {
	t.Helper()
	for record, err := range h.store.Read(t.Context(), first, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if record.Glance.Kind == firn.KindMessage {
			n++
		}
	}
	return n
}

// TestContinuedByBoth checks that adopt reports sessions continued by both firn and the tool,
// and not those continued by the tool only.
func TestContinuedByBoth(t *testing.T) {
	h, _ := openInstance(t, Options{})
	tool := pi{t, t.TempDir()}
	tool.writeSession(first, 3)
	tool.writeSession(second, 3)
	tool.adopt(h.home())
	if _, err := h.store.Append(t.Context(), first, store.Any, firn.UserText("mine")); err != nil {
		t.Fatal(err)
	}
	tool.writeSession(first, 4)
	tool.writeSession(second, 4)
	m, done := tool.mirror(h.home())
	if len(done.Longer) != 2 {
		t.Errorf("longer: %v", done.Longer)
	}
	if ahead := m.Diverged(func(id firn.ID) (bool, error) { return id == first, nil }, done.Longer); len(ahead) != 1 || ahead[0].ID != first {
		t.Errorf("ahead: %v", ahead)
	} else if err := m.Done(t.Context(), done.Longer, ahead[0].Parts); err != nil {
		t.Error(err)
	} else if _, again := tool.mirror(h.home()); !slices.Equal(again.Longer, ahead[0].Parts) {
		t.Errorf("the next run has %v, want the failed one", again.Longer)
	} else if err := m.Done(t.Context(), again.Longer, nil); err != nil {
		t.Error(err)
	}
	if _, last := tool.mirror(h.home()); len(last.Longer) > 0 {
		t.Errorf("the last run has %v", last.Longer)
	}
}
