// Package dialecttest checks the guarantees of dialects on a corpus of real files.
package dialecttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Run checks a dialect on all lines of the files *.jsonl in corpus. Lines that are not JSON
// must be rejected with ErrCorrupt; at least one line must be valid.
func Run(t *testing.T, d dialect.Dialect, corpus fs.FS) {
	t.Helper()
	run(t, d, corpus)
}

// reporter is the subset of testing.T that the suite needs, so that the suite itself can be
// tested.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func run(t reporter, d dialect.Dialect, corpus fs.FS) {
	t.Helper()
	read := 0
	for _, line := range lines(t, corpus) {
		s := subject{t: t, d: d, where: line.where, line: line.bytes}
		entry, err := d.Decode(line.bytes)
		if err != nil {
			s.corrupt(err)
			continue
		}
		read++
		s.roundTrip(entry)
		s.glance(entry)
		s.keepsNothing(entry)
		s.carries(entry)
		s.cuts()
	}
	if read == 0 {
		t.Errorf("%s read no line of the corpus", d.Name())
	}
}

// line is a line of the corpus with its location.
type line struct {
	where string
	bytes []byte
}

func lines(t reporter, corpus fs.FS) (all []line) {
	t.Helper()
	err := fs.WalkDir(corpus, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".jsonl" {
			return err
		}
		data, err := fs.ReadFile(corpus, name)
		if err != nil {
			return err
		}
		for i, b := range bytes.Split(data, []byte{'\n'}) {
			if len(bytes.TrimSpace(b)) > 0 {
				all = append(all, line{fmt.Sprintf("%s:%d", name, i+1), b})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("reading the corpus: %v", err)
	}
	return all
}

// subject is one line under test.
type subject struct {
	t     reporter
	d     dialect.Dialect
	where string
	line  []byte
}

func (s subject) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s: %s", s.where, fmt.Sprintf(format, args...))
}

// corrupt checks that only invalid JSON is rejected.
func (s subject) corrupt(err error) {
	s.t.Helper()
	if !errors.Is(err, firn.ErrCorrupt) {
		s.errorf("Decode fails with %v, which is no ErrCorrupt", err)
	}
	if json.Valid(s.line) && bytes.HasPrefix(bytes.TrimSpace(s.line), []byte("{")) {
		s.errorf("Decode refuses a JSON object: %v", err)
	}
}

// roundTrip checks that an entry can be encoded, decodes to the same entry and then encodes
// to the same bytes.
func (s subject) roundTrip(entry firn.Entry) {
	s.t.Helper()
	prefix := []byte("before")
	out, err := s.d.Append(prefix, entry)
	if err != nil {
		s.errorf("Append refuses what Decode returned: %v", err)
		return
	}
	if !bytes.HasPrefix(out, prefix) {
		s.errorf("Append changed what was there before")
		return
	}
	out = out[len(prefix):]
	if !json.Valid(out) || bytes.IndexByte(out, '\n') >= 0 {
		s.errorf("Append wrote what is not one line of JSON: %.300q", out)
	}
	again, err := s.d.Decode(out)
	if err != nil || !reflect.DeepEqual(entry, again) {
		s.errorf("what was written reads differently: %v\nread    %.600s\nwritten %.600s\nfirst  %.900s\nsecond %.900s", err, s.line, out, Describe(entry), Describe(again))
		return
	}
	if twice, err := s.d.Append(nil, again); err != nil || !bytes.Equal(out, twice) {
		s.errorf("written again it is not the same: %v\nfirst  %.600s\nsecond %.600s", err, out, twice)
	}
}

// Describe formats an entry with its body, for test failures.
func Describe(e firn.Entry) string {
	body := e.Body
	e.Body = nil
	return fmt.Sprintf("%+v %T %+v", e, body, body)
}

// glance checks that a glance agrees with the entry.
func (s subject) glance(entry firn.Entry) {
	s.t.Helper()
	got, err := s.d.Glance(s.line)
	if err != nil {
		s.errorf("Glance fails where Decode does not: %v", err)
		return
	}
	want := firn.GlanceOf(entry)
	want.NoParent = got.NoParent // not part of an entry
	if _, opaque := entry.Body.(*firn.Opaque); opaque {
		want.Target = got.Target // known only to a glance
	}
	if got != want {
		s.errorf("Glance is %+v, the entry says %+v", got, want)
	}
	if got.NoParent && got.Parent != "" {
		s.errorf("Glance has the parent %q and NoParent", got.Parent)
	}
}

// keepsNothing checks that the dialect does not retain the line.
func (s subject) keepsNothing(entry firn.Entry) {
	s.t.Helper()
	scratch := bytes.Clone(s.line)
	got, err := s.d.Decode(scratch)
	glance, _ := s.d.Glance(scratch)
	for i := range scratch {
		scratch[i] = '#'
	}
	if err != nil || !reflect.DeepEqual(entry, got) {
		s.errorf("the entry changes with the line it was read from: %s", Describe(got))
	}
	if again, _ := s.d.Glance(s.line); glance != again {
		s.errorf("the glance changes with the line it was read from: %+v", glance)
	}
}

// carries checks that an unknown member is written back byte for byte.
func (s subject) carries(entry firn.Entry) {
	s.t.Helper()
	const member = `"noOneKnowsThis":{"b":[1.50,1e400,"\u00e9"],"a":null}`
	body := bytes.TrimSpace(s.line)
	last := len(body) - 1
	for place, line := range map[string]string{
		"at the end":       string(body[:last]) + "," + member + "}",
		"at the beginning": "{" + member + "," + string(body[1:]),
	} {
		if last == 1 {
			return // {} has no room for the comma
		}
		got, err := s.d.Decode([]byte(line))
		if err != nil {
			s.errorf("an unknown member %s makes the line unreadable: %v", place, err)
			continue
		}
		if got.ID != entry.ID || got.Parent != entry.Parent || got.Body.Kind() != entry.Body.Kind() {
			s.errorf("an unknown member %s changes the entry: %s", place, Describe(got))
		}
		out, err := s.d.Append(nil, got)
		if err != nil || !bytes.Contains(out, []byte(member)) {
			s.errorf("an unknown member %s is not written back: %v\n%.600s", place, err, out)
		}
	}
}

// maxCuts limits how many prefixes of a line are tried.
const maxCuts = 1500

// cuts checks that no prefix of a line is an entry, and that none causes a panic.
func (s subject) cuts() {
	s.t.Helper()
	body := bytes.TrimSpace(s.line)
	step := len(body)/maxCuts + 1
	for cut := 0; cut < len(body); cut += step {
		if entry, err := s.d.Decode(body[:cut]); !errors.Is(err, firn.ErrCorrupt) {
			s.errorf("its first %d bytes read as %s, %v; want ErrCorrupt", cut, Describe(entry), err)
			return
		}
		if _, err := s.d.Glance(body[:cut]); err != nil && !errors.Is(err, firn.ErrCorrupt) {
			s.errorf("a glance of its first %d bytes: %v; want ErrCorrupt or none", cut, err)
			return
		}
	}
}
