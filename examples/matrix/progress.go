package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"firn.dev/examples/bridge"
)

// progress keeps on disk up to which sync everything was handled. A sync is handled when all
// its messages were answered, and so were those of all syncs before.
type progress struct {
	file string
	user string
	mu   sync.Mutex
	open []*batch // oldest first
}

// batch is a sync that was not handled yet.
type batch struct {
	next string
	left int
}

// saved is the content of the file.
type saved struct {
	User  string `json:"user"`
	Since string `json:"since"`
}

// openProgress returns the progress of a user and the token to continue with, or "".
func openProgress(dir, user string) (*progress, string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, "", err
	}
	p := &progress{file: filepath.Join(dir, "since.json"), user: user}
	data, err := os.ReadFile(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, "", nil
	}
	var s saved
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err == nil && s.User != user {
		err = fmt.Errorf("it belongs to %s, not to %s; set MATRIX_STATE to another directory", s.User, user)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", p.file, err)
	}
	return p, s.Since, nil
}

// begin adds a sync with the token that follows it. It stays open until done was called once
// for it, besides the calls for add.
func (p *progress) begin(next string) *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &batch{next, 1}
	p.open = append(p.open, b)
	return b
}

// add adds a message to a sync.
func (p *progress) add(b *batch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.left++
}

// done removes a message from a sync, and saves the token of the last sync that is handled.
func (p *progress) done(b *batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.left--
	n := slices.IndexFunc(p.open, func(b *batch) bool { return b.left > 0 })
	if n < 0 {
		n = len(p.open)
	}
	if n == 0 {
		return nil
	}
	data, err := json.Marshal(saved{p.user, p.open[n-1].next})
	if err == nil {
		err = bridge.WriteFile(p.file, data)
	}
	if err == nil {
		p.open = slices.Delete(p.open, 0, n)
	}
	return err
}
