package sessionsync

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
)

// TestChangesAtOnce changes the configuration in several processes at once: none is lost.
func TestChangesAtOnce(t *testing.T) {
	dir := Dir(t.TempDir())
	done := make(chan error)
	const writers = 20
	for range writers {
		go func() {
			done <- Change(vfs.OS{}, dir, "desktop", func(c *Config) (bool, error) {
				c.Exclude.Sessions = append(c.Exclude.Sessions, firn.NewID())
				return true, nil
			})
		}()
	}
	for range writers {
		check(t, <-done)
	}
	c, err := ReadConfig(vfs.OS{}, dir, "")
	check(t, err)
	if len(c.Exclude.Sessions) != writers {
		t.Errorf("%d of %d changes are there", len(c.Exclude.Sessions), writers)
	}
	if err := Change(vfs.OS{}, dir, "", func(c *Config) (bool, error) { c.Name = "lost"; return false, nil }); err != nil {
		t.Error(err)
	}
	if again, err := ReadConfig(vfs.OS{}, dir, ""); err != nil || again.Name != "desktop" || again.Machine != c.Machine {
		t.Errorf("the configuration is %+v, %v", again, err)
	}
}

// TestRemoveWhileSyncing removes a target while a sync runs: it is refused, and nothing changes.
func TestRemoveWhileSyncing(t *testing.T) {
	d := newDuo(t)
	dir := Dir(d.a.home)
	check(t, Change(vfs.OS{}, dir, "", func(c *Config) (bool, error) { c.Targets["share"] = d.target.Dir; return true, nil }))
	d.sync(d.a)
	release, err := lockDir(vfs.OS{}, dir)
	check(t, err)
	if err := RemoveTarget(vfs.OS{}, dir, "share"); !errors.Is(err, firn.ErrLocked) {
		t.Errorf("the removal ended with %v", err)
	}
	if c, err := ReadConfig(vfs.OS{}, dir, ""); err != nil || c.Targets["share"] == "" {
		t.Errorf("the configuration is %+v, %v", c, err)
	}
	check(t, release())
	check(t, RemoveTarget(vfs.OS{}, dir, "share"))
	if _, err := (vfs.OS{}).Stat(filepath.Join(dir, "share", "state.json")); err == nil {
		t.Error("the record of the target is still there")
	}
}

// copying is a home in which a purge also erases copies of the entries, as in a gateway.
type copying struct {
	files
	copies []firn.EntryID
}

func (c copying) Mark(ctx context.Context, now store.Holding, want Marks, erase []firn.EntryID) (*store.Receipt, error) {
	if len(erase) > 0 {
		erase = slices.Concat(erase, c.copies)
	}
	return c.files.Mark(ctx, now, want, erase)
}

// TestOneReceipt repeats a purge that also erases copies of the entry on that machine: that is one
// receipt.
func TestOneReceipt(t *testing.T) {
	d := newDuo(t)
	id := d.session(d.a, "one")
	secret, again := d.a.addMessage(id, "a password"), d.a.addMessage(id, "a password again")
	d.sync(d.a, d.b)
	_, err := d.a.Purge(context.Background(), id, "leaked", secret)
	check(t, err)
	d.sync(d.a)
	o := d.b.options(d.target, "share")
	o.Local = copying{d.b.files, []firn.EntryID{again}}
	for range 2 {
		_, err = Run(context.Background(), o)
		check(t, err)
	}
	receipts, err := ReadReceipts(vfs.OS{}, Dir(d.b.home), d.b.config)
	check(t, err)
	if len(receipts) != 2 {
		t.Errorf("the receipts are %+v", receipts)
	}
	d.sync(d.a)
	d.same()
}
