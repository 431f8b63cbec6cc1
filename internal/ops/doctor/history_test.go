package doctor_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
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
	if err := chain.Extend(journal.Source{FS: fs, Path: sessionPath}, "s1", ^firn.Pos(0)); err != nil {
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
