package sessionsync

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// republish publishes everything of a machine again and reads everything on the target.
func (d *duo) republish(m *machine) *Report {
	d.t.Helper()
	o := m.options(d.target, "share")
	o.Republish = true
	r, err := Run(context.Background(), o)
	check(d.t, err)
	return r
}

// TestLinesCompletedByStore publishes lines that a store completes or repairs when it appends
// them: without times, with too precise ones, with text that is not Unicode. Published and read
// again, they are no conflicts.
func TestLinesCompletedByStore(t *testing.T) {
	d := newDuo(t)
	id := d.session(d.a, "one")
	d.a.restoreFile(d.a.fileOf(id), []byte(`{"type":"session","version":3,"id":"`+string(id)+`","timestamp":"2026-11-15T02:40:15.042Z","cwd":"/w","firn":1}
{"type":"message","id":"e1","parentId":null,"timestamp":"2026-11-15T02:40:16.042Z","message":{"role":"user","content":"no time in the message"}}
{"type":"message","id":"e2","parentId":"e1","message":{"role":"user","content":"no time at all"}}
{"type":"message","id":"e3","parentId":"e2","timestamp":"2026-11-15T02:40:17.042123Z","message":{"role":"user","content":"microseconds"}}
{"type":"message","id":"e4","parentId":"e3","timestamp":"2026-11-15T02:40:18.042Z","message":{"role":"user","content":"half a \ud800 pair"}}
{"type":"other_tool","id":"e5","parentId":"e4","timestamp":"2026-11-15T02:40:19.042Z","data":1}
`))
	if r := d.sync(d.a, d.b); r.Imported < 5 || len(r.Problems) > 0 {
		t.Fatalf("the report is %+v", r)
	}
	d.republish(d.a)
	for _, m := range []*machine{d.b, d.a} {
		if r := d.republish(m); len(r.Problems) > 0 {
			t.Errorf("published again by %s, the problems are %q", m.name, r.Problems)
		}
	}
	if r := d.sync(d.b, d.a); len(r.Problems) > 0 {
		t.Errorf("after that, the problems are %q", r.Problems)
	}
	d.same()
}

// errUnreadable is the error of a share that cannot be read for a while.
var errUnreadable = errors.New("input/output error")

// unreadable is a target on which files cannot be read whose names contain a text.
type unreadable struct {
	Folder
	part string
}

func (u unreadable) Get(ctx context.Context, name string) ([]byte, error) {
	if strings.Contains(name, u.part) {
		return nil, errUnreadable
	}
	return u.Folder.Get(ctx, name)
}

// TestUnreadableBeforeBase reads a target on which files before a base cannot be read for a
// while: they are named, and read when they can be. They have a session that stays on its
// machine since.
func TestUnreadableBeforeBase(t *testing.T) {
	for _, dir := range []string{manifestDir, pieceDir} {
		t.Run(dir, func(t *testing.T) {
			d := newDuo(t)
			id := d.session(d.a, "one")
			d.sync(d.a)
			old := filepath.Base(d.onTarget(dir)[0])
			d.a.config.Exclude.Sessions = []firn.ID{id}
			d.republish(d.a)
			if r := d.b.sync(unreadable{d.target, old}, "share"); !hasProblem(r, errUnreadable.Error()) {
				t.Errorf("the problems are %q", r.Problems)
			}
			if r := d.sync(d.b); r.Imported == 0 || len(r.Problems) > 0 {
				t.Errorf("after that, the report is %+v", r)
			}
			if err := d.a.identity.CheckAccess(t.Context(), unreadable{d.target, manifestDir}); !errors.Is(err, errUnreadable) {
				t.Errorf("the check of access returned %v", err)
			}
		})
	}
}

// lostConfig is a file system on which the configuration is gone when it is to be replaced.
type lostConfig struct{ vfs.OS }

func (lostConfig) Rename(string, string) error { return fs.ErrNotExist }

// TestRemoveFails removes a target while the configuration cannot be written: that is an error.
func TestRemoveFails(t *testing.T) {
	if err := RemoveTarget(lostConfig{}, t.TempDir(), "share"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the removal ended with %v", err)
	}
}
