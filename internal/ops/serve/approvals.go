package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"firn.dev"
	"firn.dev/internal/base/approve"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/gateway"
)

const (
	// ApprovalsName is the file in the home with the rules that users added.
	ApprovalsName = "approvals.json"
	// maxApprovals limits the size of the file, maxApprovedRules the rules of one session or
	// project.
	maxApprovals     = 4 << 20
	maxApprovedRules = 1000
)

// approvedRules keeps the rules that users added with their answers, in the home. It reads
// the file for each question, so that changes by other processes count.
type approvedRules struct {
	fs   vfs.FS
	home string
	mu   sync.Mutex
}

var _ gateway.RuleStore = (*approvedRules)(nil)

// approvedTable is the content of the file. Other members are carried.
type approvedTable struct {
	sessions, projects map[string][]string
	rest               map[string]json.RawMessage
}

// Rules implements [gateway.RuleStore].
func (a *approvedRules) Rules(session firn.ID, dir string) ([]approve.Rule, error) {
	t, err := a.read()
	if err != nil {
		return nil, err
	}
	texts := slices.Concat(t.sessions[string(session)], t.projects[dir])
	rules := make([]approve.Rule, 0, len(texts))
	for _, text := range texts {
		if r, err := approve.ParseRule(text); err == nil { // an unreadable rule allows nothing
			rules = append(rules, r)
		}
	}
	return rules, nil
}

// AddForSession implements [gateway.RuleStore].
func (a *approvedRules) AddForSession(session firn.ID, r approve.Rule) error {
	return a.change(func(t *approvedTable) error { return addRule(t.sessions, string(session), r) })
}

// AddForProject implements [gateway.RuleStore].
func (a *approvedRules) AddForProject(dir string, r approve.Rule) error {
	return a.change(func(t *approvedTable) error { return addRule(t.projects, dir, r) })
}

// Forget implements [gateway.RuleStore].
func (a *approvedRules) Forget(session firn.ID) error {
	t, err := a.read()
	if err != nil || len(t.sessions[string(session)]) == 0 {
		return err
	}
	return a.change(func(t *approvedTable) error {
		delete(t.sessions, string(session))
		return nil
	})
}

// addRule adds a rule unless it is there.
func addRule(rows map[string][]string, name string, r approve.Rule) error {
	if slices.Contains(rows[name], r.String()) {
		return nil
	}
	if len(rows[name]) >= maxApprovedRules {
		return fmt.Errorf("add rule %s: there are already %d rules: %w", r, maxApprovedRules, firn.ErrTooLarge)
	}
	rows[name] = append(rows[name], r.String())
	return nil
}

// path returns the path of the file.
func (a *approvedRules) path() string { return filepath.Join(a.home, ApprovalsName) }

// read reads the file. A missing one has no rules.
func (a *approvedRules) read() (*approvedTable, error) {
	f, err := a.fs.Open(a.path(), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return parseApproved(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("read approval rules: %w", err)
	}
	defer f.Close() // read-only
	data, err := io.ReadAll(io.LimitReader(f, maxApprovals+1))
	if err == nil && len(data) > maxApprovals {
		err = firn.ErrTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("read approval rules in %s: %w", a.path(), err)
	}
	t, err := parseApproved(data)
	if err != nil {
		return nil, fmt.Errorf("read approval rules in %s: %w", a.path(), err)
	}
	return t, nil
}

// parseApproved parses the file.
func parseApproved(data []byte) (*approvedTable, error) {
	t := &approvedTable{sessions: map[string][]string{}, projects: map[string][]string{}, rest: map[string]json.RawMessage{}}
	if len(data) == 0 {
		return t, nil
	}
	if err := json.Unmarshal(data, &t.rest); err != nil {
		return nil, err
	}
	for name, to := range map[string]*map[string][]string{"sessions": &t.sessions, "projects": &t.projects} {
		raw, ok := t.rest[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return nil, err
		}
		if *to == nil { // null
			*to = map[string][]string{}
		}
	}
	if t.rest == nil {
		t.rest = map[string]json.RawMessage{}
	}
	return t, nil
}

// encode returns the content of the file.
func (t *approvedTable) encode() ([]byte, error) {
	for name, rows := range map[string]map[string][]string{"sessions": t.sessions, "projects": t.projects} {
		raw, err := json.Marshal(rows)
		if err != nil {
			return nil, err
		}
		t.rest[name] = raw
	}
	return json.MarshalIndent(t.rest, "", "  ")
}

// change changes the file atomically, one process at a time.
func (a *approvedRules) change(do func(*approvedTable) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.fs.MkdirAll(filepath.Join(a.home, "index")); err != nil {
		return fmt.Errorf("add approval rule: %w", err)
	}
	lock, err := a.fs.Open(filepath.Join(a.home, "index", "approvals.lock"), vfs.Update)
	if err != nil {
		return fmt.Errorf("add approval rule: %w", err)
	}
	defer lock.Close() // it was only locked
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("add approval rule: %w", err)
	}
	t, err := a.read()
	if err != nil {
		return err
	}
	if err := do(t); err != nil {
		return err
	}
	data, err := t.encode()
	if err != nil {
		return err
	}
	return vfs.WriteFile(a.fs, a.path(), append(data, '\n'))
}

// approved returns the store of approved rules; nil if this instance may not write to the
// home.
func (h *Instance) approved() gateway.RuleStore {
	if h.o.ReadOnly || h.o.Ephemeral || h.o.Foreign != nil {
		return nil
	}
	return &approvedRules{fs: h.fs, home: h.home()}
}
