package claudecode

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// script builds a transcript from short lines "type uuid parent words", where words may be
// k=v members; parent "-" is null and "." is missing.
func script(text string) []byte {
	var b strings.Builder
	for i, s := range strings.Split(strings.TrimSpace(text), "\n") {
		f := strings.Fields(s)
		if strings.HasPrefix(strings.TrimSpace(s), "{") {
			b.WriteString(strings.TrimSpace(s) + "\n")
			continue
		}
		parent := `"parentUuid":"` + f[2] + `",`
		switch f[2] {
		case "-":
			parent = `"parentUuid":null,`
		case ".":
			parent = ""
		}
		content, id, more := `[{"type":"text","text":"`+f[1]+`"}]`, "m"+f[1], ""
		for _, w := range f[3:] {
			k, v, _ := strings.Cut(w, "=")
			switch k {
			case "call":
				content = `[{"type":"tool_use","id":"` + v + `","name":"Read","input":{}}]`
			case "result":
				content = `[{"type":"tool_result","tool_use_id":"` + v + `","content":"ok"}]`
			case "id":
				id = v
			default:
				more += `,"` + k + `":` + v
			}
		}
		message := `,"message":{"id":"` + id + `","role":"` + f[0] + `","content":` + content + `,"usage":{"input_tokens":5,"output_tokens":2}}`
		if f[0] != "user" && f[0] != "assistant" {
			message = ""
		}
		fmt.Fprintf(&b, `{%s"type":"%s","uuid":"%s","timestamp":"2026-01-01T00:00:%02d.000Z","sessionId":"s","cwd":"/w"%s%s}`+"\n", parent, f[0], f[1], i, message, more)
	}
	return []byte(b.String())
}

