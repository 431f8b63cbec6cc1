package sessionsync

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// fileOf returns the file of a session.
func (m *machine) fileOf(id firn.ID) (found string) {
	m.t.Helper()
	check(m.t, filepath.WalkDir(m.home, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == string(id)+".jsonl" {
			found = path
		}
		return err
	}))
	return found
}

// restoreFile replaces the file of a session while the store is closed.
func (m *machine) restoreFile(path string, data []byte) {
	m.t.Helper()
	check(m.t, m.Close())
	check(m.t, os.WriteFile(path, data, 0o600))
	st, err := filestore.Open(m.home, filestore.Options{Now: m.now, Report: func(string) {}})
	check(m.t, err)
	m.t.Cleanup(func() { st.Close() })
	m.files = files{st}
}

// TestRestoredFromBackup replaces a session by an older copy that then grows to the size it had:
// new entries are published, and those that the copy lacks are imported again.
func TestRestoredFromBackup(t *testing.T) {
	d := newDuo(t)
	id := d.session(d.a, "one")
	d.sync(d.a)
	path := d.a.fileOf(id)
	backup, err := os.ReadFile(path)
	check(t, err)
	lost := d.a.addMessage(id, "two")
	d.sync(d.a)
	d.a.restoreFile(path, backup)
	again := d.a.addMessage(id, "three")
	r := d.sync(d.a)
	if !hasProblem(r, "was replaced by another copy") || r.Imported != 1 || r.Published != 1 {
		t.Errorf("the report is %+v", r)
	}
	d.sync(d.b)
	d.same()
	for _, m := range []*machine{d.a, d.b} {
		for _, e := range []firn.EntryID{lost, again} {
			if m.view()["session "+string(id)+" entry "+string(e)] == "" {
				t.Errorf("%s lacks entry %s", m.name, e)
			}
		}
	}
	if r := d.sync(d.a, d.b, d.a); len(r.Problems) > 0 || r.Published > 0 {
		t.Errorf("after that, the report is %+v", r)
	}
}

// TestExcludedLater excludes projects after their sessions were published: that they are
// archived or purged stays on the machine. What was published stays there for other machines,
// also after everything was published again.
func TestExcludedLater(t *testing.T) {
	d := newDuo(t)
	ctx := context.Background()
	var ids []firn.ID
	for range 2 {
		id := firn.NewID()
		_, err := d.a.Append(ctx, id, store.Start, firn.Entry{Body: &firn.Header{Session: id, CWD: "/home/ann/private/taxes"}})
		check(t, err)
		d.a.addMessage(id, "about taxes")
		ids = append(ids, id)
	}
	unread := firn.NewID() // a session that is in the trash bin before it is read
	_, err := d.a.Append(ctx, unread, store.Start, firn.Entry{Body: &firn.Header{Session: unread, CWD: "/home/ann/private"}})
	check(t, err)
	d.a.addMessage(unread, "in the trash bin")
	check(t, d.a.Remove(ctx, unread, "no longer needed"))
	d.a.config.Exclude = Exclude{Keys: []string{"agent:main:other"}}
	d.sync(d.a)
	d.a.config.Exclude = Exclude{Projects: []string{"/home/ann/private"}}
	check(t, d.a.Archive(ctx, ids[0]))
	_, err = d.a.Purge(ctx, ids[1], "secret")
	check(t, err)
	o := d.a.options(d.target, "share")
	o.Republish = true
	r, err := Run(ctx, o)
	check(t, err)
	if r.Kept != 1 || r.Published != 0 {
		t.Errorf("the report is %+v", r)
	}
	if text := decryptAll(t, d); strings.Contains(text, `"archived":true`) || strings.Contains(text, `"purged":true`) || strings.Contains(text, string(unread)) {
		t.Errorf("on the target:\n%s", text)
	}
	if r := d.sync(d.b); r.Imported < 2 || len(r.Problems) > 0 {
		t.Errorf("the report of b is %+v", r)
	}
	for _, id := range ids {
		if got := d.b.view()["session "+string(id)]; got != "archived false, removed false" {
			t.Errorf("session %s on b is %q", id, got)
		}
	}
}

// TestInterruptedWithSessionInTrashBin interrupts a sync that skipped entries of a session in
// the trash bin. They are imported when the session is restored.
func TestInterruptedWithSessionInTrashBin(t *testing.T) {
	d := newDuo(t)
	id := d.session(d.a, "one")
	d.sync(d.a, d.b)
	check(t, d.b.Remove(context.Background(), id, "no longer needed"))
	entry := d.a.addMessage(id, "two")
	d.sync(d.a)
	o := d.b.options(d.target, "share")
	o.Local = &listedOnce{files: d.b.files}
	if _, err := Run(context.Background(), o); !errors.Is(err, errKilled) {
		t.Fatalf("the sync ended with %v", err)
	}
	check(t, d.b.Restore(context.Background(), id))
	if r := d.sync(d.b); r.Imported != 1 || d.b.view()["session "+string(id)+" entry "+string(entry)] == "" {
		t.Errorf("the report is %+v", r)
	}
}

// listedOnce is a home whose process is killed before the second list of sessions.
type listedOnce struct {
	files
	lists int
}

func (l *listedOnce) Holdings(ctx context.Context) ([]store.Holding, error) {
	if l.lists++; l.lists > 1 {
		return nil, errKilled
	}
	return l.files.Holdings(ctx)
}
