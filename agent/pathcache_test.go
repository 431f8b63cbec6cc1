package agent_test

import (
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/window"
)

// resident keeps everything.
type resident struct {
	mu    sync.Mutex
	paths map[firn.ID]window.Path
}

func (r *resident) Load(id firn.ID) (window.Path, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.paths[id]
	return p, ok
}

func (r *resident) Keep(id firn.ID, p window.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paths == nil {
		r.paths = make(map[firn.ID]window.Path)
	}
	r.paths[id] = p
}

// TestCachedPath runs turns on cached paths while others write, hide and move the head in
// between: the requests equal those of turns that read the session.
func TestCachedPath(t *testing.T) {
	b := play(t, scripted.Forever(scripted.Reply("Fine.")))
	kept := &resident{}
	b.Resident = kept
	meddle := []func() firn.Entry{
		func() firn.Entry { return firn.NewEntry(&firn.Title{Name: "x"}) },
		func() firn.Entry { return firn.AssistantText("another writer") },
		func() firn.Entry { return firn.Hide(b.entries()[1].ID) },
		func() firn.Entry {
			e := firn.NewEntry(&firn.Head{})
			e.Parent = b.entries()[1].ID
			return e
		},
		func() firn.Entry { return firn.NewEntry(&firn.Compaction{Summary: "all of it"}) },
		func() firn.Entry { return firn.NewEntry(&firn.ModelChange{Provider: "p", Model: "m"}) },
	}
	for i, entry := range meddle {
		b.runText("before")
		if _, err := b.Store.Append(t.Context(), b.id, store.Any, entry()); err != nil {
			t.Fatal(err)
		}
		b.runText("after")
		requests := b.model.Requests()
		path, err := window.Collect(b.Store.ReadBack(t.Context(), b.id, store.End))
		if err != nil {
			t.Fatal(err)
		}
		info := b.model.Info()
		whole := window.Build(path, window.Options{Profile: info.Profile, Ask: info.Ask()})
		sent, now := windowText(requests[len(requests)-1].Window), windowText(whole)
		if !strings.HasPrefix(now, sent) || len(sent) < 5 {
			t.Errorf("after meddling %d it sent\n%s\nof\n%s", i, sent, now)
		}
	}
	// Files that are not those that were kept.
	other := firn.NewID()
	kept.Keep(other, kept.paths[b.id])
	b.id = other
	b.runText("hello")
	b.accepted()
}

func windowText(w window.Window) string {
	var lines []string
	for _, it := range w.Items {
		if !it.Synthetic {
			lines = append(lines, brief(&it.Message))
		}
	}
	return strings.Join(lines, "\n")
}
