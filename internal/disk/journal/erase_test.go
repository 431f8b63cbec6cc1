package journal

import (
	"strings"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
)

// TestErase overwrites lines in two parts. Every operation fails once, and the next attempt
// succeeds; other bytes and all positions are unchanged.
func TestErase(t *testing.T) {
	t.Parallel()
	first, second := numbered("first", 9), numbered("second", 9)
	files := map[string]string{base: joined(first), PartPath(base, 1): joined(second)}
	blank := func(line string) []byte { return []byte(strings.Repeat(" ", len(line))) }
	for nth, met := 1, true; met; nth++ {
		fsys := memory(t, files)
		lines := read(t, Source{FS: fsys, Path: base})
		spans := []Span{
			{lines[1].Start, blank(first[1])}, {lines[4].Start, blank(first[4])},
			{lines[9].Start, blank(second[0])}, {lines[17].Start, blank(second[8])},
		}
		fsys.FailNth(nth, faultfs.Fault{Short: 3})
		err := Erase(fsys, base, spans)
		if met = fsys.Waiting() == 0; met != (err != nil) {
			t.Fatalf("operation %d: %v", nth, err)
		}
		if met {
			must(t, Erase(fsys, base, spans))
		}
		for left := range fsys.CrashStates(4) {
			for i, line := range read(t, Source{FS: left, Path: base}) {
				erased := i == 1 || i == 4 || i == 9 || i == 17
				if line.At != lines[i].At || erased != (strings.TrimSpace(string(line.Data)) == "") || !erased && string(line.Data) != string(lines[i].Data) {
					t.Fatalf("operation %d failed: line %d is %q at %d", nth, i, line.Data, line.At)
				}
			}
		}
	}
}

// TestEraseWaits checks that bytes do not change during an append.
func TestEraseWaits(t *testing.T) {
	t.Parallel()
	fsys := memory(t, map[string]string{base: "{\"a\":1}\n"})
	j := openIn(t, fsys, base, Options{})
	var appending atomic.Bool
	tries, erased := make(chan bool), make(chan error, 1)
	fsys.Hook(func(_ faultfs.Kind, line string) {
		switch {
		case line == "lock "+base:
			close(tries)
		case line == "unlock "+base:
			appending.Store(false)
		case line == "write "+base+" 7@0" && appending.Load():
			t.Error("it did not wait")
		}
	})
	_, err := j.Append(false, func(firn.Pos) ([]byte, error) {
		appending.Store(true)
		go func() { erased <- Erase(fsys, base, []Span{{0, []byte("       ")}}) }()
		<-tries
		return []byte("{\"b\":1}\n"), nil
	})
	must(t, err)
	must(t, <-erased)
	wantLines(t, j.Source(), []string{"       ", `{"b":1}`})
}
