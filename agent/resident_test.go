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

// TestResident runs turns on what was kept in memory, while others write, hide
// and move the head between them: what the model is sent is what a turn sends
// that reads the session anew.
func TestResident(t *testing.T) {
	b := play(t, scripted.Forever(scripted.Say("Fine.")))
	kept := &resident{}
	b.Resident = kept
	meddle := []func() firn.Entry{
		func() firn.Entry { return firn.NewEntry(&firn.Title{Name: "x"}) },
		func() firn.Entry { return firn.AssistantText("somebody else") },
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
		b.say("before")
		if _, err := b.Store.Append(t.Context(), b.id, store.Any, entry()); err != nil {
			t.Fatal(err)
		}
		b.say("after")
		requests := b.model.Requests()
		path, err := window.Collect(b.Store.ReadBack(t.Context(), b.id, store.End))
		if err != nil {
			t.Fatal(err)
		}
		info := b.model.Info()
		whole := window.Build(path, window.Options{Profile: info.Profile, Ask: info.Ask()})
		sent, now := said(requests[len(requests)-1].Window), said(whole)
		if !strings.HasPrefix(now, sent) || len(sent) < 5 {
			t.Errorf("after meddling %d it sent\n%s\nof\n%s", i, sent, now)
		}
	}
	// Files that are not those that were kept.
	other := firn.NewID()
	kept.Keep(other, kept.paths[b.id])
	b.id = other
	b.say("hello")
	b.accepted()
}

func said(w window.Window) string {
	var lines []string
	for _, it := range w.Items {
		if !it.Synthetic {
			lines = append(lines, brief(&it.Message))
		}
	}
	return strings.Join(lines, "\n")
}
