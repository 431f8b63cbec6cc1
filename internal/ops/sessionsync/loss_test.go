package sessionsync

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// TestHugeNumbers puts files with the names of manifests with very large numbers on the target.
// They are named, and nothing else depends on their numbers.
func TestHugeNumbers(t *testing.T) {
	d := newDuo(t)
	d.session(d.a, "one")
	d.sync(d.a, d.b)
	for _, machine := range []string{d.a.config.Machine, d.b.config.Machine, "strangerstranger"} {
		name := filepath.Join(d.target.Dir, manifestDir, machine, "9999999999-"+strings.Repeat("0", 64))
		check(t, os.MkdirAll(filepath.Dir(name), 0o700))
		check(t, os.WriteFile(name, []byte("x"), 0o600))
	}
	id := d.session(d.a, "two")
	r := d.sync(d.b, d.a, d.b)
	if len(r.Problems) != 3 || !hasProblem(r, "9999999999-") {
		t.Errorf("the problems are %q", r.Problems)
	}
	if d.b.view()["session "+string(id)] == "" {
		t.Error("the second session was not imported")
	}
	st, err := readState(vfs.OS{}, filepath.Join(Dir(d.b.home), "share", "state.json"))
	check(t, err)
	seen := st.Machines[d.a.config.Machine]
	if seen.Highest != 2 || len(seen.Open) > 0 || st.Machines["strangerstranger"] != nil {
		t.Errorf("the state is %+v with %d machines", seen, len(st.Machines))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	run := &run{Options: d.b.options(d.target, "share"), st: newState()}
	if _, err := run.unread(ctx, d.a.config.Machine); err == nil {
		t.Error("a canceled sync reads manifests")
	}
	if len(run.st.Machines) > 0 {
		t.Errorf("a canceled sync recorded %v", run.st.Machines)
	}
}

// TestFilesGone deletes files of a machine on the target. The machine notices it, and other
// machines notice it if all of its manifests or the latest one are gone. Everything is published
// again.
func TestFilesGone(t *testing.T) {
	cases := map[string]struct {
		delete func(d *duo) []string
		a, b   string
	}{
		"all manifests": {func(d *duo) []string { return []string{filepath.Join(d.target.Dir, manifestDir, d.a.config.Machine)} },
			"all manifests of machine desktop are gone", "all manifests of machine desktop are gone"},
		"a manifest": {func(d *duo) []string { return d.onTarget(filepath.Join(manifestDir, d.a.config.Machine))[1:2] },
			"1 of 3 manifests of this machine are gone", ""},
		"all pieces": {func(d *duo) []string { return []string{filepath.Join(d.target.Dir, pieceDir)} },
			"3 of 3 pieces of this machine are gone", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDuo(t)
			var ids []firn.ID
			for n := range 3 {
				ids = append(ids, d.session(d.a, fmt.Sprint("session ", n)))
				d.sync(d.a)
			}
			d.sync(d.b)
			for _, path := range c.delete(d) {
				check(t, os.RemoveAll(path))
			}
			if r := d.sync(d.b); c.b != "" && !hasProblem(r, c.b) || c.b == "" && len(r.Problems) > 0 {
				t.Errorf("the problems of b are %q", r.Problems)
			}
			if r := d.sync(d.a); !hasProblem(r, c.a) || r.Published < 3 {
				t.Errorf("the report of a is %+v", r)
			}
			other := newMachine(t, "new", d.a.identity, d.a.rng)
			if r := d.sync(other); len(r.Problems) > 0 {
				t.Errorf("the problems of a new machine are %q", r.Problems)
			}
			view := other.view()
			if slices.ContainsFunc(ids, func(id firn.ID) bool { return view["session "+string(id)] == "" }) {
				t.Error("not all sessions are on the target again")
			}
			if r := d.sync(d.a, d.b, d.a); len(r.Problems) > 0 || r.Bytes > 0 {
				t.Errorf("after that, the report is %+v", r)
			}
		})
	}
}
