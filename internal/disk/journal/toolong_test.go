package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// expectLimited returns the expected lines of parts read with a limit: lines over the limit
// have no data, and leading zeros are separate.
func expectLimited(parts []string, limit int) []Line {
	var lines []Line
	at := firn.Pos(0)
	for number, part := range parts {
		for offset := 0; offset < len(part); {
			data, _, closed := strings.Cut(part[offset:], "\n")
			add := func(text string, newline int, open bool, gap firn.GapKind) {
				line := Line{At: at, Start: Place(number, int64(offset)), Unfinished: open, Gap: gap}
				offset += len(text) + newline
				at = Place(number, int64(offset))
				line.Next = at
				if gap == "" {
					line.Data = []byte(text)
				}
				lines = append(lines, line)
			}
			newline := 0
			if closed {
				newline = 1
			}
			if len(data) > limit {
				rest := strings.TrimLeft(data, "\x00")
				if zeros := data[:len(data)-len(rest)]; rest == "" {
					add(zeros, newline, !closed, firn.GapNUL)
					continue
				} else if zeros != "" {
					add(zeros, 0, false, firn.GapNUL)
				}
				data = rest
			}
			if len(data) > limit {
				add(data, newline, !closed, firn.GapTooLong)
			} else {
				add(data, newline, !closed, "")
			}
		}
	}
	return lines
}

// TestTooLongLines reads random files with small limits: reading forwards, backwards and
// from the position of each line yields the same lines as the model.
func TestTooLongLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]int{1, 10, 1000, 20_000, readSize, 300_000}).Draw(t, "limit")
		length := rapid.Custom(func(t *rapid.T) int {
			return max(0, rapid.SampledFrom([]int{0, 5, limit, 2 * limit, skipPiece}).Draw(t, "about")+rapid.IntRange(-2, 3).Draw(t, "more"))
		})
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			var b strings.Builder
			for i := range rapid.IntRange(0, 5).Draw(t, "lines") {
				b.WriteString(strings.Repeat("\x00", length.Draw(t, "zeros")*rapid.IntRange(0, 1).Draw(t, "some")))
				b.WriteString(strings.Repeat(string(rune('a'+i)), length.Draw(t, "length")))
				if i < 4 || rapid.Bool().Draw(t, "closed") {
					b.WriteByte('\n')
				}
			}
			parts = append(parts, b.String())
		}
		s := putParts(discard{}, parts)
		s.MaxLine = int64(limit)
		want := expectLimited(parts, limit)
		if parts[0] == "" {
			return // such a journal has no beginning
		}
		got, err := gather(s.Lines(0))
		if diff := differGaps(got, want); err != nil || diff != "" {
			t.Fatalf("forwards: %v, %s", err, diff)
		}
		back, err := gather(s.Back(^firn.Pos(0)))
		slices.Reverse(back)
		if diff := differGaps(back, want); err != nil || diff != "" {
			t.Fatalf("backwards: %v, %s", err, diff)
		}
		for i, line := range want {
			if line.Unfinished && i < len(want)-1 {
				continue // a part without its last newline
			}
			rest, err := gather(s.Lines(line.Next))
			if len(rest) != len(want)-i-1 || err != nil {
				t.Fatalf("after line %d there are %d lines (%v), want %d", i, len(rest), err, len(want)-i-1)
			}
		}
	})
}

func differGaps(got, want []Line) string {
	for i := range min(len(got), len(want)) {
		if got[i].Gap != want[i].Gap {
			return fmt.Sprintf("line %d is %q, want %q", i, got[i].Gap, want[i].Gap)
		}
	}
	return differ(got, want)
}

// discard is a testing.TB whose cleanup does not matter.
type discard struct{ testing.TB }

func (discard) Helper()        {}
func (discard) Cleanup(func()) {}

// largestFS records the largest single read.
type largestFS struct {
	vfs.FS
	largest *int
}

func (l largestFS) Open(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := l.FS.Open(path, mode)
	return largestFile{f, l.largest}, err
}

type largestFile struct {
	vfs.File
	largest *int
}

func (f largestFile) ReadAt(p []byte, off int64) (int, error) {
	*f.largest = max(*f.largest, len(p))
	return f.File.ReadAt(p, off)
}

