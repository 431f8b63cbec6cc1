package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// linkedHome returns a home with two sessions of five messages, and the paths of their files.
func linkedHome(t *testing.T, partSize int64) (home, first, second string) {
	t.Helper()
	home = t.TempDir()
	st, err := filestore.Open(home, filestore.Options{PartSize: partSize})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []firn.ID{"s1", "s2"} {
		for _, text := range []string{"one", "it costs 100", "three", "four", strings.Repeat("five ", 1000)} {
			if _, err := st.Append(t.Context(), id, store.Any, firn.UserText(text)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "agents", "main", "sessions")
	return home, filepath.Join(dir, "s1.jsonl"), filepath.Join(dir, "s2.jsonl")
}

// faultsOf returns the faults of a home.
func faultsOf(t *testing.T, home string) []Finding {
	t.Helper()
	target, err := OpenHome(nil, home)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Verify(context.Background(), target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(report.Findings, func(f Finding) bool { return f.Severity != Fault })
}

func TestChain(t *testing.T) {
	for _, test := range []struct {
		name string
		// change changes the lines of the first session, given those of the second.
		change func(lines, other [][]byte) [][]byte
		kind   Kind
		line   int
	}{
		{"nothing", func(l, _ [][]byte) [][]byte { return l }, "", 0},
		{"changed", func(l, _ [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte("100"), []byte("900"), 1)
			return l
		}, ChainChanged, 3},
		{"the last one changed", func(l, _ [][]byte) [][]byte {
			l[4] = bytes.Replace(l[4], []byte("four"), []byte("for "), 1)
			return l
		}, ChainChanged, 5},
		{"removed", func(l, _ [][]byte) [][]byte { return slices.Delete(l, 2, 3) }, ChainRemoved, 3},
		{"inserted", func(l, _ [][]byte) [][]byte {
			return slices.Insert(l, 2, []byte(`{"type":"custom","customType":"x","data":{},"id":"f1","parentId":null,"timestamp":"2026-11-15T02:40:15.045Z"}`))
		}, ChainInserted, 3},
		{"reordered", func(l, _ [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, ChainReordered, 3},
		{"swapped", func(_, o [][]byte) [][]byte { return o }, ChainSwapped, 1},
		{"appended by another program", func(l, _ [][]byte) [][]byte {
			return append(l, []byte(`{"type":"custom","customType":"x","data":{},"id":"f1","parentId":null,"timestamp":"2026-11-15T02:40:15.045Z"}`))
		}, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			home, first, second := linkedHome(t, 0)
			lines, other := linesOf(t, first), linesOf(t, second)
			changed := test.change(lines, other)
			if err := os.WriteFile(first, append(bytes.Join(changed, []byte{'\n'}), '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
			faults := faultsOf(t, home)
			at := slices.IndexFunc(faults, func(f Finding) bool { return strings.HasPrefix(string(f.Kind), "chain-") })
			if test.kind == "" {
				if len(faults) > 0 {
					t.Errorf("faults: %+v", faults)
				}
				return
			}
			if at < 0 || faults[at].Kind != test.kind || faults[at].At.Line != test.line || faults[at].Session != "s1" {
				t.Errorf("faults: %+v", faults)
			}
		})
	}
}

func linesOf(t *testing.T, path string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSuffix(data, []byte{'\n'}), []byte{'\n'})
}

// TestChainSurvivesPurge purges entries, appends, lets another program append, and appends
// again: no change is a fault.
func TestChainSurvivesPurge(t *testing.T) {
	home, first, _ := linkedHome(t, 3000)
	var ids []firn.EntryID
	st, err := filestore.Open(home, filestore.Options{PartSize: 3000})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range st.Read(t.Context(), "s1", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Glance.ID != "" {
			ids = append(ids, r.Glance.ID)
		}
	}
	if _, err := st.Purge(t.Context(), "s1", "test", ids[1], ids[4]); err != nil {
		t.Fatal(err)
	}
	add := func(text string) {
		t.Helper()
		if _, err := st.Append(t.Context(), "s1", store.Any, firn.UserText(text)); err != nil {
			t.Fatal(err)
		}
	}
	add("after the purge")
	parts, err := journal.Parts(vfs.OS{}, first)
	if err != nil || len(parts) < 2 {
		t.Fatal(parts, err)
	}
	f, err := os.OpenFile(parts[len(parts)-1].Path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"type":"custom","customType":"x","data":{},"id":"f1","parentId":null,"timestamp":"2026-11-15T02:40:15.045Z"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	add("after another program")
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if faults := faultsOf(t, home); len(faults) > 0 {
		t.Errorf("faults: %+v", faults)
	}
	lines := linesOf(t, first)
	at := bytes.Index(lines[2], []byte(`"hash":"`)) + len(`"hash":"`)
	if lines[2][at] == 'A' {
		lines[2][at] = 'B'
	} else {
		lines[2][at] = 'A'
	}
	if err := os.WriteFile(first, append(bytes.Join(lines, []byte{'\n'}), '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if faults := faultsOf(t, home); len(faults) == 0 {
		t.Error("a changed hash of an erased entry is not a fault")
	}
}

// TestRepairedRemoval checks that a placeholder for a removed entry does not hide that it was
// removed.
func TestRepairedRemoval(t *testing.T) {
	home, first, _ := linkedHome(t, 0)
	lines := linesOf(t, first)
	gone, err := native.New().Decode(lines[2])
	if err != nil {
		t.Fatal(err)
	}
	lines = slices.Delete(lines, 2, 3)
	placeholder := fmt.Sprintf(`{"type":"custom","customType":"firn.repair","data":{},"id":"%s","parentId":"%s","timestamp":"2026-11-15T02:40:15.045Z"}`, gone.ID, gone.Parent)
	write(t, first, join(append(lines, []byte(placeholder))))
	target, err := OpenHome(nil, home)
	if err != nil {
		t.Fatal(err)
	}
	report, err := Verify(t.Context(), target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Kind == ChainRemoved && f.Severity == Warn && f.Repaired }) {
		t.Errorf("findings: %+v", report.Findings)
	}
}

// TestPurgedUnlinked checks that a purge of a line without a salt leaves no hash of its text,
// and that this is a warning.
func TestPurgedUnlinked(t *testing.T) {
	home, first, _ := linkedHome(t, 0)
	lines := linesOf(t, first)
	entry, err := native.New().Decode(lines[2])
	if err != nil {
		t.Fatal(err)
	}
	for i := range lines {
		lines[i] = hashchain.Without(lines[i])
	}
	write(t, first, join(lines))
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(t.Context(), "s1", store.Any, firn.UserText("linked")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Purge(t.Context(), "s1", "test", entry.ID); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if erased := linesOf(t, first)[2]; !hashchain.IsErased(erased) || bytes.Contains(erased, []byte("hash")) {
		t.Errorf("%s", erased)
	}
	if faults := faultsOf(t, home); len(faults) > 0 {
		t.Errorf("faults: %+v", faults)
	}
}

// TestAnchoredFile compares a file outside a home, and one that the anchor did not record.
func TestAnchoredFile(t *testing.T) {
	home, first, _ := linkedHome(t, 0)
	target, err := OpenHome(nil, home)
	if err != nil {
		t.Fatal(err)
	}
	heads, _, err := Heads(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.jsonl")
	for n, ok := range map[int]bool{6: true, 3: false} {
		write(t, copied, join(linesOf(t, first)[:n]))
		if target, err = Find(nil, home, copied); err != nil {
			t.Fatal(err)
		}
		report, err := Verify(t.Context(), target, Options{Anchored: heads})
		if err != nil || report.Anchored != 1 || report.OK() != ok {
			t.Errorf("%d lines: %+v, %v", n, report, err)
		}
	}
	report, err := Verify(t.Context(), target, Options{Anchored: heads[1:]})
	if err != nil || report.Anchored != 0 || !slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Kind == NotAnchored }) {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestAnchored compares sessions with what an anchor recorded.
func TestAnchored(t *testing.T) {
	append1 := func(t *testing.T, home string, id firn.ID, text string) {
		t.Helper()
		st, err := filestore.Open(home, filestore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Append(t.Context(), id, store.Any, firn.UserText(text)); err != nil {
			t.Fatal(err)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name   string
		change func(t *testing.T, home, first string)
		kind   Kind
		proven int
	}{
		{"nothing", func(*testing.T, string, string) {}, "", 2},
		{"longer", func(t *testing.T, home, _ string) { append1(t, home, "s1", "more") }, "", 2},
		{"rolled back", func(t *testing.T, _, first string) { write(t, first, join(linesOf(t, first)[:3])) }, RolledBack, 1},
		{"rolled back and continued", func(t *testing.T, home, first string) {
			write(t, first, join(linesOf(t, first)[:3]))
			append1(t, home, "s1", "more")
		}, RolledBack, 1},
		{"recreated", func(t *testing.T, home, first string) {
			state := hashchain.Start("s1")
			var lines [][]byte
			for _, line := range linesOf(t, first) {
				line, state = state.Append(bytes.Replace(bytes.Clone(hashchain.Without(line)), []byte("100"), []byte("900"), 1), 0)
				lines = append(lines, line)
			}
			write(t, first, join(lines))
		}, Replaced, 1},
		{"removed", func(t *testing.T, _, first string) {
			if err := os.Remove(first); err != nil {
				t.Fatal(err)
			}
		}, Missing, 1},
		{"links removed", func(t *testing.T, _, first string) {
			lines := linesOf(t, first)
			for i := range lines {
				lines[i] = hashchain.Without(lines[i])
			}
			write(t, first, join(lines))
		}, Replaced, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			home, first, _ := linkedHome(t, 0)
			target, err := OpenHome(nil, home)
			if err != nil {
				t.Fatal(err)
			}
			heads, without, err := Heads(t.Context(), target)
			if err != nil || len(heads) != 2 || len(without) > 0 {
				t.Fatal(heads, without, err)
			}
			test.change(t, home, first)
			if target, err = OpenHome(nil, home); err != nil {
				t.Fatal(err)
			}
			report, err := Verify(t.Context(), target, Options{Anchored: heads})
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Kind == test.kind && f.Severity == Fault && f.Session == "s1" })
			if found != (test.kind != "") || report.Proven != test.proven || report.OK() != (test.kind == "") {
				t.Errorf("%d are proven, findings: %+v", report.Proven, report.Findings)
			}
		})
	}
}

func join(lines [][]byte) string { return string(bytes.Join(lines, []byte{'\n'})) + "\n" }

// TestAnchorSessionsOfOtherPrograms checks that sessions of other programs are anchored too.
func TestAnchorSessionsOfOtherPrograms(t *testing.T) {
	home, first, _ := linkedHome(t, 0)
	lines := linesOf(t, first)
	for i := range lines {
		lines[i] = hashchain.Without(lines[i])
	}
	write(t, first, join(lines))
	target, err := OpenHome(nil, home)
	if err != nil {
		t.Fatal(err)
	}
	heads, _, err := Heads(t.Context(), target)
	if err != nil || len(heads) != 2 {
		t.Fatal(heads, err)
	}
	report, err := Verify(t.Context(), target, Options{Anchored: heads})
	if err != nil || report.Proven != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	write(t, first, strings.Replace(join(lines), "100", "900", 1))
	if report, err = Verify(t.Context(), target, Options{Anchored: heads}); err != nil || report.Proven != 1 || report.OK() {
		t.Errorf("after a change: %+v, %v", report, err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
