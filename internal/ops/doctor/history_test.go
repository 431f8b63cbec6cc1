package doctor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/anchor"
	"firn.dev/internal/disk/chain"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/ops/doctor"
)

const sessionPath = "/h/agents/main/sessions/s1.jsonl"

// chained returns a home with a session of n messages and its hash chain.
func chained(t *testing.T, n int) (*faultfs.FS, []string) {
	t.Helper()
	lines := talk(n)
	fs := home(t, join(lines...))
	if err := chain.Extend(journal.Source{FS: fs, Path: sessionPath}, "s1", 0, ^firn.Pos(0)); err != nil {
		t.Fatal(err)
	}
	return fs, lines
}

func put(t *testing.T, fs *faultfs.FS, path, text string) {
	t.Helper()
	if err := fs.Put(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// historyOf returns the findings about history, each as its place and message.
func historyOf(t *testing.T, fs *faultfs.FS) []string {
	t.Helper()
	found := []string{}
	for _, f := range verify(t, fs).Findings {
		if f.Kind == doctor.History {
			found = append(found, short([]doctor.Finding{f})[0]+" "+f.Message)
		}
	}
	return found
}

// TestHistory changes a transcript in each way that a hash chain shows.
func TestHistory(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func([]string) []string
		want   string
	}{
		{"nothing", func(l []string) []string { return l }, ""},
		{"changed", func(l []string) []string { l[3] = strings.Replace(l[3], "message 3", "message 9", 1); return l }, "fault history 4:481 this line was changed"},
		{"removed", func(l []string) []string { return slices.Delete(l, 2, 3) }, "fault history 3:298 a line before this one was removed"},
		{"two removed", func(l []string) []string { return slices.Delete(l, 2, 4) }, "fault history 3:298 2 lines before this one were removed"},
		{"inserted", func(l []string) []string { return slices.Insert(l, 2, messageLine("z", "a1", "never said")) }, "fault history 3:298 this line was inserted"},
		{"reordered", func(l []string) []string { l[4], l[5] = l[5], l[4]; return l }, "fault history 6:847 this line was moved"},
		{"cut", func(l []string) []string { return l[:5] }, "fault history 6 lines missing at the end"},
		{"another file", func(l []string) []string { return talk(60)[40:] }, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fs, lines := chained(t, 10)
			put(t, fs, sessionPath, join(c.change(lines)...))
			found := historyOf(t, fs)
			if c.name == "another file" {
				if len(found) == 0 {
					t.Error("it says nothing")
				}
				return
			}
			if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.HasPrefix(found[0], c.want)) {
				t.Errorf("it says %q, want %q", found, c.want)
			}
		})
	}
}

// TestHistoryOfOthers exchanges the chains of two sessions, and deletes a transcript.
func TestHistoryOfOthers(t *testing.T) {
	t.Parallel()
	fs, lines := chained(t, 3)
	other := "/h/agents/main/sessions/s2.jsonl"
	put(t, fs, other, strings.Replace(join(lines...), `"id":"s1"`, `"id":"s2"`, 1))
	if err := fs.Rename(chain.Path(sessionPath), chain.Path(other)); err != nil {
		t.Fatal(err)
	}
	if found := historyOf(t, fs); len(found) != 1 || !strings.Contains(found[0], "belongs to session s1") {
		t.Errorf("with the chain of another session it says %q", found)
	}
	if err := fs.Remove(other); err != nil {
		t.Fatal(err)
	}
	if found := historyOf(t, fs); len(found) != 1 || !strings.Contains(found[0], "the transcript of this hash chain is missing") {
		t.Errorf("without the transcript it says %q", found)
	}
}

// TestAcceptHistory accepts a change: the old chain is set aside, and a new one shows the
// next change.
func TestAcceptHistory(t *testing.T) {
	t.Parallel()
	fs, lines := chained(t, 5)
	accept := func(accept bool) *doctor.Report {
		t.Helper()
		target, err := doctor.OpenHome(fs, "/h")
		if err != nil {
			t.Fatal(err)
		}
		r, err := doctor.VerifyAccepted(func(limit int) (*doctor.Report, error) {
			return doctor.Verify(t.Context(), target, doctor.Options{Limit: limit})
		}, target, accept, "mine", time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	lines[2] = strings.Replace(lines[2], "message 2", "message 20", 1)
	put(t, fs, sessionPath, join(lines...))
	if r := accept(false); r.Faults == 0 {
		t.Fatal("the change is not found")
	}
	if r := accept(true); r.Faults != 0 || r.NewlyAccepted == 0 {
		t.Errorf("accepting leaves %d faults, and %d were accepted", r.Faults, r.NewlyAccepted)
	}
	if _, err := fs.Stat(chain.Path(sessionPath) + ".1"); err != nil {
		t.Errorf("the old chain is gone: %v", err)
	}
	if r := accept(false); r.Faults != 0 {
		t.Errorf("after accepting there are %d faults", r.Faults)
	}
	lines[4] = strings.Replace(lines[4], "message 4", "message 40", 1)
	put(t, fs, sessionPath, join(lines...))
	if r := accept(false); r.Faults != 1 {
		t.Errorf("after another change there are %d faults, want 1", r.Faults)
	}
}

// TestAnchor compares a home with an anchor after it has grown, and after a session was
// replaced with its chain, deleted or purged.
func TestAnchor(t *testing.T) {
	t.Parallel()
	fs, lines := chained(t, 4)
	target := func() doctor.Target {
		t.Helper()
		target, err := doctor.OpenHome(fs, "/h")
		if err != nil {
			t.Fatal(err)
		}
		return target
	}
	states, left, err := doctor.TakeAnchor(t.Context(), target(), nil)
	if err != nil || len(states) != 1 || len(left) > 0 {
		t.Fatalf("the anchor has %v, without %v: %v", states, left, err)
	}
	compare := func() string {
		t.Helper()
		r := verify(t, fs)
		doctor.CompareAnchor(target(), anchor.Anchor{Time: time.Unix(1794710747, 0), Sessions: states}, r)
		var found []string
		for _, f := range r.Findings {
			found = append(found, string(f.Severity)+" "+f.Message)
		}
		return strings.Join(found, "; ")
	}
	rechain := func(lines []string) {
		t.Helper()
		put(t, fs, sessionPath, join(lines...))
		if err := fs.Remove(chain.Path(sessionPath)); err != nil {
			t.Fatal(err)
		}
		if err := chain.Extend(journal.Source{FS: fs, Path: sessionPath}, "s1", 0, ^firn.Pos(0)); err != nil {
			t.Fatal(err)
		}
	}
	grown := append(slices.Clone(lines), messageLine("a5", "a4", "later"))
	rechain(grown)
	if found := compare(); found != "" {
		t.Errorf("after an append it says %q", found)
	}
	changed := slices.Clone(grown)
	changed[2] = strings.Replace(changed[2], "message 2", "message 9", 1)
	rechain(changed)
	if found := compare(); !strings.Contains(found, "were replaced") {
		t.Errorf("with a replaced chain it says %q", found)
	}
	rechain(lines[:3])
	if found := compare(); !strings.Contains(found, "does not reach") {
		t.Errorf("with an older copy it says %q", found)
	}
	for _, path := range []string{sessionPath, chain.Path(sessionPath)} {
		if err := fs.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if found := compare(); !strings.Contains(found, "fault session s1 existed") {
		t.Errorf("without the session it says %q", found)
	}
	put(t, fs, "/h/receipts/s1.json", "{}")
	if found := compare(); !strings.Contains(found, "info session s1 of the anchor was purged") {
		t.Errorf("with a purged session it says %q", found)
	}
}
