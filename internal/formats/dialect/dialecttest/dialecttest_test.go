package dialecttest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// plain is a small correct dialect: every line is opaque. Its lines are {"id":"...",
// anything}.
type plain struct{}

func (plain) Name() dialect.Name { return "plain" }

func (plain) Decode(line []byte) (firn.Entry, error) {
	line = bytes.TrimSpace(line)
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' || bytes.Count(line, []byte("{")) != bytes.Count(line, []byte("}")) {
		return firn.Entry{}, firn.ErrCorrupt
	}
	_, rest, _ := strings.Cut(string(line), `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return firn.Entry{ID: firn.EntryID(id), Body: &firn.Opaque{Type: "plain", Raw: bytes.Clone(line)}}, nil
}

func (p plain) Glance(line []byte) (firn.Glance, error) {
	e, err := p.Decode(line)
	if err != nil {
		return firn.Glance{}, err
	}
	return firn.GlanceOf(e), nil
}

func (plain) Append(dst []byte, e firn.Entry) ([]byte, error) {
	return append(dst, e.Body.(*firn.Opaque).Raw...), nil
}

// Dialects that each violate one guarantee in one method.
type (
	refusing   struct{ plain }
	wrongError struct{ plain }
	gullible   struct{ plain }
	keeping    struct{ plain }
	forgetful  struct{ plain }
	mute       struct{ plain }
	squinting  struct{ plain }
	clobbering struct{ plain }
)

func (refusing) Decode([]byte) (firn.Entry, error) { return firn.Entry{}, firn.ErrCorrupt }

func (w wrongError) Decode(line []byte) (firn.Entry, error) {
	e, err := w.plain.Decode(line)
	if err != nil {
		err = errors.New("no")
	}
	return e, err
}

func (g gullible) Decode(line []byte) (firn.Entry, error) {
	e, err := g.plain.Decode(line)
	if err != nil {
		e, err = firn.Entry{Body: &firn.Opaque{}}, nil
	}
	return e, err
}

func (k keeping) Decode(line []byte) (firn.Entry, error) {
	e, err := k.plain.Decode(line)
	if err == nil {
		e.Body = &firn.Opaque{Type: "plain", Raw: bytes.TrimSpace(line)}
	}
	return e, err
}

func (forgetful) Append(dst []byte, e firn.Entry) ([]byte, error) {
	return fmt.Appendf(dst, `{"id":%q}`, e.ID), nil
}

func (mute) Append(dst []byte, _ firn.Entry) ([]byte, error) { return dst, firn.ErrInvalid }

func (squinting) Glance([]byte) (firn.Glance, error) { return firn.Glance{Kind: "plain"}, nil }

func (c clobbering) Append(dst []byte, e firn.Entry) ([]byte, error) { return c.plain.Append(nil, e) }

// record stores the failures that the suite reports.
type record struct{ found []string }

func (*record) Helper() {}

func (r *record) Errorf(format string, args ...any) {
	r.found = append(r.found, fmt.Sprintf(format, args...))
}

func (r *record) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

func TestSuiteFindsBrokenPromises(t *testing.T) {
	corpus := fstest.MapFS{
		"a/x.jsonl":  {Data: []byte(`{"id":"1","n":1}` + "\n\n" + `{"id":"2"` + "\n" + `{"id":"3"}`)},
		"ignored.md": {Data: []byte("not a transcript")},
	}
	for _, test := range []struct {
		dialect dialect.Dialect
		want    string // part of the expected failure; empty if none is expected
	}{
		{plain{}, ""},
		{refusing{}, "refuses a JSON object"},
		{wrongError{}, "no ErrCorrupt"},
		{gullible{}, "want ErrCorrupt"},
		{keeping{}, "changes with the line"},
		{forgetful{}, "is not written back"},
		{mute{}, "Append refuses"},
		{squinting{}, "Glance is"},
		{clobbering{}, "changed what was there before"},
	} {
		var r record
		run(&r, test.dialect, corpus)
		found := strings.Join(r.found, "\n")
		if test.want == "" && found != "" || !strings.Contains(found, test.want) {
			t.Errorf("%T: the suite found %q, want %q", test.dialect, found, test.want)
		}
	}
	var r record
	if run(&r, plain{}, fstest.MapFS{}); len(r.found) == 0 {
		t.Error("the suite is content with an empty corpus")
	}
}
