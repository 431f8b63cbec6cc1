package cersei

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/dialecttest"
)

// scan reads lines as one transcript; the lines may be in several files.
func scan(t testing.TB, texts ...string) []firn.Entry {
	t.Helper()
	s := New(Options{}).Scanner(dialect.Origin{Transcript: dialect.Transcript{ID: "s"}})
	var entries []firn.Entry
	for line := range strings.Lines(strings.Join(texts, "")) {
		found, err := s.Scan([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatalf("Scan(%s): %v", line, err)
		}
		entries = append(entries, found...)
	}
	return append(entries, s.Finish()...)
}

// read reads a file of the corpus.
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
		return "header " + string(b.Session) + " " + b.CWD
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
		case firn.Thinking:
			words = append(words, "("+p.Text+")")
		default:
			words = append(words, fmt.Sprintf("%T", p))
		}
	}
	return strings.Join(words, "|")
}

// sent returns the messages on the path to the last entry that are sent to the model.
func sent(entries []firn.Entry) (all []string) {
	var tree firn.Tree
	for i, e := range entries {
		tree.Add(firn.Pos(i), firn.GlanceOf(e))
	}
	hidden, index := tree.Hidden(), make(map[firn.EntryID]int)
	last := -1
	for i, e := range entries {
		index[e.ID] = i
		if _, ok := e.Body.(*firn.Compaction); ok && !hidden[e.ID] {
			last = i
		}
	}
	from := 0
	if last >= 0 {
		c := entries[last].Body.(*firn.Compaction)
		all = append(all, "summary "+c.Summary)
		from = last
		if i, ok := index[c.FirstKept]; ok {
			from = min(from, i)
		}
	}
	for _, e := range entries[from:] {
		if m, ok := e.Body.(*firn.Message); ok && !hidden[e.ID] {
			all = append(all, string(m.Role)+" "+parts(m.Parts))
		}
	}
	return all
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestSuite(t *testing.T) {
	dialecttest.RunTool(t, New(Options{}), os.DirFS("testdata"))
	dialecttest.RunTool(t, New(Options{ForClaude: true}), os.DirFS("testdata"))
}

// TestScanTranscript reads a transcript of two parts. The tombstone in the second one
// refers to the first; the summary replaces eight messages, which is more than there are,
// so no earlier message is kept.
func TestScanTranscript(t *testing.T) {
	entries := scan(t, read(t, "abc12345-transcript.jsonl"), read(t, "abc12345-transcript_part2.jsonl"))
	const one, two, three, four, five = "a1b2c3d4-0000-4000-8000-000000000001", "c3d4e5f6-0000-4000-8000-000000000002",
		"e5f60718-0000-4000-8000-000000000003", "11112222-0000-4000-8000-000000000004", "33334444-0000-4000-8000-000000000005"
	equal(t, "entries", words(entries), []string{
		" header s /project",
		one + " user fix the tests",
		two + ` assistant Reading.|Read#toolu_1{"file_path":"/project/a.rs"}`,
		three + " toolResult =Read#toolu_1:fn main() {}",
		"l000004 hides " + three,
		four + " compaction User asked to fix tests. from " + four,
		"l000006 line cersei:future-type",
		"l000007 hides " + one,
		five + " user part two",
	})
	equal(t, "a model is sent", sent(entries), []string{"summary User asked to fix tests.", "user part two"})
	for i, e := range entries[2:] {
		if e.Parent != entries[i+1].ID {
			t.Errorf("%s follows %s, want the one before it", e.ID, e.Parent)
		}
	}
	m := entries[2].Body.(*firn.Message)
	if got := string(m.Extra.Get(dialect.ResponseID)); got != `"msg_1"` || m.StopReason != firn.StopToolUse {
		t.Errorf("the answer has the id %s and stopped for %q", got, m.StopReason)
	}
	if got := entries[1].Time.Format("15:04:05.999999999"); got != "10:00:00.123" {
		t.Errorf("the time of the first message is %s", got)
	}
}

func TestScanBare(t *testing.T) {
	entries := scan(t, read(t, "my-session-jsonlmemory.jsonl"))
	equal(t, "entries", words(entries), []string{
		" header s ", "l000001 user What files are in src/?", "l000002 assistant main.rs",
	})
	m := entries[2].Body.(*firn.Message)
	if m.Model != "claude-sonnet-4-6" || m.Usage == nil || m.Usage.Input != 10 || m.Usage.Output != 2 || m.Usage.Total != 12 || m.StopReason != firn.StopEnd {
		t.Errorf("the answer is %+v with usage %+v", m, m.Usage)
	}
}

// user returns the line of a user message.
func user(uuid, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":%q,"timestamp":"2026-04-03T10:00:00Z","session_id":"abc","cwd":"/p","message":{"role":"user","content":%s},"is_sidechain":false}`+"\n", uuid, text)
}

func tombstone(uuid string) string {
	return fmt.Sprintf(`{"type":"tombstone","deleted_uuid":%q,"timestamp":"2026-04-03T10:00:00Z"}`+"\n", uuid)
}

func summary(uuid string, n int) string {
	return fmt.Sprintf(`{"type":"summary","uuid":%q,"timestamp":"2026-04-03T10:00:00Z","session_id":"abc","summary":"S-%s","messages_compacted":%d}`+"\n", uuid, uuid, n)
}

func TestTombstones(t *testing.T) {
	for _, c := range []struct {
		name, lines string
		want        []string
	}{
		{"behind", user("a", `"A"`) + user("b", `"B"`) + tombstone("a"), []string{"user B"}},
		{"before", tombstone("a") + user("a", `"A"`) + user("b", `"B"`), []string{"user B"}},
		{"of a missing message", tombstone("x") + user("a", `"A"`), []string{"user A"}},
		{"twice", user("a", `"A"`) + tombstone("a") + tombstone("a") + user("b", `"B"`), []string{"user B"}},
		{"of copies", user("a", `"A"`) + user("a", `"A2"`) + user("b", `"B"`) + tombstone("a") + user("a", `"A3"`), []string{"user B"}},
		{"copies live", user("a", `"A"`) + user("a", `"A2"`), []string{"user A", "user A2"}},
		{"of a summary", user("a", `"A"`) + summary("s", 1) + tombstone("s"), []string{"user A"}},
		{"of a line of several results", user("r", `[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"tool_result","tool_use_id":"2","content":"y"},{"type":"text","text":"and"}]`) + user("b", `"B"`) + tombstone("r"), []string{"user B"}},
		{"before a line of several", tombstone("r") + user("r", `[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"text","text":"and"}]`) + user("b", `"B"`), []string{"user B"}},
		{"of an id that is ours", tombstone("l000002") + user("a", `"A"`) + user("l000001", `"L"`), []string{"user A", "user L"}},
	} {
		equal(t, c.name, sent(scan(t, c.lines)), c.want)
	}
}

func TestSummaries(t *testing.T) {
	five := user("a", `"A"`) + user("b", `"B"`) + user("c", `"C"`) + user("d", `"D"`) + user("e", `"E"`)
	inline := func(uuid, mark string) string {
		line := user(uuid, `"<context_summary>\nThe following is a summary of the conversation so far:\n\nS-`+uuid+`\n</context_summary>"`)
		return strings.Replace(line, `"is_sidechain":false`, `"is_sidechain":false`+mark, 1)
	}
	for _, c := range []struct {
		name, lines string
		want        []string
	}{
		{"keeps the rest", five + summary("s", 3) + user("f", `"F"`), []string{"summary S-s", "user D", "user E", "user F"}},
		{"keeps nothing", five + summary("s", 5), []string{"summary S-s"}},
		{"of none", five + summary("s", 0), []string{"summary S-s", "user A", "user B", "user C", "user D", "user E"}},
		{"of less than none", user("a", `"A"`) + summary("s", -7), []string{"summary S-s", "user A"}},
		{"of nothing", summary("s", 7) + user("a", `"A"`), []string{"summary S-s", "user A"}},
		{"a second counts the first", five + summary("s", 3) + user("f", `"F"`) + summary("t", 2), []string{"summary S-t", "user E", "user F"}},
		{"deleted ones count", five + tombstone("a") + summary("s", 3), []string{"summary S-s", "user D", "user E"}},
		{"as a message, first", inline("s", "") + user("a", `"A"`), []string{"summary S-s", "user A"}},
		{"as a message, deletes nothing", five + inline("s", ""), []string{"summary S-s", "user A", "user B", "user C", "user D", "user E"}},
		{"as a message, marked", five + inline("s", `,"extra":{"firn":{"compaction":true,"first_kept":"d","tokens_before":9}}`) + tombstone("a") + tombstone("b") + tombstone("c") + user("f", `"F"`), []string{"summary S-s", "user D", "user E", "user F"}},
		{"a mark that keeps nothing", five + inline("s", `,"extra":{"firn":{"compaction":true}}`), []string{"summary S-s"}},
	} {
		equal(t, c.name, sent(scan(t, c.lines)), c.want)
	}
	// Tombstones only for Cersei hide nothing in firn: the compaction can be undone.
	marked := scan(t, five, inline("s", `,"extra":{"firn":{"compaction":true,"first_kept":"d"}}`), tombstone("a"), tombstone("b"), tombstone("c"), tombstone("d"), tombstone("s"))
	equal(t, "undone", sent(marked), []string{"user A", "user B", "user C", "user E"})
}

// TestCarried reads lines that are not sent to the model: none is dropped or
// misinterpreted.
func TestCarried(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"type":"user","uuid":"a","message":{"role":"user","content":"x"},"is_sidechain":true}`, "a line cersei:user"},
		{`{"type":"user","uuid":"a"}`, "a line cersei:user"},
		{`{"type":"user","uuid":"a","message":{"role":"user","content":5}}`, "a line cersei:user"},
		{`{"type":"summary","summary":"x","leafUuid":"y"}`, "l000001 line cersei:summary"},
		{`{"type":"tombstone"}`, "l000001 line cersei:tombstone"},
		{`{"type":5,"uuid":null}`, "l000001 line cersei:"},
		{`{"role":"robot","content":"x"}`, "l000001 line cersei:"},
		{`{}`, "l000001 line cersei:"},
		{`{"type":"user","uuid":"a","message":{"content":"x"}}`, "a user x"},
		{`{"type":"user","message":{"role":"user","content":"x"}}`, "l000001 user x"},
		{`{"type":"system","uuid":"a","message":{"role":"system","content":"be kind"}}`, "a system be kind"},
		{`{"type":"title","title":"T"}`, "l000001 title T"},
	} {
		got := words(scan(t, c.line))
		if len(got) != 2 || got[1] != c.want {
			t.Errorf("%s is read as %q, want %q", c.line, got, c.want)
		}
	}
}

func TestCorrupt(t *testing.T) {
	s := New(Options{}).Scanner(dialect.Origin{})
	for _, line := range []string{"", "x", "[]", `{"type":"user"`, `{"a":1}{"b":2}`} {
		if _, err := s.Scan([]byte(line)); !errors.Is(err, firn.ErrCorrupt) {
			t.Errorf("Scan(%q) fails with %v, want ErrCorrupt", line, err)
		}
	}
	if got, err := s.Scan([]byte(`{"role":"user","content":"hi"}`)); err != nil || len(got) != 2 {
		t.Errorf("after bad lines a good one gives %v, %v", got, err)
	}
}

// TestEveryLineCounts truncates the files at every byte: every complete line is read.
func TestEveryLineCounts(t *testing.T) {
	for _, name := range []string{"abc12345-transcript.jsonl", "my-session-jsonlmemory.jsonl"} {
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
			if entries += len(s.Finish()); entries != whole+1 {
				t.Fatalf("%s cut at %d: %d entries of %d lines", name, end, entries, whole)
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, name := range []string{"abc12345-transcript.jsonl", "abc12345-transcript_part2.jsonl", "my-session-jsonlmemory.jsonl"} {
		f.Add([]byte(read(f, name)))
	}
	f.Add([]byte(tombstone("a") + user("a", `[{"type":"tool_result","tool_use_id":"1"}]`) + summary("s", 1) + user("a.1", `"x"`) + user("a~2", `"x"`) + user("a", `"x"`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := New(Options{}).Scanner(dialect.Origin{})
		p := New(Options{}).Printer(dialect.Target{Session: "s"})
		seen := map[firn.EntryID]bool{"": true}
		var entries []firn.Entry
		for line := range bytes.SplitSeq(text, []byte{'\n'}) {
			found, err := s.Scan(line)
			if err == nil && len(found) == 0 {
				t.Fatalf("%q is not reported", line)
			}
			entries = append(entries, found...)
		}
		for i, e := range append(entries, s.Finish()...) {
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
