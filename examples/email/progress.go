package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/emersion/go-imap/v2"

	"firn.dev/examples/bridge"
)

// progress keeps on disk up to which message a mailbox was handled.
type progress struct {
	file string
	mu   sync.Mutex
	saved
	// fetched is the last message that was fetched, open are those that are not handled yet.
	fetched imap.UID
	open    map[imap.UID]bool
}

// saved is the content of the file. UIDs are valid together with Validity only.
type saved struct {
	Account  string   `json:"account"`
	Mailbox  string   `json:"mailbox"`
	Validity uint32   `json:"uidValidity"`
	Last     imap.UID `json:"lastUid"`
	// Day is when the file was written, from which on to search if the UIDs become invalid.
	Day time.Time `json:"day"`
}

// openProgress returns the progress of a mailbox of an account.
func openProgress(dir, account, mailbox string) (*progress, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &progress{file: filepath.Join(dir, "mailbox.json"), open: make(map[imap.UID]bool)}
	data, err := os.ReadFile(p.file)
	if errors.Is(err, fs.ErrNotExist) {
		p.saved = saved{Account: account, Mailbox: mailbox}
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &p.saved)
	}
	if err == nil && (p.Account != account || p.Mailbox != mailbox) {
		err = fmt.Errorf("it belongs to the mailbox %s of %s; set EMAIL_STATE to another directory", p.Mailbox, p.Account)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.file, err)
	}
	p.fetched = p.Last
	return p, nil
}

// next returns the first message to fetch from a mailbox with a validity, whose next message
// will get a UID. At the first start it skips all messages. If the UIDs have become invalid,
// it returns the day from which on to search, and restart has to be called.
func (p *progress) next(validity uint32, uid imap.UID) (first imap.UID, search time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.Validity {
	case validity:
	case 0:
		p.Validity, p.fetched = validity, uid-1
		err = p.save()
	default:
		return 0, p.Day, nil
	}
	return p.fetched + 1, time.Time{}, err
}

// restart continues with messages that were found after the UIDs have become invalid.
func (p *progress) restart(validity uint32, uid imap.UID, found []imap.UID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Validity, p.fetched = validity, uid-1
	clear(p.open)
	for _, uid := range found {
		p.open[uid] = true
	}
	return p.save()
}

// begin adds a message.
func (p *progress) begin(uid imap.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[uid] = true
	p.fetched = max(p.fetched, uid)
}

// done removes a message that was handled.
func (p *progress) done(uid imap.UID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, uid)
	return p.save()
}

// save writes the last message before which all are handled.
func (p *progress) save() error {
	p.Last = p.fetched
	for uid := range p.open {
		p.Last = min(p.Last, uid-1)
	}
	p.Day = time.Now().UTC()
	data, err := json.Marshal(p.saved)
	if err != nil {
		return err
	}
	return bridge.WriteFile(p.file, data)
}

// fetchedUID returns the last message that was fetched.
func (p *progress) fetchedUID() imap.UID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetched
}
