package sourcestore_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
	"firn.dev/window"
)

// snapshot returns the contents of all files in a directory.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func open(t *testing.T, home string, tool dialect.Tool, opts sourcestore.Options) *sourcestore.Store {
	t.Helper()
	st, err := sourcestore.Open(home, tool, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// spoken returns the messages for the model, in short form.
func spoken(t *testing.T, st store.Store, id firn.ID) string {
	t.Helper()
	path, err := window.Collect(st.ReadBack(context.Background(), id, store.End))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, item := range window.Build(path, window.Options{}).Items {
		for _, p := range item.Message.Parts {
			switch p := p.(type) {
			case firn.Text:
				words = append(words, p.Text)
			case firn.ToolCall:
				words = append(words, "call:"+p.Name)
			case firn.ToolResult:
				words = append(words, "result:"+firn.JoinText(p.Content))
			}
		}
	}
	return strings.Join(words, " | ")
}

// talk returns a conversation with a call.
func talk() []firn.Entry {
	call := firn.NewEntry(&firn.Message{
		Role: firn.RoleAssistant, StopReason: firn.StopToolUse, Provider: "anthropic", Model: "m", API: "anthropic-messages",
		Usage: &firn.Usage{Input: 10, Output: 2, Total: 12},
		Parts: []firn.Part{firn.Text{Text: "Looking."}, firn.ToolCall{ID: "toolu_1", Name: "read", Arguments: []byte(`{"path":"a.txt"}`)}},
	})
	result := firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{
		firn.ToolResult{CallID: "toolu_1", Name: "read", Content: []firn.Part{firn.Text{Text: "what it says"}}},
	}})
	end := firn.NewEntry(firn.AssistantText("It says something.").Body)
	return []firn.Entry{
		firn.NewEntry(&firn.Header{CWD: "/home/u/x", Version: 3}),
		firn.NewEntry(firn.UserText("what does it say?").Body), call, result, end,
	}
}

const transcript = "what does it say? | Looking. | call:read | result:what it says | It says something."

