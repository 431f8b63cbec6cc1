package demo

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"

	"firn"
	"firn/internal/doctor"
	"firn/internal/vfs"
	"firn/store"
)

// remove moves a session to the bin and takes it out again.
func (t *tour) remove() (string, error) {
	before, err := readFile(t.transcript(t.killed))
	if err != nil {
		return "", err
	}
	if err := t.st.Remove(t.ctx, t.killed, "demo"); err != nil {
		return "", err
	}
	if _, err := t.st.Inspect(t.ctx, t.killed); !errors.Is(err, firn.ErrNotFound) {
		return "", fmt.Errorf("it was removed and yet asking for it gave %v", err)
	}
	if err := t.st.Restore(t.ctx, t.killed); err != nil {
		return "", err
	}
	after, err := readFile(t.transcript(t.killed))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(before)
	if sha256.Sum256(after) != sum {
		return "", errors.New("the file came back with other bytes")
	}
	return fmt.Sprintf("%s, sha256 %x… before and after", size(int64(len(after))), sum[:4]), nil
}

// purge erases one entry, and looks for what it said in every file.
func (t *tour) purge() (string, error) {
	const word = "hunter2-and-nothing-else"
	secret := firn.UserText("forget this: " + word)
	if err := t.say(t.talk, secret, firn.AssistantText("I will.")); err != nil {
		return "", err
	}
	if _, files, err := search(t.home, word); err != nil || files == 0 {
		return "", fmt.Errorf("the word was not even there before: %w", err)
	}
	receipt, err := t.st.Purge(t.ctx, t.talk, "demo", secret.ID)
	if err != nil {
		return "", err
	}
	looked, files, err := search(t.home, word)
	if err != nil {
		return "", err
	}
	if files > 0 {
		return "", fmt.Errorf("its words are still in %d files", files)
	}
	return fmt.Sprintf("%d bytes overwritten; its words are in none of %d files", receipt.Bytes, looked), nil
}

// search looks for a word in all files below a directory.
func search(dir, word string) (looked, found int, err error) {
	entries, err := vfs.OS{}.ReadDir(dir)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.IsDir() {
			l, f, err := search(path, word)
			if err != nil {
				return 0, 0, err
			}
			looked, found = looked+l, found+f
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

// verify reads every byte of the home.
func (t *tour) verify() (string, error) {
	home, err := doctor.OpenHome(nil, t.home)
	if err != nil {
		return "", err
	}
	report, err := doctor.Examine(t.ctx, home, doctor.Options{})
	if err != nil {
		return "", err
	}
	if !report.OK() {
		return "", fmt.Errorf("it is damaged:\n%s", report.Text())
	}
	for _, f := range report.Findings {
		if f.Severity == doctor.Warn && f.Kind != doctor.DiskSpace {
			return "", fmt.Errorf("something is out of order: %s: %s", f.File, f.Message)
		}
	}
	infos := 0
	for _, err := range t.st.List(t.ctx, store.Query{}) {
		if err != nil {
			return "", err
		}
		infos++
	}
	if infos != report.Sessions {
		return "", fmt.Errorf("%d sessions were verified and %d are listed", report.Sessions, infos)
	}
	return fmt.Sprintf("%d sessions, %s entries, %s: no fault", report.Sessions, grouped(int64(report.Entries)), size(report.Bytes)), nil
}

func size(n int64) string { return doctor.Size(n) }

func grouped(n int64) string { return doctor.Grouped(n) }
