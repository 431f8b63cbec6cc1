package filestore

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
)

// copies returns the names of the backups of a table.
func (b *bench) copies() (names []string) {
	b.t.Helper()
	entries, err := b.fs.ReadDir(b.dir)
	b.must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), backupMark) {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestTableRotation changes a table for a week. Beyond its size it is backed up once a day,
// three backups are kept, and each is the table as it was before a change.
func TestTableRotation(t *testing.T) {
	now := noon
	b := newBench(t, "", tableOptions{Rotate: 400, Now: func() time.Time { return now }})
	for n := range 3 {
		b.must(b.bind(fmt.Sprintf("agent:main:small%d", n), mainID))
	}
	if names := b.copies(); len(names) > 0 {
		t.Fatalf("a table of %d bytes has the backups %v", len(b.file()), names)
	}
	for n := range 3 {
		b.must(b.bind(fmt.Sprintf("agent:main:large%d", n), mainID))
	}
	for day := range 7 {
		before := b.file()
		for hour := range 8 {
			b.must(b.bind(fmt.Sprintf("agent:main:key%d-%d", day, hour), topicID))
			now = now.Add(3 * time.Hour)
		}
		if day == 0 {
			continue // backed up above
		}
		names := b.copies()
		if want := min(day+1, backupsKept); len(names) != want {
			t.Fatalf("on day %d the backups are %v, want %d", day, names, want)
		}
		if got := b.fileNamed(names[len(names)-1]); got != before {
			t.Errorf("on day %d the backup is\n%s\nwant\n%s", day, got, before)
		}
	}
	b.open(tableOptions{Rotate: 400, Now: at(now.Add(-time.Hour))}) // as another process
	names := b.copies()
	b.must(b.bind("agent:main:again", mainID))
	if again := b.copies(); strings.Join(again, " ") != strings.Join(names, " ") {
		t.Errorf("another process made %v of %v", again, names)
	}
	if all, err := b.keys(); err != nil || len(all) != 6+7*8+1 {
		t.Errorf("the table has %d keys, %v", len(all), err)
	}
	if len(b.reports) > 0 {
		t.Errorf("reported: %v", b.reports)
	}
}

// TestTableRotationFails checks that keys are bound though backups cannot be written.
func TestTableRotationFails(t *testing.T) {
	b := newBench(t, "", tableOptions{Rotate: 1})
	b.must(b.bind(mainKey, mainID))
	b.must(b.fs.MkdirAll(b.backupPath(noon) + "/in the way"))
	b.must(b.bind(topicKey, topicID))
	if id, ok, err := b.lookup(topicKey); id != topicID || !ok || err != nil {
		t.Errorf("the key points at %s, %v", id, err)
	}
	if len(b.reports) != 1 || !strings.Contains(b.reports[0], "backup failed") {
		t.Errorf("reported: %v", b.reports)
	}
}

// TestRotatedKeysAreRebuilt deletes a rotated table with all its backups: the transcripts
// still have all keys.
func TestRotatedKeysAreRebuilt(t *testing.T) {
	now := noon
	fsys := faultfs.New()
	st, err := Open("/home", Options{FS: fsys, RotateKeys: 300, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx := context.Background()
	want := make(map[string]firn.ID)
	for n := range 20 {
		key := fmt.Sprintf("agent:main:mail:direct:p%d", n)
		if want[key], err = store.LoadOrCreate(ctx, st, key); err != nil {
			t.Fatal(err)
		}
		now = now.Add(20 * time.Hour)
	}
	dir := st.sessionsDir("main")
	removed := 0
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tableName) {
			removed++
			if err := fsys.Remove(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if removed != 1+backupsKept {
		t.Errorf("there were %d tables", removed)
	}
	for key, id := range want {
		if got, err := st.Lookup(ctx, key); got != id || err != nil {
			t.Errorf("key %s points at %s, %v, want %s", key, got, err, id)
		}
	}
}

// TestPurgeErasesBackups checks that the keys of a purged session are in no backup and in
// no table that was set aside, and that those of other sessions are.
func TestPurgeErasesBackups(t *testing.T) {
	fsys := faultfs.New()
	now := noon
	st, err := Open("/home", Options{FS: fsys, RotateKeys: 1, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ctx := context.Background()
	var ids []firn.ID
	for _, key := range []string{"agent:main:sms:direct:+4915112345", "agent:main:sms:direct:ann", "agent:main:sms:direct:bob"} {
		id, err := store.LoadOrCreate(ctx, st, key)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		now = now.Add(25 * time.Hour)
	}
	dir := st.sessionsDir("main")
	corrupt := filepath.Join(dir, tableName+".corrupt-20260201T120000Z")
	if err := vfs.WriteFile(fsys, corrupt, []byte(`{"agent:main:sms:direct:+4915112345":{"sessionId":"`+string(ids[0])+`"`)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Purge(ctx, ids[0], ""); err != nil {
		t.Fatal(err)
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	ann := 0
	for _, e := range entries {
		b := &bench{t: t, fs: fsys, dir: dir}
		text := b.fileNamed(e.Name())
		if strings.Contains(text, "4915112345") {
			t.Errorf("%s has the number: %s", e.Name(), text)
		}
		if strings.HasPrefix(e.Name(), backupMark) && strings.Contains(text, "ann") {
			ann++
		}
	}
	if ann != 2 {
		t.Errorf("%d backups have the other key", ann)
	}
}
