package convert

import (
	"bytes"
	"context"
	"iter"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// source reads lines of the native format.
func source(tool dialect.Tool, text string) Source {
	return Transcript(tool, dialect.Origin{Transcript: dialect.Transcript{ID: "s"}}, func() iter.Seq2[[]byte, error] {
		return Lines(strings.NewReader(text), 0)
	})
}

// transcript returns a native transcript of entries that follow each other unless they have
// parents.
func transcript(t *testing.T, entries ...firn.Entry) string {
	t.Helper()
	st := memstore.New(memstore.Options{})
	if _, err := st.Append(t.Context(), "s", store.Any, entries...); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for record, err := range st.Read(t.Context(), "s", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := record.Entry()
		if err != nil {
			t.Fatal(err)
		}
		if out, err = native.New().Append(out, e); err != nil {
			t.Fatal(err)
		}
		out = append(out, '\n')
	}
	return string(out)
}

func id(e firn.Entry, id firn.EntryID) firn.Entry { e.ID = id; return e }

func under(e firn.Entry, parent firn.EntryID) firn.Entry { e.Parent = parent; return e }

// TestCopy checks that lines for the same tool are copied unchanged.
func TestCopy(t *testing.T) {
	text := transcript(t, firn.UserText("one"), firn.AssistantText("two")) + `{"type":"news","id":"x","parentId":null}` + "\n" + "{torn\n"
	var out bytes.Buffer
	report := &Report{}
	if err := Write(t.Context(), &out, source(native.NewTool(), text), native.NewTool(), dialect.Target{}, report); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), text; got != want {
		t.Errorf("copied\n%s\nwant\n%s", got, want)
	}
	if report.Same != 5 || report.Total() != 5 || report.Damaged != 1 || report.UnknownLines != 2 {
		t.Errorf("the report is %+v", report)
	}
}

// TestInto checks that existing entries are not added again, and that another session is
// not changed.
func TestInto(t *testing.T) {
	ctx := context.Background()
	text := transcript(t, firn.UserText("one"), firn.AssistantText("two"), firn.UserText("three"))
	lines := strings.SplitAfter(text, "\n")
	st := memstore.New(memstore.Options{})
	for i, c := range []struct {
		text  string
		added int64
	}{
		{strings.Join(lines[:2], ""), 2}, {strings.Join(lines[:2], ""), 0}, {text, 2}, {text, 0},
	} {
		added, err := Import(ctx, st, "s", source(native.NewTool(), c.text), &Report{})
		if err != nil || added != c.added {
			t.Errorf("import %d added %d, %v; want %d", i, added, err, c.added)
		}
	}
	var texts []string
	for record := range st.Read(ctx, "s", store.Start) {
		if e, err := record.Entry(); err == nil {
			if m, ok := e.Body.(*firn.Message); ok {
				texts = append(texts, m.Text())
			}
		}
	}
	if got := strings.Join(texts, " "); got != "one two three" {
		t.Errorf("the session contains %q", got)
	}
	other := transcript(t, firn.UserText("of something else"))
	if added, err := Import(ctx, st, "s", source(native.NewTool(), other), &Report{}); err == nil || added != 0 {
		t.Errorf("another session was mixed in: %d, %v", added, err)
	}
}
