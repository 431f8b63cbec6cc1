package chain

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
)

const session firn.ID = "s1"

// transcript is a journal in a directory of its own.
type transcript struct {
	t      *testing.T
	source journal.Source
}

func newTranscript(t *testing.T) transcript {
	return transcript{t, journal.Source{FS: vfs.OS{}, Path: filepath.Join(t.TempDir(), "s1.jsonl"), MaxLine: 1 << 20}}
}

func (tr transcript) write(lines []string) {
	tr.t.Helper()
	if err := os.WriteFile(tr.source.Path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr transcript) extend() {
	tr.t.Helper()
	info, err := os.Stat(tr.source.Path)
	if err == nil {
		err = Extend(tr.source, session, 0, firn.Pos(info.Size()))
	}
	if err != nil {
		tr.t.Fatal(err)
	}
}

// check returns the differences as words, each with the number of its line from 0.
func (tr transcript) check() []string {
	tr.t.Helper()
	data, err := os.ReadFile(tr.source.Path)
	if err != nil {
		tr.t.Fatal(err)
	}
	var found []string
	c, err := NewCheck(tr.source, session, func(d Difference) {
		at := bytes.Count(data[:min(int(d.At), len(data))], []byte("\n"))
		found = append(found, fmt.Sprintf("%s %d+%d", d.Kind, at, d.Lines))
	})
	if err != nil {
		tr.t.Fatal(err)
	}
	if c == nil {
		return []string{"no chain"}
	}
	for line, err := range tr.source.Lines(0) {
		if err != nil {
			tr.t.Fatal(err)
		}
		c.Line(line)
	}
	if err := c.Close(); err != nil {
		tr.t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

func numbered(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"e%d","text":"%s"}`, i, strings.Repeat("x", i%7))
	}
	return lines
}

// TestCheck changes a transcript of 100 lines in every way that is named, and checks that
// it is named.
func TestCheck(t *testing.T) {
	t.Parallel()
	erased := func(line string) string {
		return `{"type":"erased","id":"e"}` + strings.Repeat(" ", max(0, len(line)-26))
	}
	cases := []struct {
		name   string
		change func([]string) []string
		want   string
	}{
		{"nothing", func(l []string) []string { return l }, ""},
		{"appended since", func(l []string) []string { return append(l, "new", "newer") }, ""},
		{"many appended since", func(l []string) []string { return append(l, numbered(90)...) }, ""},
		{"changed", func(l []string) []string { l[50] = strings.ToUpper(l[50]); return l }, "changed 50+1"},
		{"first changed", func(l []string) []string { l[0] = "?"; return l }, "changed 0+1"},
		{"last changed", func(l []string) []string { l[99] = "?"; return l }, "changed 99+1"},
		{"last changed, then appended", func(l []string) []string { l[99] = "?"; return append(l, numbered(40)...) }, "changed 99+1"},
		{"two changed", func(l []string) []string { l[9], l[10] = "?", "!"; return l }, "changed 10+1, changed 9+1"},
		{"removed", func(l []string) []string { return slices.Delete(l, 20, 23) }, "removed 20+3"},
		{"first removed", func(l []string) []string { return l[1:] }, "removed 0+1"},
		{"inserted", func(l []string) []string { return slices.Insert(l, 30, "a", "b", "c") }, "inserted 30+1, inserted 31+1, inserted 32+1"},
		{"inserted at the start", func(l []string) []string { return slices.Insert(l, 0, "a") }, "inserted 0+1"},
		{"swapped", func(l []string) []string { l[40], l[41] = l[41], l[40]; return l }, "moved 41+1"},
		{"moved down", func(l []string) []string { x := l[40]; return slices.Insert(slices.Delete(l, 40, 41), 60, x) }, "moved 60+1"},
		{"cut", func(l []string) []string { return l[:70] }, "cut 70+30"},
		{"cut, then appended", func(l []string) []string { return append(l[:98], "new") }, "changed 98+1, cut 99+1"},
		{"erased", func(l []string) []string { l[13] = erased(l[13]); return l }, "erased 13+1"},
		{"of another session", func([]string) []string { return strings.Split(strings.Repeat("other\n", 99)+"other", "\n") }, "replaced 0+100"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTranscript(t)
			lines := numbered(100)
			for i := range lines {
				lines[i] += strings.Repeat(" ", 20) // room for the line of an erased entry
			}
			tr.write(lines)
			tr.extend()
			tr.write(c.change(slices.Clone(lines)))
			if got := strings.Join(tr.check(), ", "); got != c.want {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}

// TestCheckRandom makes one random change to random transcripts: something is reported, and
// nothing if the bytes are the same.
func TestCheckRandom(t *testing.T) {
	t.Parallel()
	r := basetest.Random(t)
	tr := newTranscript(t)
	for range 300 {
		lines := numbered(1 + r.IntN(90))
		tr.write(lines)
		os.Remove(Path(tr.source.Path)) // there may be none
		tr.extend()
		changed := slices.Clone(lines)
		i := r.IntN(len(changed))
		switch r.IntN(4) {
		case 0:
			b := []byte(changed[i])
			b[r.IntN(len(b))] ^= 1
			changed[i] = string(b)
		case 1:
			changed = slices.Delete(changed, i, i+1+r.IntN(len(changed)-i))
		case 2:
			changed = slices.Insert(changed, i, "x")
		case 3:
			r.Shuffle(len(changed), func(a, b int) { changed[a], changed[b] = changed[b], changed[a] })
		}
		tr.write(changed)
		found := tr.check()
		if same := slices.Equal(lines, changed); same != (len(found) == 0) {
			t.Fatalf("%d lines, same %v: it says %v", len(lines), same, found)
		}
	}
}

// TestExtendInSteps extends a chain line by line, in random steps, after cut and unfinished
// writes and by two writers: the file is always the same.
func TestExtendInSteps(t *testing.T) {
	t.Parallel()
	r := basetest.Random(t)
	lines := numbered(200)
	whole := newTranscript(t)
	whole.write(lines)
	whole.extend()
	want, err := os.ReadFile(Path(whole.source.Path))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		tr := newTranscript(t)
		for n := 0; n < len(lines); {
			n = min(len(lines), n+1+r.IntN(40))
			tr.write(lines[:n])
			tr.extend()
			damage(t, r, Path(tr.source.Path))
		}
		tr.extend()
		if got, err := os.ReadFile(Path(tr.source.Path)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes of a chain made in steps are not the %d of one made at once: %v", len(got), len(want), err)
		}
		if found := tr.check(); len(found) > 0 {
			t.Fatalf("it says %v", found)
		}
	}
}

// damage does to a chain what a power cut may do: its end is missing or zero.
func damage(t *testing.T, r *rand.Rand, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keep := r.IntN(len(data) + 1)
	switch r.IntN(3) {
	case 0:
		data = data[:keep]
	case 1:
		clear(data[max(keep, len(magic)+len(session)+1):])
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOtherSession checks the chain of another session.
func TestOtherSession(t *testing.T) {
	t.Parallel()
	tr := newTranscript(t)
	tr.write(numbered(3))
	if err := Extend(tr.source, "other", 0, firn.Pos(1000)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(tr.check(), ", "); got != "other session 0+0" {
		t.Errorf("it says %q", got)
	}
}

// TestLongLines extends a chain over lines beyond the limit, which are not held in memory.
func TestLongLines(t *testing.T) {
	t.Parallel()
	tr := newTranscript(t)
	tr.source.MaxLine = 1000
	lines := []string{"first", strings.Repeat("x", 5000), strings.Repeat("\x00", 5000), "last"}
	tr.write(lines)
	tr.extend()
	if found := tr.check(); len(found) > 0 {
		t.Errorf("it says %v", found)
	}
	lines[1] = strings.Repeat("x", 4000) + "y" + strings.Repeat("x", 999)
	tr.write(lines)
	if got := strings.Join(tr.check(), ", "); got != "changed 1+1" {
		t.Errorf("it says %q", got)
	}
}

// FuzzChain checks a transcript with any bytes as its chain.
func FuzzChain(f *testing.F) {
	f.Add([]byte("firn chain 1 s1\n"), "a\nb\n")
	f.Add([]byte("firn chain 1 s1\n"+strings.Repeat("\x01", 96)), "a\nb\n")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tr := newTranscript(t)
		if os.WriteFile(Path(tr.source.Path), data, 0o600) != nil || os.WriteFile(tr.source.Path, []byte(text), 0o600) != nil {
			t.Skip()
		}
		c, err := NewCheck(tr.source, session, func(Difference) {})
		if err == nil && c != nil {
			for line := range tr.source.Lines(0) {
				c.Line(line)
			}
			_ = c.Close() // any error is right
		}
		_ = Extend(tr.source, session, 0, firn.Pos(len(text))) // any error is right
	})
}
