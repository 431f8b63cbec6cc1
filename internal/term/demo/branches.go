package demo

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// count returns the number of messages sent to the model of the session.
func (t *tour) count() (int, error) {
	w, err := t.client.Window(t.ctx, t.talk, "")
	return w.Count, err
}

// branch goes back some turns, sends a different message there, and returns.
func (t *tour) branch() (string, error) {
	before, err := t.count()
	if err != nil {
		return "", err
	}
	moved, err := t.client.Rewind(t.ctx, t.talk, wire.Move{Back: 10})
	if err != nil {
		return "", err
	}
	if _, err := t.ask(t.talk, "What is 5*5?", "25"); err != nil {
		return "", err
	}
	aside, err := t.count()
	if err != nil {
		return "", err
	}
	if _, err := t.client.Rewind(t.ctx, t.talk, wire.Move{To: moved.From}); err != nil {
		return "", err
	}
	after, err := t.count()
	if err != nil {
		return "", err
	}
	s, err := t.getSession(t.talk)
	if err != nil {
		return "", err
	}
	if after != before || aside >= before || s.State.Branches != 2 {
		return "", fmt.Errorf("the window had %d messages, %d on the other branch, and %d after returning; there are %d branches", before, aside, after, s.State.Branches)
	}
	return fmt.Sprintf("%d messages → %d on another branch → %d; ⎇ %d", before, aside, after, s.State.Branches), nil
}

// lastUserMessage returns the last message of the user on the branch.
func (t *tour) lastUserMessage() (firn.EntryID, error) {
	for e, err := range t.client.Entries(t.ctx, t.talk, client.EntryQuery{View: wire.ViewBranch, Back: true}) {
		if err != nil {
			return "", err
		}
		if l, ok := prose.ReadLine(e.Line); ok && l.Message != nil && l.Message.Role == string(firn.RoleUser) {
			return l.ID, nil
		}
	}
	return "", fmt.Errorf("no messages: %w", firn.ErrNotFound)
}

// hide hides a message from the model and shows it again.
func (t *tour) hide() (string, error) {
	if _, err := t.ask(t.talk, "My password is hunter2.", ""); err != nil {
		return "", err
	}
	before, err := t.count()
	if err != nil {
		return "", err
	}
	id, err := t.lastUserMessage()
	if err != nil {
		return "", err
	}
	if _, err := t.client.Hide(t.ctx, t.talk, wire.Hide{Entry: string(id), Reason: "demo"}); err != nil {
		return "", err
	}
	hidden, err := t.count()
	if err != nil {
		return "", err
	}
	if _, err := t.client.Show(t.ctx, t.talk, wire.Hide{Entry: string(id)}); err != nil {
		return "", err
	}
	after, err := t.count()
	if err != nil {
		return "", err
	}
	if hidden >= before || after != before {
		return "", fmt.Errorf("the window had %d messages, then %d, then %d", before, hidden, after)
	}
	return fmt.Sprintf("%d messages → %d → %d, by appending two entries", before, hidden, after), nil
}

// remove moves a session to the trash bin and restores it.
func (t *tour) remove() (string, error) {
	before, err := readFile(t.transcript(t.talk))
	if err != nil {
		return "", err
	}
	done, err := t.client.Remove(t.ctx, t.talk, wire.Remove{Bin: true, Reason: "demo"})
	if err != nil {
		return "", err
	}
	if _, err := t.client.EntriesPage(t.ctx, t.talk, client.EntryQuery{Limit: 1}); !errors.Is(err, firn.ErrNotFound) {
		return "", fmt.Errorf("reading the removed session returned %v", err)
	}
	if _, err := t.client.Restore(t.ctx, t.talk); err != nil {
		return "", err
	}
	after, err := readFile(t.transcript(t.talk))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(before)
	if !bytes.Equal(after, before) {
		return "", errors.New("the restored file has different bytes")
	}
	return fmt.Sprintf("%s, %d bytes removed, sha256 %x… before and after", prose.Size(done.Bytes), done.BytesRemoved, sum[:4]), nil
}

// purge erases one entry and searches every file for its text.
func (t *tour) purge() (string, error) {
	const word = "hunter2-and-nothing-else"
	s, err := t.client.NewSession(t.ctx, wire.NewSession{Title: "a secret"})
	if err != nil {
		return "", err
	}
	done, err := t.client.Append(t.ctx, s.ID, client.Any, wire.NewEntries{User: "forget this: " + word})
	if err != nil {
		return "", err
	}
	if _, files, err := grep(t.home, word); err != nil || files == 0 {
		return "", errors.Join(err, errors.New("the secret was not found before the purge"))
	}
	receipt, err := t.client.Purge(t.ctx, s.ID, wire.Erase{Entries: done.IDs, Reason: "demo", Sure: s.ID})
	if err != nil {
		return "", err
	}
	looked, files, err := grep(t.home, word)
	if err != nil {
		return "", err
	}
	if files > 0 {
		return "", fmt.Errorf("the secret is still in %d files", files)
	}
	return fmt.Sprintf("%d bytes overwritten; the secret is in none of %d files", receipt.Bytes, looked), nil
}

// grep searches all files below a directory for a word.
func grep(dir, word string) (looked, found int, err error) {
	entries, err := vfs.OS{}.ReadDir(dir)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			l, f, err := grep(path, word)
			if err != nil {
				return 0, 0, err
			}
			looked, found = looked+l, found+f
			continue
		}
		if !e.Type().IsRegular() { // a socket or a lock
			continue
		}
		data, err := readFile(path)
		if err != nil {
			return 0, 0, err
		}
		looked++
		if bytes.Contains(data, []byte(word)) {
			found++
		}
	}
	return looked, found, nil
}

// verify reads every byte of the home while it is not in use.
func (t *tour) verify() (string, error) {
	page, err := t.client.SessionsPage(t.ctx, client.Query{})
	if err != nil {
		return "", err
	}
	if err := t.closeGateway(); err != nil {
		return "", err
	}
	home, err := doctor.OpenHome(nil, t.home)
	if err != nil {
		return "", err
	}
	report, err := doctor.Examine(t.ctx, home, doctor.Options{})
	if err != nil {
		return "", err
	}
	if !report.OK() {
		return "", fmt.Errorf("the session is damaged:\n%s", report.Text())
	}
	for _, f := range report.Findings {
		if f.Severity == doctor.Warn && f.Kind != doctor.DiskSpace {
			return "", fmt.Errorf("check failed: %s: %s", f.File, f.Message)
		}
	}
	if len(page.Items) != report.Sessions {
		return "", fmt.Errorf("%d sessions verified, but %d listed", report.Sessions, len(page.Items))
	}
	return fmt.Sprintf("%d sessions, %s entries, %s: no faults", report.Sessions, prose.Grouped(int64(report.Entries)), prose.Size(report.Bytes)), nil
}
