package convert

import (
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

// TestIntoChangedCopy checks that a copy with a changed message is rejected, and that
// nothing is added.
func TestIntoChangedCopy(t *testing.T) {
	text := transcript(t, firn.UserText("one"), firn.AssistantText("two"))
	st := memstore.New(memstore.Options{})
	if _, err := Import(t.Context(), st, "s", source(native.NewTool(), text), &Report{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(transcript(t, firn.UserText("x"), firn.AssistantText("y"), firn.UserText("three")), "\n")
	changed := strings.Replace(text, `"two"`, `"deux"`, 1) + lines[3]
	added, err := Import(t.Context(), st, "s", source(native.NewTool(), changed), &Report{})
	var differs *Differs
	if !errors.As(err, &differs) || !errors.Is(err, firn.ErrConflict) || added != 0 || differs.Session != "s" || differs.Entry == "" {
		t.Errorf("a changed copy: %d added, %v; want none, and an error that names the entry", added, err)
	}
	if n := len(entriesOf(t, st)); n != 3 {
		t.Errorf("%d entries are there afterwards, want the 3 from before", n)
	}
}

// TestIntoMissingInTheMiddle checks that a transcript with an additional entry in the
// middle is rejected: it would be added after the others.
func TestIntoMissingInTheMiddle(t *testing.T) {
	text := transcript(t, id(firn.UserText("one"), "a"), id(firn.AssistantText("two"), "b"), id(firn.UserText("three"), "c"))
	lines := strings.SplitAfter(text, "\n")
	st := memstore.New(memstore.Options{})
	without := strings.Replace(lines[0]+lines[1]+lines[3], `"parentId":"b"`, `"parentId":"a"`, 1)
	if _, err := Import(t.Context(), st, "s", source(native.NewTool(), without), &Report{}); err != nil {
		t.Fatal(err)
	}
	added, err := Import(t.Context(), st, "s", source(native.NewTool(), text), &Report{})
	var differs *Differs
	if !errors.As(err, &differs) || !differs.Missing || differs.Entry != "b" || added != 0 {
		t.Errorf("it added %d, %v", added, err)
	}
	if n := len(entriesOf(t, st)); n != 3 {
		t.Errorf("%d entries are there afterwards, want the 3 from before", n)
	}
}

func entriesOf(t *testing.T, st store.Store) []firn.Entry {
	t.Helper()
	var all []firn.Entry
	for record, err := range st.Read(t.Context(), "s", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := record.Entry()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}