// TestInPlace checks that a session can be created in every tool's folder and continued
// after reopening the store, with the same content for the tool.
func TestInPlace(t *testing.T) {
	for _, tool := range dialects.All() {
		t.Run(string(tool.Name()), func(t *testing.T) {
			home := t.TempDir()
			st := open(t, home, tool, sourcestore.Options{InPlace: true})
			ctx := t.Context()
			id := firn.ID("0b6f3f0e-4f6c-4c3e-9f1a-2f6d0c1b2a3d")
			if _, err := st.Append(ctx, id, store.Start, talk()...); err != nil {
				t.Fatal(err)
			}
			real := theOnly(t, home, tool)
			if got := spoken(t, open(t, home, tool, sourcestore.Options{}), real); got != transcript {
				t.Errorf("got\n%s\nwant\n%s", got, transcript)
			}
			again := open(t, home, tool, sourcestore.Options{InPlace: true})
			end, err := again.Append(ctx, real, store.Any, firn.NewEntry(firn.UserText("and now?").Body))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := again.Append(ctx, real, end, firn.AssistantText("Now too.")); err != nil {
				t.Fatal(err)
			}
			if got, want := spoken(t, open(t, home, tool, sourcestore.Options{}), real), transcript+" | and now? | Now too."; got != want {
				t.Errorf("then: got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// theOnly returns the ID of the only session of a home.
func theOnly(t *testing.T, home string, tool dialect.Tool) firn.ID {
	t.Helper()
	var ids []firn.ID
	for info, err := range open(t, home, tool, sourcestore.Options{}).List(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Fault != "" {
			t.Errorf("session %s: %s", info.ID, info.Fault)
		}
		ids = append(ids, info.ID)
	}
	if len(ids) != 1 {
		t.Fatalf("the home has sessions %v, and files %v", ids, snapshot(t, home))
	}
	return ids[0]
}

// TestHideInPlace checks that an entry hidden here is also hidden for the tool, and that
// written lines do not change.
func TestHideInPlace(t *testing.T) {
	for _, tool := range dialects.Others() {
		t.Run(string(tool.Name()), func(t *testing.T) {
			home := t.TempDir()
			ctx := t.Context()
			st := open(t, home, tool, sourcestore.Options{InPlace: true})
			entries := append(talk(), firn.NewEntry(firn.UserText("a secret").Body), firn.AssistantText("I forget it."), firn.NewEntry(firn.UserText("thanks").Body))
			if _, err := st.Append(ctx, "0b6f3f0e-4f6c-4c3e-9f1a-2f6d0c1b2a3d", store.Start, entries...); err != nil {
				t.Fatal(err)
			}
			id := theOnly(t, home, tool)
			secret := find(t, st, id, "a secret")
			if _, err := st.Append(ctx, id, store.Any, firn.Hide(secret)); err != nil {
				t.Fatal(err)
			}
			got := spoken(t, open(t, home, tool, sourcestore.Options{}), id)
			if strings.Contains(got, "a secret") {
				t.Errorf("it is still sent:\n%s", got)
			}
			// CrabTalk's compaction, which replaces the old beginning, is the first message
			// for CrabTalk and a summary for firn.
			if _, rest, _ := strings.Cut(transcript, " | "); !strings.Contains(got, rest) || !strings.Contains(got, "what does it say?") {
				t.Errorf("the previous text is missing:\n%s", got)
			}
			if _, err := st.Append(ctx, id, store.Any, firn.AssistantText("Welcome.")); err != nil {
				t.Fatal(err)
			}
			if got := spoken(t, open(t, home, tool, sourcestore.Options{}), id); strings.Contains(got, "a secret") || !strings.HasSuffix(got, "Welcome.") {
				t.Errorf("after continuing:\n%s", got)
			}
		})
	}
}

// find returns the user message with this text.
func find(t *testing.T, st store.Store, id firn.ID, text string) firn.EntryID {
	t.Helper()
	for record, err := range st.Read(t.Context(), id, store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := record.Entry()
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.Body.(*firn.Message); ok && m.Text() == text {
			return e.ID
		}
	}
	t.Fatalf("%q was never sent", text)
	return ""
}

// TestReadInPlace checks that reading changes nothing.
func TestReadInPlace(t *testing.T) {
	for _, tool := range dialects.All() {
		t.Run(string(tool.Name()), func(t *testing.T) {
			home := t.TempDir()
			if _, err := open(t, home, tool, sourcestore.Options{InPlace: true}).Append(t.Context(), "0b6f3f0e-4f6c-4c3e-9f1a-2f6d0c1b2a3d", store.Start, talk()...); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, home)
			id := theOnly(t, home, tool)
			st := open(t, home, tool, sourcestore.Options{})
			spoken(t, st, id)
			if _, err := st.Inspect(t.Context(), id); err != nil {
				t.Error(err)
			}
			if _, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(firn.UserText("no").Body)); err == nil {
				t.Error("it was written to")
			}
			after := snapshot(t, home)
			if len(after) != len(before) {
				t.Errorf("files were added or removed: %v", after)
			}
			for name, text := range before {
				if after[name] != text {
					t.Errorf("%s was changed", name)
				}
			}
			if owner, ok := dialects.OwnerOf(home); tool.Name() != dialect.Native && (!ok || owner.Name() != tool.Name()) {
				t.Errorf("the folder is treated as that of %v", owner)
			}
		})
	}
}

// TestFirstLine checks CrabTalk's first line with title and uptime, which is replaced as a
// whole; the creation time is kept.
func TestFirstLine(t *testing.T) {
	tool, _ := dialects.Find("crabtalk")
	home := t.TempDir()
	st := open(t, home, tool, sourcestore.Options{InPlace: true})
	header := firn.NewEntry(&firn.Header{})
	header.Time = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	asked := firn.NewEntry(firn.UserText("how long?").Body)
	asked.Time = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	answer := firn.NewEntry(firn.AssistantText("A while.").Body)
	answer.Time = asked.Time.Add(3500 * time.Millisecond)
	if _, err := st.Append(t.Context(), "new", store.Start, header, asked, answer); err != nil {
		t.Fatal(err)
	}
	id := theOnly(t, home, tool)
	end, err := st.Append(t.Context(), id, store.Any, firn.NewEntry(&firn.Title{Name: "Time flies"}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(t.Context(), id, end, firn.NewEntry(firn.UserText("go on").Body)); err != nil {
		t.Errorf("at the end that was returned: %v", err)
	}
	names, err := st.Files(t.Context(), id)
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	data, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	for _, want := range []string{`"title":"Time flies"`, `"uptime_secs":3`, `"created_at":"2026-02-03T04:05:06`} {
		if !strings.Contains(first, want) {
			t.Errorf("the first line is %s, without %s", first, want)
		}
	}
	if strings.Count(rest, "\n") != 3 {
		t.Errorf("the rest is\n%s", rest)
	}
}
