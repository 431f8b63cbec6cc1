package claw0

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/dialecttest"
)

// scan reads lines as one transcript.
func scan(t testing.TB, text string) []firn.Entry {
	t.Helper()
	s := New(Options{}).Scanner(dialect.Origin{Transcript: dialect.Transcript{ID: "s"}})
	var entries []firn.Entry
	for line := range strings.Lines(text) {
		found, err := s.Scan([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatalf("Scan(%s): %v", line, err)
		}
		entries = append(entries, found...)
	}
	return append(entries, s.Finish()...)
}

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// words describes entries, one line each.
func words(entries []firn.Entry) []string {
	var all []string
	for _, e := range entries {
		all = append(all, string(e.ID)+" "+word(e))
	}
	return all
}

func word(e firn.Entry) string {
	switch b := e.Body.(type) {
	case *firn.Header:
		return "header " + string(b.Session) + " " + b.Agent + " " + b.Key
	case *firn.Message:
		return string(b.Role) + " " + parts(b.Parts)
	case *firn.Compaction:
		return "compaction " + b.Summary + " from " + string(b.FirstKept)
	case *firn.Tombstone:
		return "hides " + string(b.Target)
	case *firn.Title:
		return "title " + b.Name
	case *firn.Custom:
		return "line " + b.Type
	}
	return fmt.Sprintf("%T", e.Body)
}

func parts(all []firn.Part) string {
	var words []string
	for _, p := range all {
		switch p := p.(type) {
		case firn.Text:
			words = append(words, p.Text)
		case firn.ToolCall:
			words = append(words, p.Name+"#"+p.ID+string(p.Arguments))
		case firn.ToolResult:
			words = append(words, "="+p.Name+"#"+p.CallID+":"+parts(p.Content))
		default:
			words = append(words, fmt.Sprintf("%T", p))
		}
	}
	return strings.Join(words, "|")
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSuite(t *testing.T) {
	dialecttest.RunTool(t, New(Options{}), os.DirFS("testdata"))
	dialecttest.RunTool(t, New(Options{Current: true}), os.DirFS("testdata"))
}

func TestScanFirstVersion(t *testing.T) {
	entries := scan(t, read(t, "seedversion_main_cli_user.jsonl"))
	equal(t, "entries", words(entries), []string{
		" header s main agent:main:cli:direct:user",
		"l000002 user hello",
		"l000003 assistant Hi there!",
		"l000006 user read config.json",
		"l000007 assistant Reading.",
		`l000008 assistant read_file#tu_001{"path": "config.json"}`,
		"l000009 assistant list_directory#tu_002{}",
		`l000004 toolResult =read_file#tu_001:{"key": "value"}`,
		"l000005 toolResult =list_directory#tu_002:  [file] config.json  (16 bytes)",
		"l000010 assistant It says value.",
	})
	// The text and the calls of one response belong together; model output after the
	// results is another response.
	var answers []string
	for _, e := range entries[1:] {
		if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleAssistant {
			answers = append(answers, string(m.Extra.Get(dialect.ResponseID)))
		}
	}
	equal(t, "answers", answers, []string{`"l000003"`, `"l000007"`, `"l000007"`, `"l000007"`, `"l000010"`})
	if got := entries[8].Time.Format("05.000"); got != "47.796" {
		t.Errorf("the second result was written at %s", got)
	}
}

func TestScanCurrentVersion(t *testing.T) {
	equal(t, "entries", words(scan(t, read(t, "currentversion.jsonl"))), []string{
		" header s  ",
		"l000001 user hello",
		"l000002 assistant Hi there!",
		"l000003 user read config.json",
		`l000004 assistant Reading.|read_file#tu_001{"file_path": "config.json"}|list_directory#tu_002{}`,
		"l000005 line claw0:tool_use",
		`l000006 toolResult =read_file#tu_001:{"key": "value"}`,
		"l000007 line claw0:tool_use",
		"l000008 toolResult =list_directory#tu_002:[dir]  .sessions\n[file] config.json",
		"l000009 assistant It says value.",
	})
}

// turn is a message as sent to a provider.
type turn struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

// history returns the messages sent to a provider: adjacent ones of one role are merged, as
// providers require.
func history(t *testing.T, entries []firn.Entry) (all []turn) {
	t.Helper()
	for _, e := range entries {
		m, ok := e.Body.(*firn.Message)
		if !ok {
			continue
		}
		role := "user"
		if m.Role == firn.RoleAssistant {
			role = "assistant"
		}
		var blocks []any
		for _, p := range m.Parts {
			blocks = append(blocks, blockOf(t, p))
		}
		all = append(all, turn{role, blocks})
	}
	return merged(all)
}

func blockOf(t *testing.T, p firn.Part) any {
	t.Helper()
	switch p := p.(type) {
	case firn.Text:
		return map[string]any{"type": "text", "text": p.Text}
	case firn.ToolCall:
		var input any
		if err := json.Unmarshal(p.Arguments, &input); err != nil {
			t.Fatal(err)
		}
		return map[string]any{"type": "tool_use", "id": p.ID, "name": p.Name, "input": input}
	case firn.ToolResult:
		return map[string]any{"type": "tool_result", "tool_use_id": p.CallID, "content": parts(p.Content)}
	}
	t.Fatalf("a part is a %T", p)
	return nil
}

// merged merges adjacent messages of one role; strings become text blocks.
func merged(all []turn) (out []turn) {
	for _, m := range all {
		blocks, ok := m.Content.([]any)
		if !ok {
			blocks = []any{map[string]any{"type": "text", "text": m.Content}}
		}
		if n := len(out) - 1; n >= 0 && out[n].Role == m.Role {
			out[n].Content = append(out[n].Content.([]any), blocks...)
			continue
		}
		out = append(out, turn{m.Role, blocks})
	}
	return out
}

// memberOf returns a member of a block, "" if it has none.
func memberOf(block any, name string) string {
	m, _ := block.(map[string]any)
	s, _ := m[name].(string)
	return s
}

// TestGoldenFirstVersion compares with the history that claw0 itself rebuilt. In that
// history results precede their calls, which providers reject; so the results are moved
// after the message with their calls.
func TestGoldenFirstVersion(t *testing.T) {
	var golden struct{ History []turn }
	if err := json.Unmarshal([]byte(read(t, "seedversion_rebuilt_history.json")), &golden); err != nil {
		t.Fatal(err)
	}
	var results []any
	rest := slices.DeleteFunc(golden.History, func(m turn) bool {
		blocks, ok := m.Content.([]any)
		if ok && memberOf(blocks[0], "type") == "tool_result" {
			results = append(results, blocks...)
			return true
		}
		return false
	})
	var want []turn
	for _, m := range rest {
		want = append(want, m)
		if blocks, ok := m.Content.([]any); ok && memberOf(blocks[0], "type") == "tool_use" {
			want = append(want, turn{"user", results})
		}
	}
	got := history(t, scan(t, read(t, "seedversion_main_cli_user.jsonl")))
	if want = merged(want); len(results) != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("history:\n%v\nwant:\n%v", got, want)
	}
}

// TestGoldenCurrentVersion compares with the history that claw0 itself rebuilt. In that
// history each call occurs twice, the second time in a message that separates the results
// of one response; so duplicates are removed.
func TestGoldenCurrentVersion(t *testing.T) {
	var golden []turn
	if err := json.Unmarshal([]byte(read(t, "currentversion_rebuilt_history.json")), &golden); err != nil {
		t.Fatal(err)
	}
	seen, twice := make(map[string]bool), 0
	var want []turn
	for _, m := range golden {
		if blocks, ok := m.Content.([]any); ok {
			m.Content = slices.DeleteFunc(blocks, func(b any) bool {
				id := memberOf(b, "id")
				again := id != "" && seen[id]
				seen[id] = true
				if again {
					twice++
				}
				return again
			})
			if len(m.Content.([]any)) == 0 {
				continue
			}
		}
		want = append(want, m)
	}
	got := history(t, scan(t, read(t, "currentversion.jsonl")))
	if want = merged(want); twice != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("history:\n%v\nwant:\n%v", got, want)
	}
}

