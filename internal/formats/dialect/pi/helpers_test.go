package pi_test

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialect/pi"
	"firn.dev/window"
)

const corpus = "../../../../testdata/corpus"

var tool = pi.New(native.New())

// when is the time of all entries in these tests.
var when = time.Date(2026, 11, 15, 2, 40, 15, 42e6, time.UTC)

// scanned returns the entries of lines, skipping those that are not objects.
func scanned(lines [][]byte) (entries []firn.Entry) {
	s := tool.Scanner(dialect.Origin{Transcript: dialect.Transcript{ID: "origin"}})
	for _, line := range lines {
		found, _ := s.Scan(line)
		entries = append(entries, found...)
	}
	return append(entries, s.Finish()...)
}

func scanText(text string) []firn.Entry { return scanned(split([]byte(text))) }

// split splits a file into lines.
func split(data []byte) (lines [][]byte) {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimRight(line, "\n"); len(bytes.TrimSpace(line)) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

func readLines(t testing.TB, name string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return split(data)
}

// files lists the recorded transcripts.
func files(t testing.TB) (names []string) {
	t.Helper()
	for _, pattern := range []string{"pi/*.jsonl", "pi/golden/*.jsonl", "pi-v1/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		names = append(names, found...)
	}
	return names
}

// pathOf returns the live path of the entries.
func pathOf(t testing.TB, entries []firn.Entry) window.Path {
	t.Helper()
	var records []firn.Record
	for i, e := range entries {
		records = append(records, firn.NewRecord(firn.Pos(i), firn.Pos(i+1), e))
	}
	p, err := window.Collect(func(yield func(firn.Record, error) bool) {
		for _, rec := range slices.Backward(records) {
			if !yield(rec, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sent returns the texts that are sent to the model.
func sent(t testing.TB, entries []firn.Entry) (texts []string) {
	t.Helper()
	for _, it := range window.Build(pathOf(t, entries), window.Options{}).Items {
		texts = append(texts, textOf(it.Message))
	}
	return texts
}

// textOf formats a message on one line.
func textOf(m firn.Message) string {
	words := []string{string(m.Role) + ":"}
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.Text:
			words = append(words, p.Text)
		case firn.ToolCall:
			words = append(words, "call "+p.ID)
		case firn.ToolResult:
			words = append(words, "result "+p.CallID, firn.JoinText(p.Content))
		}
	}
	return strings.Join(words, " ")
}

// ids lists the IDs of entries.
func ids(entries []firn.Entry) (all []string) {
	for _, e := range entries {
		all = append(all, string(e.ID))
	}
	return all
}

// find returns the entry with this ID.
func find(t testing.TB, entries []firn.Entry, id firn.EntryID) firn.Entry {
	t.Helper()
	for _, e := range entries {
		if e.ID == id {
			return e
		}
	}
	t.Fatalf("there is no entry %s among %v", id, ids(entries))
	return firn.Entry{}
}

func user(id, parent firn.EntryID, text string) firn.Entry {
	return firn.Entry{ID: id, Parent: parent, Time: when, Body: &firn.Message{Role: firn.RoleUser, Time: when, Parts: []firn.Part{firn.Text{Text: text}}}}
}

func assistant(id, parent firn.EntryID, parts ...firn.Part) firn.Entry {
	return firn.Entry{ID: id, Parent: parent, Time: when, Body: &firn.Message{
		Role: firn.RoleAssistant, Time: when, API: "a", Provider: "p", Model: "m", StopReason: firn.StopEnd, Parts: parts,
		Usage: &firn.Usage{Input: 7, Output: 1, Total: 8},
	}}
}

func result(id, parent firn.EntryID, call, text string) firn.Entry {
	return firn.Entry{ID: id, Parent: parent, Time: when, Body: &firn.Message{Role: firn.RoleToolResult, Time: when, Parts: []firn.Part{
		firn.ToolResult{CallID: call, Name: "read", Content: []firn.Part{firn.Text{Text: text}}}}}}
}

func hide(id, parent, target firn.EntryID) firn.Entry {
	return firn.Entry{ID: id, Parent: parent, Time: when, Body: &firn.Tombstone{Target: target}}
}

func header() firn.Entry {
	return firn.Entry{Time: when, Body: &firn.Header{Session: "s", Version: 3, CWD: "/w"}}
}

// transcript is a file of pi that firn appends to, as a store does: each entry is printed
// by a printer that received the whole file.
type transcript struct {
	t      testing.TB
	lines  [][]byte
	losses []dialect.Loss
	// fresh creates a new printer for every entry, as another process would.
	fresh   bool
	printer dialect.Printer
	// untold withholds the written entries from the printer.
	untold bool
}

func (f *transcript) target() dialect.Target {
	to := dialect.Target{Session: "s", CWD: "/w", OnLoss: func(l dialect.Loss) { f.losses = append(f.losses, l) }}
	if !f.untold {
		to.Written = f.written
	}
	return to
}

// written yields the path from since on.
func (f *transcript) written(since firn.EntryID) iter.Seq[dialect.EntryLines] {
	entries, lines := f.read()
	var tree firn.Tree
	place := make(map[int]int)
	for i, e := range entries {
		if n := tree.Add(firn.Pos(i), firn.GlanceOf(e)); n >= 0 {
			place[n] = i
		}
	}
	path := tree.Path(tree.Head())
	start := slices.IndexFunc(path, func(n int) bool { return tree.Node(n).ID == since })
	return func(yield func(dialect.EntryLines) bool) {
		if start < 0 {
			return
		}
		for _, n := range path[start:] {
			if !yield(dialect.EntryLines{Entry: entries[place[n]], Lines: lines[place[n]]}) {
				return
			}
		}
	}
}

// read returns the entries of the file, each with its lines.
func (f *transcript) read() (entries []firn.Entry, lines [][][]byte) {
	s := tool.Scanner(dialect.Origin{})
	for _, line := range f.lines {
		found, err := s.Scan(line)
		if err != nil {
			f.t.Fatalf("%s: %v", line, err)
		}
		for i, e := range found {
			entries = append(entries, e)
			if i == len(found)-1 {
				lines = append(lines, [][]byte{line})
			} else {
				lines = append(lines, nil)
			}
		}
	}
	return entries, lines
}

func (f *transcript) entries() []firn.Entry {
	entries, _ := f.read()
	return entries
}

// add prints an entry to the file.
func (f *transcript) add(e firn.Entry) {
	f.t.Helper()
	if f.printer == nil || f.fresh {
		f.printer = tool.Printer(f.target())
		entries, lines := f.read()
		for i := range entries {
			f.printer.Repeat(entries[i], lines[i])
		}
	}
	out, err := f.printer.Print(nil, e)
	if err != nil {
		f.t.Fatalf("Print(%s): %v", e.ID, err)
	}
	f.lines = append(f.lines, split(out)...)
}

// head returns the last entry of the file.
func (f *transcript) head() firn.EntryID {
	entries := f.entries()
	return entries[len(entries)-1].ID
}
