package memory

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"firn.dev"
)

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

var someDay = time.Date(2026, 8, 5, 10, 0, 0, 0, time.UTC) // a Wednesday

// folderOf makes a folder of files.
func folderOf(t testing.TB, files map[string]string) (*Dir, *clock) {
	t.Helper()
	c := &clock{at: someDay}
	root := t.TempDir()
	for name, text := range files {
		writeFile(t, root, name, text)
	}
	return Open(root, Options{Clock: c.now}), c
}

func writeFile(t testing.TB, root, name, text string) {
	t.Helper()
	full := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func fileText(t testing.TB, d *Dir, name string) string {
	t.Helper()
	f, err := os.Open(filepath.Join(d.root, name))
	if os.IsNotExist(err) {
		return "(none)"
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// talk returns the entries of a conversation between user and agent.
func talk(at time.Time, texts ...string) []firn.Entry {
	var entries []firn.Entry
	for i, text := range texts {
		role := firn.RoleUser
		if i%2 == 1 {
			role = firn.RoleAssistant
		}
		e := firn.NewEntry(&firn.Message{Role: role, Time: at, Parts: []firn.Part{firn.Text{Text: text}}})
		e.ID, e.Time = firn.EntryID(fmt.Sprintf("e%02d", i+1)), at
		entries = append(entries, e)
	}
	return entries
}

// sessionsOf are conversations as a dreamer gets them.
func sessionsOf(talks map[firn.ID][]firn.Entry) func(context.Context, ChangeFilter) ([]Session, error) {
	return func(context.Context, ChangeFilter) ([]Session, error) {
		var all []Session
		for i := range len(talks) {
			id := firn.ID(fmt.Sprintf("s%d", i+1))
			entries, ok := talks[id]
			if !ok {
				return nil, fmt.Errorf("test: no session %s", id)
			}
			all = append(all, Session{ID: id, Path: func(context.Context) ([]firn.Entry, bool, error) { return entries, false, nil }})
		}
		return all, nil
	}
}

func factTexts(facts []Fact) []string {
	var texts []string
	for _, f := range facts {
		texts = append(texts, f.Text)
	}
	return texts
}