const (
	header  = `{"type": "session", "id": "6916a7a2e793", "key": "main:cli:user", "created": "2026-11-15T02:40:47+00:00"}` + "\n"
	callA   = `{"type": "tool_use", "name": "f", "tool_use_id": "A", "input": {}, "ts": "2026-11-15T02:40:47+00:00"}` + "\n"
	callB   = `{"type": "tool_use", "name": "g", "tool_use_id": "B", "input": {}, "ts": "2026-11-15T02:40:47+00:00"}` + "\n"
	resultA = `{"type": "tool_result", "tool_use_id": "A", "output": "a", "ts": "2026-11-15T02:40:47+00:00"}` + "\n"
	resultB = `{"type": "tool_result", "tool_use_id": "B", "output": "b", "ts": "2026-11-15T02:40:47+00:00"}` + "\n"
	user1   = `{"type": "user", "content": "1", "ts": "2026-11-15T02:40:47+00:00"}` + "\n"
	user2   = `{"type": "user", "content": "2", "ts": "2026-11-15T02:40:47+00:00"}` + "\n"
	saying  = `{"type": "assistant", "content": "x", "ts": "2026-11-15T02:40:47+00:00"}` + "\n"
)

func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name, lines string
		want        string
	}{
		{"as it should be", user1 + callA + resultA + saying, "user 1, assistant f#A{}, toolResult =f#A:a, assistant x"},
		{"one after the other", resultA + resultB + user1 + callA + saying + callB + saying, "user 1, assistant f#A{}, toolResult =f#A:a, assistant x, assistant g#B{}, toolResult =g#B:b, assistant x"},
		{"both at once", resultA + resultB + user1 + callA + callB + saying, "user 1, assistant f#A{}, assistant g#B{}, toolResult =f#A:a, toolResult =g#B:b, assistant x"},
		{"answered the other way round", resultB + resultA + user1 + callA + callB, "user 1, assistant f#A{}, assistant g#B{}, toolResult =g#B:b, toolResult =f#A:a"},
		{"an id that is used again", user1 + callA + resultA + resultA + user2 + callA + saying, "user 1, assistant f#A{}, toolResult =f#A:a, user 2, assistant f#A{}, toolResult =f#A:a, assistant x"},
		{"a turn that was not finished", resultA, "toolResult =#A:a"},
		{"one that was gone on with", resultA + resultB + user1 + callB + saying + user2 + saying, "user 1, assistant g#B{}, toolResult =g#B:b, assistant x, toolResult =#A:a, user 2, assistant x"},
		{"one in the middle of calls", user1 + callA, "user 1, assistant f#A{}"},
	} {
		var got []string
		for _, e := range scan(t, header+c.lines)[1:] {
			got = append(got, word(e))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, s, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"type":"user","content":"hi","ts":"2025-01-01T00:00:01Z"}`, "l000001 user hi"},
		{`{"type":"user","content":[{"type":"text","text":"hi"}],"ts":"..."}`, "l000001 user hi"},
		{`{"type":"user"}`, "l000001 line claw0:user"},
		{`{"type":"user","content":{}}`, "l000001 line claw0:user"},
		{`{"type":"assistant","content":5}`, "l000001 line claw0:assistant"},
		{`{"type":"tool_use","name":"f"}`, "l000001 line claw0:tool_use"},
		{`{"type":"tool_use","tool_use_id":"A","name":"f","input":[1]}`, `l000001 assistant f#A{"invalid":"[1]"}`},
		{`{"type":"tool_result","output":"x"}`, "l000001 line claw0:tool_result"},
		{`{"type":"tool_result","tool_use_id":"A","output":{"k":[1, 2]}}`, `l000001 toolResult =#A:{"k":[1, 2]}`},
		{`{"type":"heartbeat","x":1}`, "l000001 line claw0:heartbeat"},
		{`{"type":"compaction","summary":"S","first_kept":7}`, "l000001 compaction S from l000001"},
		{`{"type":"tombstone","target":-3}`, "l000001 line claw0:tombstone"},
		{`{}`, "l000001 line claw0:"},
	} {
		got := words(scan(t, c.line))
		if len(got) != 2 || got[1] != c.want {
			t.Errorf("%s is read as %q, want %q", c.line, got, c.want)
		}
	}
	if got := words(scan(t, user1+header)); len(got) != 3 || got[2] != "l000002 line claw0:session" {
		t.Errorf("a second header is read as %q", got)
	}
}

