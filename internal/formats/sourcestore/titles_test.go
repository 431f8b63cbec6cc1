package sourcestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
)

// filler returns messages of about 100 kB, more than a list reads at either end.
func filler(part string) (entries []firn.Entry) {
	for n := range 10 {
		entries = append(entries, firn.NewEntry(firn.UserText(fmt.Sprintf("%s %d ", part, n)+strings.Repeat("x", 5000)).Body),
			firn.NewEntry(firn.AssistantText(`the "title" is in \"custom-title\" `+strings.Repeat("y", 5000)).Body))
	}
	return entries
}

// listedAndRead returns the title of the only session of a store in its list, and according
// to all its entries.
func listedAndRead(t *testing.T, st *sourcestore.Store) (listed, read string) {
	t.Helper()
	n := 0
	for info, err := range st.List(t.Context(), store.Query{}) {
		if err != nil || info.Fault != "" {
			t.Fatal(err, info.Fault)
		}
		n++
		var gist store.Gist
		for rec, err := range st.Read(t.Context(), info.ID, store.Start) {
			if err != nil {
				t.Fatal(err)
			}
			if e, err := rec.Entry(); err == nil && rec.Gap == nil {
				gist.Add(e)
			}
		}
		listed, read = info.Title, gist.Info().Title
	}
	if n != 1 {
		t.Fatalf("%d sessions are listed", n)
	}
	return listed, read
}

// TestListedTitles writes titles by the user and automatic ones at the start, in the
// middle, and at the end of a long transcript of each tool. The list has the title that
// reading everything gives, also after the file has grown.
func TestListedTitles(t *testing.T) {
	kinds := []firn.Source{"none", firn.SourceUser, firn.SourceAuto}
	for _, tool := range dialects.All() {
		if tool.Name() == dialect.Codex || tool.Name() == dialect.CrabTalk {
			continue // Codex has titles in an index, see below, and CrabTalk in the first line
		}
		t.Run(string(tool.Name()), func(t *testing.T) {
			inMiddle := 0
			for combination := range 27 {
				home := t.TempDir()
				writer := open(t, home, tool, sourcestore.Options{InPlace: true})
				var reader *sourcestore.Store
				entries := []firn.Entry{firn.NewEntry(&firn.Header{CWD: "/home/u/x", Version: 3})}
				title := func(at int, name string) {
					if kind := kinds[at%3]; kind != "none" {
						entries = append(entries, firn.NewEntry(&firn.Title{Name: name, Source: kind}))
					}
				}
				write := func() {
					t.Helper()
					if _, err := writer.Append(t.Context(), "0b6f3f0e-4f6c-4c3e-9f1a-2f6d0c1b2a3d", store.Any, entries...); err != nil {
						t.Fatal(err)
					}
					entries = nil
					if reader == nil {
						reader = open(t, home, tool, sourcestore.Options{})
					}
					for name, st := range map[string]*sourcestore.Store{"a new reader": open(t, home, tool, sourcestore.Options{}), "a reader": reader} {
						if listed, read := listedAndRead(t, st); listed != read {
							t.Errorf("combination %d: %s lists %q, and reads %q", combination, name, listed, read)
						}
					}
				}
				title(combination, "early")
				entries = append(entries, filler("first")...)
				title(combination/3, "middle")
				entries = append(entries, filler("second")...)
				write()
				title(combination/9, "late")
				entries = append(entries, filler("third")...)
				write()
				if listed, _ := listedAndRead(t, reader); listed == "middle" || listed == "late" {
					inMiddle++
				}
			}
			if inMiddle == 0 {
				t.Error("no title was found in the middle")
			}
		})
	}
}

// TestListedNames checks the names of threads that Codex writes into transcripts.
func TestListedNames(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "sessions", "2026", "01", "02", "rollout-2026-01-02T03-04-05-11111111-1111-4111-8111-111111111111.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	meta := `{"timestamp":"2026-01-02T03:04:05.000Z","type":"session_meta","payload":{"id":"11111111-1111-4111-8111-111111111111","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w","originator":"codex_cli_rs","cli_version":"0.80.0","source":"cli"}}` + "\n"
	line := `{"timestamp":"2026-01-02T03:04:06.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` + strings.Repeat("x", 900) + `"}]}}` + "\n"
	name := `{"timestamp":"2026-01-02T03:04:06.000Z","type":"event_msg","payload":{"type":"thread_name_updated","thread_name":"About snow"}}` + "\n"
	many := strings.Repeat(line, 200)
	if err := os.WriteFile(path, []byte(meta+many+name+many), 0o600); err != nil {
		t.Fatal(err)
	}
	tool, _ := dialects.Find(string(dialect.Codex))
	if listed, read := listedAndRead(t, open(t, home, tool, sourcestore.Options{})); listed != "About snow" || read != listed {
		t.Errorf("it lists %q and reads %q", listed, read)
	}
}

// TestListedSummaries checks titles whose effect depends on other lines: summaries of
// Claude Code, which are for this transcript or for another. The file is rewritten then.
func TestListedSummaries(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "projects", "-w", "aaaaaaaa-0000-4000-8000-000000000001.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	line := func(n int) string {
		return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"cwd":"/w","sessionId":"s","type":"user","message":{"role":"user","content":%q},"uuid":"bbbbbbbb-0000-4000-8000-%012d","timestamp":"2025-01-01T00:00:00.000Z"}`+"\n",
			strings.Repeat("x", 900), n)
	}
	summary := func(name string, leaf int) string {
		return fmt.Sprintf(`{"type":"summary","summary":%q,"leafUuid":"bbbbbbbb-0000-4000-8000-%012d"}`+"\n", name, leaf)
	}
	many := ""
	for n := range 200 {
		many += line(n)
	}
	tool, _ := dialects.Find(string(dialect.ClaudeCode))
	st := open(t, home, tool, sourcestore.Options{})
	for _, c := range []struct{ text, want string }{
		{many + summary("ours", 150) + many, "ours"},
		{many + summary("theirs", 9999) + many, ""},
		{many + `{"type":"ai-title","aiTitle":"automatic","sessionId":"s"}` + "\n" + many, "automatic"},
		{many + many + many, ""},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if listed, read := listedAndRead(t, st); listed != c.want || read != c.want {
			t.Errorf("it lists %q and reads %q, want %q", listed, read, c.want)
		}
	}
}
