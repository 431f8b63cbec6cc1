package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
)

// naive is a reference implementation that returns the lines of parts, starting with part
// first and an offset in it. Each line starts where the previous one ended, also across
// parts.
func naive(parts []string, first int, offset int) []Line {
	var lines []Line
	pos := Place(first, int64(offset))
	for n := first; n < len(parts); n++ {
		for at := offset; at < len(parts[n]); {
			data, _, closed := strings.Cut(parts[n][at:], "\n")
			line := Line{At: pos, Start: Place(n, int64(at)), Data: []byte(data), Unfinished: !closed}
			at += len(data)
			if closed {
				at++
			}
			pos = Place(n, int64(at))
			line.Next = pos
			lines = append(lines, line)
		}
		offset = 0
	}
	return lines
}

// gather collects lines, copying their bytes, which are valid only during the iteration.
func gather(seq iter.Seq2[Line, error]) ([]Line, error) {
	var lines []Line
	for line, err := range seq {
		if err != nil {
			return lines, err
		}
		line.Data = bytes.Clone(line.Data)
		lines = append(lines, line)
	}
	return lines, nil
}

// differ describes how two lists of lines differ; it returns "" if they are equal.
func differ(got, want []Line) string {
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if g.At != w.At || g.Start != w.Start || g.Next != w.Next || g.Unfinished != w.Unfinished || !bytes.Equal(g.Data, w.Data) {
			return fmt.Sprintf("line %d is %d,%d-%d open %v %.40q (%d bytes), want %d,%d-%d open %v %.40q (%d bytes)",
				i, g.At, g.Start, g.Next, g.Unfinished, g.Data, len(g.Data), w.At, w.Start, w.Next, w.Unfinished, w.Data, len(w.Data))
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d lines, want %d", len(got), len(want))
	}
	return ""
}

// drawParts draws part files with lines of lengths around the sizes of the read buffers.
func drawParts(t *rapid.T) []string {
	length := rapid.OneOf(
		rapid.IntRange(0, 3),
		rapid.IntRange(0, 300),
		rapid.Custom(func(t *rapid.T) int {
			size := rapid.SampledFrom([]int{backSizeMin, 2 * backSizeMin, readSize, backSizeMax}).Draw(t, "size")
			return size + rapid.IntRange(-3, 3).Draw(t, "more")
		}),
	)
	var parts []string
	for range rapid.IntRange(1, 4).Draw(t, "parts") {
		var b strings.Builder
		for i, n := range rapid.SliceOfN(length, 0, 8).Draw(t, "lengths") {
			b.WriteString(strings.Repeat(string(rune('a'+i)), n) + "\n")
		}
		if rapid.Bool().Draw(t, "open") {
			b.WriteString(strings.Repeat("o", length.Draw(t, "open length")))
		}
		parts = append(parts, b.String())
	}
	return parts
}

func putParts(t testing.TB, parts []string) Source {
	fsys := faultfs.New()
	for n, part := range parts {
		must(t, fsys.Put(PartPath(base, n), []byte(part)))
	}
	return Source{FS: fsys, Path: base}
}

func TestReadFromAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parts := drawParts(rt)
		s := putParts(t, parts)
		part := rapid.IntRange(0, len(parts)-1).Draw(rt, "part")
		offset := rapid.IntRange(0, len(parts[part])).Draw(rt, "offset")
		pos := Place(part, int64(offset))

		forth, err := gather(s.Lines(pos))
		if d := differ(forth, naive(parts, part, offset)); d != "" || err != nil {
			rt.Fatalf("forwards from %d:%d: %s, %v", part, offset, d, err)
		}
		before := slices.Clone(parts[:part+1])
		before[part] = before[part][:offset]
		want := naive(before, 0, 0)
		slices.Reverse(want)
		back, err := gather(s.Back(pos))
		if d := differ(back, want); d != "" || err != nil {
			rt.Fatalf("backwards from %d:%d: %s, %v", part, offset, d, err)
		}
	})
}