// TestLongLinesAreNotBuffered reads lines of many times the limit: no more than the limit and
// one buffer is read into memory at a time, and the lines after them are read.
func TestLongLinesAreNotBuffered(t *testing.T) {
	t.Parallel()
	const limit, size = 1 << 20, 50 << 20
	dir := t.TempDir()
	zeros, text := filepath.Join(dir, "zeros.jsonl"), filepath.Join(dir, "text.jsonl")
	must(t, os.WriteFile(zeros, []byte("{\"a\":1}\n"), 0o600))
	must(t, os.Truncate(zeros, size)) // a hole
	f, err := os.OpenFile(zeros, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("{\"b\":2}\n{\"c\":3}\n")
	must(t, errors.Join(err, f.Close()))
	must(t, os.WriteFile(text, slices.Concat([]byte("{\"a\":1}\n"), bytes.Repeat([]byte("x"), size), []byte("\n{\"b\":2}\n{\"c\":3}\n")), 0o600))
	for path, kind := range map[string]firn.GapKind{zeros: firn.GapNUL, text: firn.GapTooLong} {
		largest := 0
		s := Source{FS: largestFS{vfs.OS{}, &largest}, Path: path, MaxLine: limit}
		lines, err := gather(s.Lines(0))
		must(t, err)
		back, err := gather(s.Back(^firn.Pos(0)))
		must(t, err)
		slices.Reverse(back)
		if diff := differGaps(back, lines); diff != "" {
			t.Errorf("backwards and forwards differ: %s", diff)
		}
		if len(lines) != 4 || lines[1].Gap != kind || string(lines[2].Data) != `{"b":2}` || string(lines[3].Data) != `{"c":3}` {
			t.Errorf("%s: read %d lines, %+v", filepath.Base(path), len(lines), lines)
		}
		if largest > limit+readSize {
			t.Errorf("%s: %d bytes were read in one call, the limit is %d", filepath.Base(path), largest, limit)
		}
	}
}

// TestFollowTooLong follows a file in which a line grows beyond the limit: it is yielded as
// a gap once it ends, the lines after it follow, and its bytes are read once.
func TestFollowTooLong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	write := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		must(t, err)
		_, err = f.WriteString(text)
		must(t, errors.Join(err, f.Close()))
	}
	write("first\n")
	hub := NewHub()
	defer hub.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := make(chan Line, 10)
	var following sync.WaitGroup
	following.Go(func() {
		for line, err := range (Source{FS: vfs.OS{}, Path: path, MaxLine: 1000}).Follow(ctx, hub, 0) {
			if err != nil {
				t.Error(err)
			}
			line.Data = bytes.Clone(line.Data)
			lines <- line
		}
	})
	if line := <-lines; string(line.Data) != "first" {
		t.Fatalf("the first line is %+v", line)
	}
	for range 20 {
		write(strings.Repeat("x", 300))
		hub.Notify(path)
	}
	write("\nlast\n")
	if line := <-lines; line.Gap != firn.GapTooLong || line.Next-line.Start != 6001 {
		t.Errorf("the long line is %+v", line)
	}
	if line := <-lines; string(line.Data) != "last" {
		t.Errorf("the last line is %+v", line)
	}
	cancel()
	following.Wait()
}

// growingFile is a file to which a writer appends each time a reader has found its end.
type growingFile struct {
	vfs.File
	grow func()
}

func (f growingFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if err == io.EOF {
		f.grow()
	}
	return n, err
}

// TestGrowingLongLineIsOneGap reads a line over the limit that grows between any two reads:
// it is one gap, which ends with its newline.
func TestGrowingLongLineIsOneGap(t *testing.T) {
	t.Parallel()
	for _, pieces := range []int{1, 2, 3, 4, 7} {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		must(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 1500), 0o600))
		file, err := (vfs.OS{}).Open(path, vfs.Read)
		must(t, err)
		defer file.Close()
		written := 0
		growing := growingFile{file, func() {
			piece := strings.Repeat("x", 300)
			if written++; written > pieces {
				return
			} else if written == pieces {
				piece = "\nlast\n"
			}
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString(piece)
			must(t, errors.Join(err, f.Close()))
		}}
		lines := forward{file: growing, limit: 1000}
		line, err := lines.next()
		for must(t, err); line.Unfinished; must(t, err) {
			lines = forward{file: growing, limit: 1000, clear: lines.offset}
			line, err = lines.next()
		}
		if want := firn.Pos(1500 + 300*(pieces-1) + 1); line.Start != 0 || line.Next != want || line.Gap != firn.GapTooLong {
			t.Errorf("%d pieces: the long line is %+v, want its end at %d", pieces, line, want)
		}
		if line, err = lines.next(); err != nil || string(line.Data) != "last" {
			t.Errorf("%d pieces: the line after it is %+v, %v", pieces, line, err)
		}
	}
}

// TestFollowReadsLongLineOnce checks that an unfinished line over the limit is not read
// again from its beginning each time it grows.
func TestFollowReadsLongLineOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	largest, read := 0, 0
	f := follower{source: Source{FS: largestFS{vfs.OS{}, &largest}, Path: path, MaxLine: 1 << 20}}
	defer f.close()
	for size := range 20 {
		must(t, os.WriteFile(path, bytes.Repeat([]byte("x"), (size+1)<<20), 0o600))
		if !f.drain(func(Line, error) bool { read++; return true }) {
			t.Fatal("it stopped")
		}
		if size > 2 && f.clear != int64(size+1)<<20 {
			t.Fatalf("of %d MB, %d bytes are known", size+1, f.clear)
		}
	}
	if read != 0 {
		t.Errorf("%d lines were reported", read)
	}
}