// TestPaths checks the path to the last entry by the names of the messages.
func TestPaths(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"a chain":                  {"user a -\nassistant b a\nuser c b", "a b c"},
		"a branch":                 {"user a -\nassistant b a\nuser c b\nuser d b\nassistant e d", "a b d e"},
		"an old branch gone on":    {"user a -\nassistant b a\nuser c b\nuser d b\nassistant e c", "a b c e"},
		"progress in the chain":    {"user a -\nprogress p a\nassistant b p\nprogress q b\nuser c q", "a b c"},
		"another root":             {"user a -\nassistant b a\nuser c -", "c"},
		"no parents at all":        {"user a .\nassistant b .\nuser c .", "a b c"},
		"a broken parent":          {"user a -\nassistant b a\nuser c nobody\nassistant d c", "a b c d"},
		"its own parent":           {"user a a\nassistant b a\nuser c c", "a b c"},
		"a circle":                 {"user a b\nassistant b a\nuser c b", "a b c"},
		"a sidechain within":       {"user a -\nassistant b a call=1\nuser x - isSidechain=true\nassistant y x isSidechain=true\nuser c b result=1", "a b c"},
		"a sidechain alone":        {"user x - isSidechain=true\nassistant y x isSidechain=true", "x y"},
		"a sidechain first":        {"user x - isSidechain=true\nuser a -\nassistant b a\nuser z x isSidechain=true", "a b"},
		"results aside":            {"assistant a - id=m call=1\nassistant b a id=m call=2\nuser r a result=1\nuser s b result=2\nassistant c s", "a b r s c"},
		"the first one continues":  {"assistant a - id=m call=1\nassistant b a id=m call=2\nuser r a result=1\nuser s b result=2\nassistant c r", "a b s r c"},
		"a piece after a result":   {"assistant a - id=m call=1\nassistant b a id=m call=2\nuser r a result=1\nassistant c r id=m call=3\nuser s b result=2\nuser u c result=3\nuser v u", "a r c b s u v"},
		"a late result":            {"assistant a - id=m call=1\nassistant b a id=m call=2\nuser r b result=2\nuser c r\nuser s a result=1", "a b r c s"},
		"results at the end":       {"assistant a - id=m call=1\nassistant b a id=m call=2\nuser r a result=1\nuser s b result=2", "a b r s"},
		"a piece off the chain":    {"assistant a - id=m\nassistant b a id=m\nuser c a", "a b c"},
		"the same line twice":      {"user a -\nassistant b a\nuser c b\nuser c b\nassistant d c", "a b c d"},
		"a line again elsewhere":   {"user a -\nassistant b a\nuser c b\nassistant d c\nuser c a\nassistant d c", "a c~2 d~2"},
		"an earlier line again":    {"user a -\nassistant b a\nuser c b\nassistant b a\nuser d b", "a b d"},
		"the leaf is named":        {"user a -\nassistant b a\nuser c b\nuser d b\n" + `{"type":"last-prompt","leafUuid":"c","sessionId":"s"}` + "\nassistant e c", "a b c e"},
		"the named leaf is stale":  {"user a -\nassistant b a\n" + `{"type":"last-prompt","leafUuid":"a","sessionId":"s"}` + "\nuser c b", "a b c"},
		"a compaction":             {"user a -\nassistant b a\nsystem k - subtype=\"compact_boundary\" logicalParentUuid=\"b\"\nuser s k isCompactSummary=true\nuser c s", "a b (s keeps s) c"},
		"a boundary alone":         {"user a -\nassistant b a\nsystem k - subtype=\"compact_boundary\" logicalParentUuid=\"b\"\nuser c b", "a b c"},
		"a boundary at the end":    {"user a -\nassistant b a\nsystem k - subtype=\"compact_boundary\" logicalParentUuid=\"b\"", "a b"},
		"what a compaction keeps":  {"user a -\nassistant b a\nuser c b\nsystem k - subtype=\"compact_boundary\" logicalParentUuid=\"c\" compactMetadata={\"preservedSegment\":{\"headUuid\":\"b\",\"anchorUuid\":\"s\",\"tailUuid\":\"c\"}}\nuser s k isCompactSummary=true\nassistant d c", "a b c (s keeps b) d"},
		"a queue between":          {"user a -\n" + `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-01T00:00:01.000Z","sessionId":"s","content":"x"}` + "\nassistant b a", "a b"},
		"a summary without limits": {"user a -\nuser s - isCompactSummary=true\nassistant b s", "s b"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range pathOf(scanAll(t, "s.jsonl", script(c.script))) {
				switch b := e.Body.(type) {
				case *firn.Message:
					got = append(got, string(e.ID))
				case *firn.Compaction:
					got = append(got, fmt.Sprintf("(%s keeps %s)", e.ID, b.FirstKept))
				}
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// entryIn returns an entry by its ID.
func entryIn(t *testing.T, entries []firn.Entry, id firn.EntryID) firn.Entry {
	t.Helper()
	for _, e := range entries {
		if e.ID == id {
			return e
		}
	}
	t.Fatalf("no entry %s", id)
	return firn.Entry{}
}

func TestMessages(t *testing.T) {
	entries := scanAll(t, "s.jsonl", script(`
user a - isMeta=true gitBranch="main"
assistant b a id=m
assistant c b id=m call=1 requestId="req"
user r c result=1 toolUseResult={"stdout":"ok"} cwd="/elsewhere"
assistant e r isApiErrorMessage=true
{"parentUuid":"e","type":"user","uuid":"u","timestamp":"2026-01-01T00:01:00Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"text","text":"and"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}}
{"parentUuid":"u","type":"attachment","uuid":"q","timestamp":"2026-01-01T00:01:01Z","attachment":{"type":"queued_command","prompt":"by the way"}}`))
	header := entries[0].Body.(*firn.Header)
	if header.Session != "s" || header.CWD != "/w" || entries[0].Time.Second() != 0 {
		t.Errorf("the header is %+v", header)
	}
	if a := entryIn(t, entries, "a"); a.Extra.Get("isMeta") == nil || string(a.Extra.Get("gitBranch")) != `"main"` {
		t.Errorf("extra of a: %v", a.Extra)
	}
	b, c := entryIn(t, entries, "b").Body.(*firn.Message), entryIn(t, entries, "c").Body.(*firn.Message)
	if b.Usage == nil || b.Usage.Input != 5 || b.Usage.Total != 7 || c.Usage != nil {
		t.Errorf("the usage is reported by %v and %v", b.Usage, c.Usage)
	}
	if id := b.Extra.Get(dialect.ResponseID); string(id) != `"m"` || string(c.Extra.Get(dialect.ResponseID)) != string(id) {
		t.Errorf("the answer's id is %s", id)
	}
	if b.StopReason != firn.StopEnd || c.StopReason != firn.StopToolUse || b.API != api || b.Provider != provider {
		t.Errorf("stops %s, %s; by %s", b.StopReason, c.StopReason, b.Provider)
	}
	r := entryIn(t, entries, "r")
	if p := r.Body.(*firn.Message).Parts[0].(firn.ToolResult); p.Name != "Read" || string(p.Details) != `{"stdout":"ok"}` || string(r.Extra.Get("cwd")) != `"/elsewhere"` {
		t.Errorf("the result is %+v, %v", p, r.Extra)
	}
	if e := entryIn(t, entries, "e").Body.(*firn.Message); e.StopReason != firn.StopError || e.Error != "e" {
		t.Errorf("the error is %+v", e)
	}
	first, last := entryIn(t, entries, "u.1").Body.(*firn.Message), entryIn(t, entries, "u")
	if first.Role != firn.RoleToolResult || len(last.Body.(*firn.Message).Parts) != 2 || last.Parent != "u.1" {
		t.Errorf("a line with two messages is %+v and %+v", first, last)
	}
	if q := entryIn(t, entries, "q").Body.(*firn.Message); q.Role != firn.RoleUser || q.Text() != "by the way" {
		t.Errorf("a queued command is %+v", q)
	}
}

func TestTitles(t *testing.T) {
	lines := `user a -
{"type":"summary","summary":"of another","leafUuid":"x"}
{"type":"summary","summary":"made up","leafUuid":"a"}
{"type":"ai-title","aiTitle":"better","sessionId":"s"}
{"type":"custom-title","customTitle":"mine","sessionId":"s"}
{"type":"custom-title","customTitle":"mine","sessionId":"s"}
{"type":"tag","tag":"x","sessionId":"s"}
{"type":"custom-title","customTitle":"","sessionId":"s"}`
	var got []string
	for _, e := range scanAll(t, "s.jsonl", script(lines)) {
		switch b := e.Body.(type) {
		case *firn.Title:
			got = append(got, fmt.Sprintf("%s by %s", b.Name, b.Source))
		case *firn.Custom:
			got = append(got, b.Type)
		}
	}
	want := "claudecode:summary, made up by auto, better by auto, mine by user, claudecode:custom-title, claudecode:tag,  by user"
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s := New().Scanner(dialect.Origin{Transcript: dialect.Transcript{Title: "beside"}})
	entries, err := s.Scan(script("user a -"))
	if err != nil || len(entries) != 3 || entries[1].Body.(*firn.Title).Name != "beside" || entries[2].Parent != entries[1].ID {
		t.Errorf("a title next to the file: %v, %v", entries, err)
	}
}

// TestCutAnywhere reads transcripts truncated after every line and at random bytes.
func TestCutAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, file := range corpus(t) {
		if len(file.Data) > 50_000 {
			continue // the suite truncates them in fewer places
		}
		for end := range file.Data {
			if file.Data[end] == '\n' || random.IntN(50) == 0 {
				scanQuietly(file.Data[:end])
			}
		}
	}
}

func scanQuietly(data []byte) {
	s := New().Scanner(dialect.Origin{})
	for line := range strings.SplitSeq(string(data), "\n") {
		s.Scan([]byte(line))
	}
	s.Finish()
}

// FuzzScan checks that arbitrary lines form a tree and can be printed.
func FuzzScan(f *testing.F) {
	for _, file := range corpus(f) {
		if len(file.Data) < 6_000 {
			f.Add(file.Data)
		}
	}
	f.Add(script("user a -\nassistant b a id=m call=1\nassistant c b id=m call=2\nuser r b result=1\nuser s c result=2\nuser s b result=2\nprogress p s\nsystem k - subtype=\"compact_boundary\" logicalParentUuid=\"s\"\nuser x k isCompactSummary=true"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New().Scanner(dialect.Origin{})
		var entries []firn.Entry
		for line := range strings.SplitSeq(string(data), "\n") {
			found, err := s.Scan([]byte(line))
			if err == nil {
				entries = append(entries, found...)
			}
		}
		entries = append(entries, s.Finish()...)
		seen := make(map[firn.EntryID]bool)
		p := New().Printer(dialect.Target{Session: "s"})
		var out []byte
		for i, e := range entries {
			if i > 0 && (e.ID == "" || seen[e.ID] || e.Parent != "" && !seen[e.Parent]) {
				t.Fatalf("entry %q under %q: no id of its own, or no parent before it", e.ID, e.Parent)
			}
			seen[e.ID] = true
			var err error
			if out, err = p.Print(out, e); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.Finish(out); err != nil {
			t.Fatal(err)
		}
	})
}