// TestReadResumes reads some lines, stops, and continues from the position of the last one.
func TestReadResumes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		parts := drawParts(rt)
		s := putParts(t, parts)
		want := naive(parts, 0, 0)
		steps := rapid.SliceOfN(rapid.IntRange(1, 4), len(want), len(want)).Draw(rt, "steps")
		var forth, back []Line
		pos := firn.Pos(0)
		for _, n := range steps {
			lines := take(t, s.Lines(pos), n)
			forth = append(forth, lines...)
			if len(lines) > 0 {
				pos = lines[len(lines)-1].Next
			}
		}
		pos = ^firn.Pos(0)
		for _, n := range steps {
			lines := take(t, s.Back(pos), n)
			back = append(back, lines...)
			if len(lines) > 0 {
				pos = lines[len(lines)-1].At
			}
		}
		if d := differ(forth, want); d != "" {
			rt.Fatalf("forwards in steps: %s", d)
		}
		slices.Reverse(want)
		if d := differ(back, want); d != "" {
			rt.Fatalf("backwards in steps: %s", d)
		}
	})
}

func take(t testing.TB, seq iter.Seq2[Line, error], n int) []Line {
	var lines []Line
	for line, err := range seq {
		must(t, err)
		line.Data = bytes.Clone(line.Data)
		if lines = append(lines, line); len(lines) == n {
			break
		}
	}
	return lines
}

// countFS counts the bytes that are read.
type countFS struct {
	vfs.FS
	bytes *atomic.Int64
}

func (c countFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := c.FS.Open(path, mode)
	return countFile{f, c.bytes}, err
}

type countFile struct {
	vfs.File
	bytes *atomic.Int64
}

func (f countFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.bytes.Add(int64(n))
	return n, err
}

func TestReadingFewLinesReadsFewBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	line := strings.Repeat("x", 999) + "\n"
	large, small := filepath.Join(dir, "large.jsonl"), filepath.Join(dir, "small.jsonl")
	must(t, os.WriteFile(large, bytes.Repeat([]byte(line), 50_000), 0o600))
	must(t, os.WriteFile(small, bytes.Repeat([]byte(line), 3_000), 0o600))
	var count atomic.Int64
	fsys := countFS{vfs.OS{}, &count}

	if lines := take(t, Source{FS: fsys, Path: large}.Back(^firn.Pos(0)), 10); len(lines) != 10 || lines[9].At != 49_990_000 {
		t.Errorf("the last ten lines are %d, the tenth at %d", len(lines), lines[9].At)
	}
	if n := count.Swap(0); n > 64<<10 {
		t.Errorf("reading ten lines at the end of 50 MB read %d bytes", n)
	}
	if _, err := (Source{FS: fsys, Path: large}).End(); err != nil || count.Swap(0) > 0 {
		t.Errorf("finding the end read the file (%v)", err)
	}
	for name, seq := range map[string]iter.Seq2[Line, error]{
		"forwards":  Source{FS: fsys, Path: small}.Lines(0),
		"backwards": Source{FS: fsys, Path: small}.Back(^firn.Pos(0)),
	} {
		if lines, err := gather(seq); err != nil || len(lines) != 3_000 {
			t.Errorf("%s: %d lines, %v", name, len(lines), err)
		}
		if n := count.Swap(0); n != 3_000_000 {
			t.Errorf("%s: reading 3 MB read %d bytes from disk", name, n)
		}
	}
}

func TestVeryLongLine(t *testing.T) {
	t.Parallel()
	size := 64 << 20
	if testing.Short() {
		size = 8 << 20
	}
	long := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	must(t, os.WriteFile(path, slices.Concat([]byte("first\n"), long, []byte("\nlast\n")), 0o600))
	s := Source{FS: vfs.OS{}, Path: path, MaxLine: -1}
	for name, seq := range map[string]iter.Seq2[Line, error]{"forwards": s.Lines(0), "backwards": s.Back(^firn.Pos(0))} {
		n := 0
		for line, err := range seq {
			must(t, err)
			if n++; n == 2 && !bytes.Equal(line.Data, long) {
				t.Errorf("%s: the long line has %d bytes, want %d, or other ones", name, len(line.Data), size)
			}
		}
		if n != 3 {
			t.Errorf("%s: %d lines, want 3", name, n)
		}
	}
}

