package journal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
)

// base is the path of the in-memory journals.
const base = "home/s.jsonl"

// rounds returns n, or less in short mode.
func rounds(n int) int {
	if testing.Short() {
		return max(1, n/8)
	}
	return n
}

// stride returns the step for exhaustive loops: 1, or more in short mode.
func stride() int {
	if testing.Short() {
		return 7
	}
	return 1
}

// memory returns an in-memory file system with the given files.
func memory(t testing.TB, files map[string]string) *faultfs.FS {
	t.Helper()
	fsys := faultfs.New()
	must(t, fsys.MkdirAll("home"))
	for path, content := range files {
		must(t, fsys.Put(path, []byte(content)))
	}
	return fsys
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// content returns the content of a file.
func content(t testing.TB, fsys *faultfs.FS, path string) string {
	t.Helper()
	b, err := fsys.Get(path)
	must(t, err)
	return string(b)
}

// openIn opens a journal that the test closes itself.
func openIn(t testing.TB, fsys vfs.FS, path string, opts Options) *Journal {
	t.Helper()
	j, err := Open(fsys, path, opts)
	must(t, err)
	return j
}

// batch returns a callback for Append that supplies the given lines.
func batch(lines ...string) func(firn.Pos) ([]byte, error) {
	return func(firn.Pos) ([]byte, error) { return []byte(joined(lines)), nil }
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// sample returns JSON objects of many lengths, with characters that are awkward in a line
// and allowed in JSON. The same seed gives the same lines.
func sample(n int, seed uint64) []string {
	chance := rand.New(rand.NewPCG(seed, 7))
	awkward := []string{
		"plain", "Grüße, 世界 🧊", `\n \t \" \\ \u0000`, `\ud800`, `\ud83e\uddca`,
		"\u2028line\u2029", "{}[]:,", `{\"a\":1}`, "\xff\xfe", "\u00a0\ufeff", "",
	}
	var lines []string
	for i := range n {
		text := ""
		for range chance.IntN(4) {
			text += awkward[chance.IntN(len(awkward))]
		}
		if i%29 == 28 {
			text += strings.Repeat("long ", 40)
		}
		lines = append(lines, fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, text))
	}
	return lines
}

// numbered returns n short lines that name their writer.
func numbered(who string, n int) []string {
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf(`{"%s":%d}`, who, i))
	}
	return lines
}

// read returns all lines as they are in the files, oldest first.
func read(t testing.TB, s Source) []Line {
	t.Helper()
	var lines []Line
	for line, err := range s.Lines(0) {
		if err != nil {
			t.Fatal(err)
		}
		line.Data = bytes.Clone(line.Data)
		lines = append(lines, line)
	}
	return lines
}

// texts returns the bytes of all lines.
func texts(t testing.TB, s Source) []string {
	t.Helper()
	var out []string
	for _, line := range read(t, s) {
		out = append(out, string(line.Data))
	}
	return out
}

func wantLines(t testing.TB, s Source, want []string) {
	t.Helper()
	if got := texts(t, s); !slices.Equal(got, want) {
		t.Fatalf("there are %d lines, want %d:\n%s", len(got), len(want), firstDifference(got, want))
	}
}

func firstDifference(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("line %d is %.200q, want %.200q", i, got[i], want[i])
		}
	}
	if n := len(want); len(got) > n {
		return fmt.Sprintf("line %d is %.200q, want no more", n, got[n])
	}
	return fmt.Sprintf("line %d is missing: %.200q", len(got), want[len(got)])
}
