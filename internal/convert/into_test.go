package convert

import (
	"errors"
	"strings"
	"testing"

	"firn"
	"firn/dialect/native"
	"firn/store"
	"firn/store/memstore"
)

// A copy in which a message has other words is not taken for the session, and
// nothing of it is added.
func TestIntoChangedCopy(t *testing.T) {
	text := transcript(t, firn.UserText("one"), firn.AssistantText("two"))
	st := memstore.New(memstore.Options{})
	if _, err := Into(t.Context(), st, "s", source(native.NewTool(), text), &Report{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(transcript(t, firn.UserText("x"), firn.AssistantText("y"), firn.UserText("three")), "\n")
	changed := strings.Replace(text, `"two"`, `"deux"`, 1) + lines[3]
	added, err := Into(t.Context(), st, "s", source(native.NewTool(), changed), &Report{})
	var differs *Differs
	if !errors.As(err, &differs) || !errors.Is(err, firn.ErrConflict) || added != 0 || differs.Session != "s" || differs.Entry == "" {
		t.Errorf("a changed copy: %d added, %v; want none, and an error that names the entry", added, err)
	}
	if n := len(entriesOf(t, st)); n != 3 {
		t.Errorf("%d entries are there afterwards, want the 3 from before", n)
	}
}

// The title in force stands near the end, where a list looks for it: also if
// the transcript grew, and if it was given in the store meanwhile.
func TestIntoKeepsTheTitleInSight(t *testing.T) {
	long := strings.Repeat("word ", 600)
	text := transcript(t, firn.UserText("one"), firn.NewEntry(&firn.Title{Name: "Old", Source: firn.SourceUser}),
		firn.AssistantText(long), firn.UserText(long), firn.AssistantText(long))
	lines := strings.SplitAfter(text, "\n")
	st := memstore.New(memstore.Options{})
	into := func(text string) {
		t.Helper()
		if _, err := Into(t.Context(), st, "s", source(native.NewTool(), text), &Report{}); err != nil {
			t.Fatal(err)
		}
	}
	wantLast := func(name string) {
		t.Helper()
		all := entriesOf(t, st)
		if last, ok := all[len(all)-1].Body.(*firn.Title); !ok || last.Name != name {
			t.Errorf("the last entry is %+v, want the title %q", all[len(all)-1].Body, name)
		}
	}
	into(strings.Join(lines[:4], ""))
	wantLast("Old")
	if _, err := st.Append(t.Context(), "s", store.Any, firn.NewEntry(&firn.Title{Name: "New", Source: firn.SourceUser})); err != nil {
		t.Fatal(err)
	}
	into(text)
	wantLast("New")
	before := len(entriesOf(t, st))
	into(text)
	if after := len(entriesOf(t, st)); after != before {
		t.Errorf("importing the same again made %d entries of %d", after, before)
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