func TestMissingJournal(t *testing.T) {
	t.Parallel()
	s := Source{FS: faultfs.New(), Path: base}
	if _, err := s.End(); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("End: %v", err)
	}
	if lines, err := gather(s.Lines(0)); !errors.Is(err, firn.ErrNotFound) || len(lines) > 0 {
		t.Errorf("Lines: %v", err)
	}
	if lines, err := gather(s.Back(^firn.Pos(0))); !errors.Is(err, firn.ErrNotFound) || len(lines) > 0 {
		t.Errorf("Back: %v", err)
	}
	if parts, err := Parts(s.FS, base); err != nil || len(parts) > 0 {
		t.Errorf("Parts: %v, %v", parts, err)
	}
}

// TestReadersFail makes every operation of a reader fail once: the error is returned after
// correct lines, and no file stays open.
func TestReadersFail(t *testing.T) {
	t.Parallel()
	parts := []string{"a\nbb\n" + strings.Repeat("c", 2*backSizeMin) + "\n", "d\n", "e\nf"}
	for name, lines := range map[string]func(Source) iter.Seq2[Line, error]{
		"forwards":  func(s Source) iter.Seq2[Line, error] { return s.Lines(0) },
		"backwards": func(s Source) iter.Seq2[Line, error] { return s.Back(^firn.Pos(0)) },
	} {
		want := naive(parts, 0, 0)
		if name == "backwards" {
			slices.Reverse(want)
		}
		for nth, met := 1, true; met; nth++ {
			s := putParts(t, parts)
			fsys := s.FS.(*faultfs.FS)
			fsys.FailNth(nth, faultfs.Fault{Of: faultfs.Any &^ faultfs.Close, Err: io.ErrNoProgress})
			got, err := gather(lines(s))
			met = fsys.Waiting() == 0
			if met != errors.Is(err, io.ErrNoProgress) || !met && len(got) != len(want) {
				t.Fatalf("%s, operation %d: %d lines, %v", name, nth, len(got), err)
			}
			if d := differ(got, want[:len(got)]); d != "" {
				t.Fatalf("%s, operation %d: %s", name, nth, d)
			}
			if opened, closed := fsys.Count(faultfs.Open), fsys.Count(faultfs.Close); opened-closed > 1 || !met && opened != closed {
				t.Fatalf("%s, operation %d: opened %d files, closed %d", name, nth, opened, closed)
			}
		}
	}
}

// TestCutWhileReading truncates the file after its size was read.
func TestCutWhileReading(t *testing.T) {
	t.Parallel()
	s := putParts(t, []string{"a\nb\nc\n"})
	fsys := s.FS.(*faultfs.FS)
	fsys.Hook(func(kind faultfs.Kind, _ string) {
		if kind == faultfs.Open {
			must(t, fsys.Put(base, []byte("a\n")))
		}
	})
	if _, err := gather(s.Back(^firn.Pos(0))); !errors.Is(err, firn.ErrReplaced) {
		t.Errorf("backwards: %v", err)
	}
}

func FuzzSource(f *testing.F) {
	f.Add([]byte("{}\n"), []byte(nil), []byte(nil), byte(1))
	f.Add([]byte("a\n\n\nb"), []byte("\n"), []byte("c\r\n"), byte(2))
	f.Add([]byte("\x00\x00{}\n\xff"), []byte("\ufeff{}"), []byte("{}{}\n"), byte(3))
	f.Fuzz(func(t *testing.T, a, b, c []byte, n byte) {
		parts := []string{string(a), string(b), string(c)}[:1+n%3]
		s := putParts(t, parts)
		forth, err := gather(s.Lines(0))
		must(t, err)
		back, err := gather(s.Back(^firn.Pos(0)))
		must(t, err)
		slices.Reverse(back)
		if d := differ(back, forth); d != "" {
			t.Fatalf("backwards is not forwards: %s", d)
		}
		got := make([]string, len(parts))
		for _, line := range forth {
			part, _ := Split(line.Start)
			got[part] += string(line.Data)
			if !line.Unfinished {
				got[part] += "\n"
			}
		}
		if !slices.Equal(got, parts) {
			t.Fatalf("the lines make %q, the files are %q", got, parts)
		}
		fsys := s.FS.(*faultfs.FS)
		if log := fsys.Log(faultfs.Changing); len(log) > 0 {
			t.Fatalf("reading did %q", log)
		}
		for n, part := range parts {
			if content(t, fsys, PartPath(base, n)) != part {
				t.Fatalf("reading changed part %d", n)
			}
		}
	})
}
