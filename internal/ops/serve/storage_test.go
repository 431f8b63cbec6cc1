package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/client"
	"firn.dev/wire"
)

// TestSources checks that sources are listed with their number of sessions, the number
// taken over, their limits and faults, and that session lists can be filtered by source.
func TestSources(t *testing.T) {
	now := time.Now()
	h, c := openInstance(t, Options{Clock: func() time.Time { return now }})
	ctx := t.Context()
	tool := pi{t, t.TempDir()}
	tool.writeSession(first, 3)
	tool.writeSession(second, 3)
	tool.adopt(h.home())
	broken := filepath.Join(h.home(), SourcesDir, "zzz")
	if err := os.MkdirAll(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, mirrorManifest), []byte("no json"), 0o600); err != nil {
		t.Fatal(err)
	}
	page, err := c.SessionsPage(ctx, client.Query{Source: "pi", Limit: 1})
	if err != nil || page.Total != 2 || len(page.Items) != 1 || !strings.HasPrefix(page.Items[0].Source, "pi-") {
		t.Fatalf("listed: %+v, %v", page, err)
	}
	name := page.Items[0].Source
	tags := []string{"mine"}
	if _, err := c.Patch(ctx, first, wire.Patch{Tags: &tags}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	for q, want := range map[client.Query]int{{Source: name}: 1, {Source: "firn"}: 1, {Source: "firn", Tag: "mine"}: 1, {Source: "zzz"}: 0} {
		if page, err := c.SessionsPage(ctx, q); err != nil || len(page.Items) != want || page.Total != want {
			t.Errorf("%+v lists %+v, %v", q, page, err)
		}
	}
	all, err := c.Sources(ctx)
	if err != nil || len(all) != 3 {
		t.Fatalf("the sources are %+v, %v", all, err)
	}
	if s := all[0]; s.Name != "firn" || s.Sessions != 1 || s.Bytes == 0 || s.Dir != h.storePath() {
		t.Errorf("our own is %+v", s)
	}
	if s := all[1]; s.Name != name || s.Tool != "pi" || s.Dir != tool.home || s.Sessions != 1 || s.Taken != 1 || s.Bytes == 0 || s.Checked.IsZero() || len(s.Faults) != 0 {
		t.Errorf("the mirror is %+v", s)
	}
	if s := all[2]; s.Name != "zzz" || len(s.Faults) == 0 || s.Sessions != 0 {
		t.Errorf("the broken one is %+v", s)
	}
}

// TestVerifyAndStorage checks that a verification runs in the background and reports
// faults, and that storage is reported by location.
func TestVerifyAndStorage(t *testing.T) {
	h, c := openInstance(t, Options{})
	ctx := t.Context()
	s, err := c.NewSession(ctx, wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Append(ctx, s.ID, client.Any, wire.NewEntries{User: "hello"}); err != nil {
		t.Fatal(err)
	}
	gone, err := c.NewSession(ctx, wire.NewSession{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Remove(ctx, gone.ID, wire.Remove{Bin: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Memory.Remember(ctx, wire.MemoryPlace{}, wire.NewNote{Text: "tea is green", Name: "tea"}); err != nil {
		t.Fatal(err)
	}
	files, err := c.Session(ctx, string(s.ID))
	if err != nil || len(files.Files) != 1 {
		t.Fatal(files.Files, err)
	}
	file := files.Files[0]
	if !filepath.IsAbs(file) {
		file = filepath.Join(h.home(), file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(string(data), `"hello"`, `"hel{o`, 1) + string(data[strings.LastIndex(strings.TrimSpace(string(data)), "\n")+1:])
	if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Verify(ctx); err != nil {
		t.Fatal(err)
	}
	var ops wire.Ops
	for ops.Verified == nil || ops.Verified.Done.IsZero() { // poll until done, as a page does
		if ops, err = c.Ops(ctx); err != nil {
			t.Fatal(err)
		}
	}
	v := ops.Verified
	if v.Error != "" || v.Sessions == 0 || v.Sessions != v.Of || len(v.Faults) == 0 || v.Faults[0].Session != string(s.ID) || v.Faults[0].What == "" {
		t.Errorf("the check found %+v", v)
	}
	if st := ops.Storage; st.Sessions == 0 || st.Index == 0 || st.Bin == 0 || st.Memory == 0 || st.Total == 0 || st.Free == 0 || st.Free > st.Total {
		t.Errorf("kept: %+v", st)
	}
}

// TestEditNote checks that only the text of a note is replaced, and that the edit can be
// undone.
func TestEditNote(t *testing.T) {
	_, c := openInstance(t, Options{})
	ctx, at := t.Context(), wire.MemoryPlace{}
	if _, err := c.Memory.Remember(ctx, at, wire.NewNote{Text: "It is green.", Name: "Green Tea", Type: "taste", Description: "what tea"}); err != nil {
		t.Fatal(err)
	}
	edited, err := c.Memory.Edit(ctx, at, "green-tea", "It is black.\n\nAlways.")
	if err != nil || edited.Change == "" || edited.Note != "green-tea" {
		t.Fatalf("edited it is %+v, %v", edited, err)
	}
	note, err := c.Memory.Note(ctx, at, "green-tea")
	if err != nil || strings.TrimSpace(note.Body) != "It is black.\n\nAlways." || note.Title != "Green Tea" || note.Type != "taste" || note.Description != "what tea" {
		t.Errorf("it is %+v, %v", note, err)
	}
	if _, err := c.Memory.Undo(ctx, at, edited.Change, wire.UndoMemory{}); err != nil {
		t.Fatal(err)
	}
	if note, err = c.Memory.Note(ctx, at, "green-tea"); err != nil || !strings.Contains(note.Body, "green") {
		t.Errorf("undone it is %+v, %v", note, err)
	}
	for ref, kind := range map[string]wire.Kind{"nothing": wire.NotFound, "user/green-tea": wire.NotFound} {
		if _, err := c.Memory.Edit(ctx, at, ref, "x"); wire.KindOf(err) != kind {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := c.Memory.Edit(ctx, at, "green-tea", "  "); wire.KindOf(err) != wire.Invalid {
		t.Errorf("a note of nothing: %v", err)
	}
	kept, err := c.Memory.Remember(ctx, at, wire.NewNote{Text: "a fact of the day"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Memory.Edit(ctx, at, kept.Note, "x"); wire.KindOf(err) != wire.Unsupported {
		t.Errorf("the facts of a day: %v", err)
	}
}
