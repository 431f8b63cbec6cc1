package dialecttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// RunTool checks the guarantees of a tool's scanner and printer on the transcripts *.jsonl
// of a corpus: the entries form a tree, the same lines give the same entries, files that are
// cut off are readable, and a printed session reads as the same conversation, except for
// reported losses. It does not check the layout; the tests of sourcestore do.
func RunTool(t *testing.T, tool dialect.Tool, corpus fs.FS) {
	t.Helper()
	runTool(t, tool, corpus)
}

func runTool(t reporter, tool dialect.Tool, corpus fs.FS) {
	t.Helper()
	read := 0
	for name, lines := range transcripts(t, corpus) {
		s := specimen{t: t, tool: tool, name: name, lines: lines}
		entries := s.scan(lines)
		read += len(entries)
		s.whole(entries)
		s.tree(entries)
		s.sameAgain(entries)
		s.cut()
		s.printed(entries)
	}
	if read == 0 {
		t.Errorf("%s read nothing of the corpus", tool.Name())
	}
}

// transcripts reads the corpus, file by file.
func transcripts(t reporter, corpus fs.FS) map[string][][]byte {
	t.Helper()
	all := make(map[string][][]byte)
	err := fs.WalkDir(corpus, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".jsonl" {
			return err
		}
		data, err := fs.ReadFile(corpus, name)
		if err != nil {
			return err
		}
		for line := range bytes.SplitSeq(data, []byte{'\n'}) {
			if len(bytes.TrimSpace(line)) > 0 {
				all[name] = append(all[name], line)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("reading the corpus: %v", err)
	}
	return all
}

// specimen is one transcript under test.
type specimen struct {
	t     reporter
	tool  dialect.Tool
	name  string
	lines [][]byte
}

func (s specimen) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s: %s", s.name, fmt.Sprintf(format, args...))
}

func (s specimen) origin() dialect.Origin {
	return dialect.Origin{Transcript: dialect.Transcript{ID: "specimen", Parts: []string{s.name}}}
}

// scan reads lines and overwrites each afterwards, since a scanner must not retain it.
func (s specimen) scan(lines [][]byte) (entries []firn.Entry) {
	s.t.Helper()
	scanner := s.tool.Scanner(s.origin())
	for i, line := range lines {
		given := bytes.Clone(line)
		found, err := scanner.Scan(given)
		if err != nil {
			s.refused(i, line, err)
		}
		for j := range given {
			given[j] = 'x'
		}
		entries = append(entries, found...)
	}
	return append(entries, scanner.Finish()...)
}

// refused checks that only lines that are not JSON objects are rejected.
func (s specimen) refused(i int, line []byte, err error) {
	s.t.Helper()
	var object map[string]json.RawMessage
	if !errors.Is(err, firn.ErrCorrupt) {
		s.errorf("line %d: Scan fails with %v, which is not ErrCorrupt", i+1, err)
	}
	if json.Unmarshal(line, &object) == nil && json.Valid(line) {
		s.errorf("line %d: Scan refuses a JSON object: %v", i+1, err)
	}
}

// whole checks that there are at least as many entries as readable lines, except for lines
// that only repeat or complete others.
func (s specimen) whole(entries []firn.Entry) {
	s.t.Helper()
	if len(entries) == 0 {
		s.errorf("nothing was read")
		return
	}
	if _, ok := entries[0].Body.(*firn.Header); !ok {
		s.errorf("the first entry is of kind %s, not a header", entries[0].Body.Kind())
	}
	for i, e := range entries[1:] {
		if e.Body == nil {
			s.errorf("entry %d has no body", i+1)
			continue
		}
		if e.Body.Kind() == firn.KindHeader {
			s.errorf("entry %d is a second header", i+1)
		}
		if e.Time.IsZero() && !entries[0].Time.IsZero() {
			s.errorf("entry %s has no time", e.ID)
		}
	}
}

// tree checks that every entry has a unique ID and a parent before it.
func (s specimen) tree(entries []firn.Entry) {
	s.t.Helper()
	seen := make(map[firn.EntryID]bool, len(entries))
	for i, e := range entries[min(1, len(entries)):] {
		switch {
		case e.ID == "":
			s.errorf("entry %d of kind %s has no id", i+1, e.Body.Kind())
		case e.Parent == firn.Root:
			s.errorf("entry %s has firn.Root as its parent", e.ID)
		case e.Parent != "" && !seen[e.Parent]:
			s.errorf("entry %s has the parent %s, which is not before it", e.ID, e.Parent)
		}
		seen[e.ID] = true
	}
}

// sameAgain checks that the same lines produce the same entries.
func (s specimen) sameAgain(entries []firn.Entry) {
	s.t.Helper()
	if again := s.scan(s.lines); !reflect.DeepEqual(entries, again) {
		s.errorf("reading it again returns different entries")
	}
}

// cut checks that a truncated transcript is readable up to its end: earlier entries do not
// depend on later lines, and a torn line does not affect the lines after it.
func (s specimen) cut() {
	s.t.Helper()
	random := rand.New(rand.NewPCG(1, uint64(len(s.lines))))
	whole := s.given(s.lines)
	original := talkOf(s.scan(s.lines), nil)
	steps := max(1, len(s.lines)/40)
	for n := 0; n < len(s.lines); n += steps {
		before := s.given(s.lines[:n])
		if len(before) > 0 && !reflect.DeepEqual(before, whole[:min(len(before), len(whole))]) {
			s.errorf("the first %d lines are read differently if more follow", n)
			return
		}
		if n == 0 {
			continue // a torn first line may be the header
		}
		torn := s.lines[n][:random.IntN(len(s.lines[n]))]
		if json.Valid(torn) {
			continue
		}
		after := talkOf(s.scan(slices.Concat(s.lines[:n], [][]byte{torn}, s.lines[n:])), nil)
		if d := original.missing(after); d != "" {
			s.errorf("with a torn line before line %d: %s", n+1, d)
			return
		}
	}
}

// given returns the entries that are complete without [dialect.Scanner.Finish].
func (s specimen) given(lines [][]byte) (entries []firn.Entry) {
	s.t.Helper()
	scanner := s.tool.Scanner(s.origin())
	for _, line := range lines {
		found, _ := scanner.Scan(bytes.Clone(line)) // scan checks the errors
		entries = append(entries, found...)
	}
	return entries
}

// printed checks that the entries can be printed and then read as the same conversation,
// except for reported losses.
func (s specimen) printed(entries []firn.Entry) {
	s.t.Helper()
	lost := make(map[firn.EntryID]bool)
	limits := make(map[string]bool)
	for _, l := range s.tool.Limits() {
		limits[l.Name] = true
	}
	if limits["branches"] {
		entries = pathOf(entries)
	}
	printer := s.tool.Printer(dialect.Target{Session: "specimen", CWD: "/specimen", OnLoss: func(l dialect.Loss) {
		lost[l.Entry] = true
		if !limits[l.Limit] {
			s.errorf("a loss names the limit %q, which the tool does not list", l.Limit)
		}
	}})
	var out []byte
	var err error
	for _, e := range entries {
		if out, err = printer.Print(out, e); err != nil {
			s.errorf("Print refuses entry %s of kind %s: %v", e.ID, e.Body.Kind(), err)
			return
		}
	}
	if out, err = printer.Finish(out); err != nil {
		s.errorf("Finish: %v", err)
		return
	}
	if len(out) > 0 && out[len(out)-1] != '\n' {
		s.errorf("the printed session does not end with a newline")
	}
	var lines [][]byte
	for line := range bytes.Lines(out) {
		if !json.Valid(line) {
			s.errorf("a printed line is not JSON: %.200q", line)
		}
		lines = append(lines, bytes.TrimRight(line, "\n"))
	}
	if d := talkOf(entries, lost).missing(talkOf(s.scan(lines), nil)); d != "" {
		s.errorf("the printed session reads differently: %s", d)
	}
}