func TestCorrupt(t *testing.T) {
	s := New(Options{}).Scanner(dialect.Origin{})
	for _, line := range []string{"", "x", "[]", `{"type":"user"`, `{"a":1}{"b":2}`} {
		if _, err := s.Scan([]byte(line)); !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("Scan(%q) fails with %v, want ErrCorrupt", line, err)
		}
	}
}

// TestEveryLineCounts truncates the files at every byte: every complete line is read.
func TestEveryLineCounts(t *testing.T) {
	for _, name := range []string{"seedversion_main_cli_user.jsonl", "currentversion.jsonl"} {
		text := []byte(read(t, name))
		for end := range text {
			s := New(Options{}).Scanner(dialect.Origin{})
			whole, entries := 0, 0
			for line := range bytes.SplitSeq(text[:end], []byte{'\n'}) {
				found, err := s.Scan(line)
				entries += len(found)
				if err == nil {
					whole++
				}
			}
			want := whole + 1 // the header is synthesized
			if strings.HasPrefix(name, "seed") && whole > 0 {
				want = whole // or is a line
			}
			if entries += len(s.Finish()); entries != want {
				t.Fatalf("%s cut at %d: %d entries of %d lines", name, end, entries, whole)
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, name := range []string{"seedversion_main_cli_user.jsonl", "currentversion.jsonl"} {
		f.Add([]byte(read(f, name)))
	}
	f.Add([]byte(user1 + callA + resultA + resultA + user2 + callA + `{"type":"compaction","summary":"S","first_kept":-2}` + "\n" + `{"type":"tombstone","target":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := New(Options{}).Scanner(dialect.Origin{})
		p := New(Options{}).Printer(dialect.Target{Session: "s"})
		seen := map[firn.EntryID]bool{"": true}
		var entries []firn.Entry
		lines := 0
		for line := range bytes.SplitSeq(text, []byte{'\n'}) {
			found, err := s.Scan(line)
			if err == nil {
				lines++
			}
			entries = append(entries, found...)
		}
		entries = append(entries, s.Finish()...)
		if len(entries) < lines {
			t.Fatalf("%d entries of %d lines", len(entries), lines)
		}
		for i, e := range entries {
			if i > 0 && (seen[e.ID] || !seen[e.Parent]) {
				t.Fatalf("entry %d is %q after %q", i, e.ID, e.Parent)
			}
			seen[e.ID] = true
			if _, err := p.Print(nil, e); err != nil {
				t.Fatal(err)
			}
		}
	})
}
