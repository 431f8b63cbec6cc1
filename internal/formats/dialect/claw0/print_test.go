package claw0

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

var noon = time.Date(2026, 11, 15, 2, 40, 47, 0, time.UTC)

// sessionPrinter writes a session.
type sessionPrinter struct {
	t       testing.TB
	printer dialect.Printer
	file    string
	losses  []string
	log     []firn.Entry
}

func newPen(t testing.TB, options Options, to dialect.Target) *sessionPrinter {
	p := &sessionPrinter{t: t}
	to.Created = noon
	to.OnLoss = func(l dialect.Loss) {
		p.losses = append(p.losses, fmt.Sprintf("%s %s %t", l.Entry, l.Limit, l.Dropped))
	}
	p.printer = New(options).Printer(to)
	return p
}

// add writes an entry.
func (p *sessionPrinter) add(id string, body firn.Body) string {
	p.t.Helper()
	e := firn.Entry{ID: firn.EntryID(id), Time: noon.Add(time.Duration(len(p.log)) * 1500 * time.Millisecond), Body: body}
	out, err := p.printer.Print(nil, e)
	if err != nil {
		p.t.Fatalf("Print(%s): %v", id, err)
	}
	p.log = append(p.log, e)
	p.file += string(out)
	return string(out)
}

func says(role firn.Role, parts ...firn.Part) *firn.Message {
	return &firn.Message{Role: role, Parts: parts}
}

func text(s string) firn.Text { return firn.Text{Text: s} }

// talk returns a conversation with every kind of line that claw0 has.
func talk() []firn.Body {
	return []firn.Body{
		&firn.Header{Session: "6916a7a2e793"},
		says(firn.RoleUser, text("read <it> \u00fc")),
		says(firn.RoleAssistant, text("Reading."), firn.ToolCall{ID: "tu_1", Name: "read_file", Arguments: []byte(`{"path":"a","n":[1,2]}`)}, firn.ToolCall{ID: "tu_2", Name: "ls", Arguments: []byte(`{}`)}),
		says(firn.RoleToolResult, firn.ToolResult{CallID: "tu_1", Content: []firn.Part{text("x\ny")}}),
		says(firn.RoleToolResult, firn.ToolResult{CallID: "tu_2", Content: []firn.Part{text("no")}, IsError: true}),
		says(firn.RoleAssistant, text("Done.")),
		&firn.Title{Name: "T", Source: firn.SourceUser},
		&firn.Compaction{Summary: "S", FirstKept: "e2", TokensBefore: 7},
		&firn.Tombstone{Target: "e2"},
	}
}

func TestPrintFirstVersion(t *testing.T) {
	p := newPen(t, Options{}, dialect.Target{Session: "6916a7a2e793", Key: "agent:main:cli:direct:user"})
	for i, b := range talk() {
		p.add(fmt.Sprintf("e%d", i), b)
	}
	want := `{"type": "session", "id": "6916a7a2e793", "key": "main:cli:user", "created": "2026-11-15T02:40:47+00:00"}
{"type": "user", "content": "read <it> ü", "ts": "2026-11-15T02:40:48.500000+00:00"}
{"type": "assistant", "content": "Reading.", "ts": "2026-11-15T02:40:50+00:00"}
{"type": "tool_use", "name": "read_file", "tool_use_id": "tu_1", "input": {"path": "a", "n": [1, 2]}, "ts": "2026-11-15T02:40:50+00:00"}
{"type": "tool_use", "name": "ls", "tool_use_id": "tu_2", "input": {}, "ts": "2026-11-15T02:40:50+00:00"}
{"type": "tool_result", "tool_use_id": "tu_1", "output": "x\ny", "ts": "2026-11-15T02:40:51.500000+00:00"}
{"type": "tool_result", "tool_use_id": "tu_2", "output": "no", "is_error": true, "ts": "2026-11-15T02:40:53+00:00"}
{"type": "assistant", "content": "Done.", "ts": "2026-11-15T02:40:54.500000+00:00"}
{"type": "title", "title": "T", "source": "user", "ts": "2026-11-15T02:40:56+00:00"}
{"type": "compaction", "summary": "S", "first_kept": -7, "tokens_before": 7, "ts": "2026-11-15T02:40:57.500000+00:00"}
{"type": "tombstone", "target": -8, "ts": "2026-11-15T02:40:59+00:00"}
{"type": "tombstone", "target": -8, "ts": "2026-11-15T02:40:59+00:00"}
{"type": "tombstone", "target": -8, "ts": "2026-11-15T02:40:59+00:00"}
`
	if p.file != want {
		t.Errorf("written:\n%swant\n%s", p.file, want)
	}
	equal(t, "losses", p.losses, []string{"e4 failures of tools false", "e6 titles false", "e7 compactions false", "e8 hiding false"})
	equal(t, "read again", words(scan(t, p.file))[9:], []string{"l000010 compaction S from l000003", "l000011 hides l000003", "l000012 hides l000004", "l000013 hides l000005"})
}

func TestPrintCurrentVersion(t *testing.T) {
	p := newPen(t, Options{Current: true}, dialect.Target{Session: "6916a7a2e793"})
	for i, b := range talk()[:7] {
		p.add(fmt.Sprintf("e%d", i), b)
	}
	want := `{"type": "user", "content": "read <it> ü", "ts": 1794710448.5}
{"type": "assistant", "content": [{"type": "text", "text": "Reading."}, {"type": "tool_use", "id": "tu_1", "name": "read_file", "input": {"path": "a", "n": [1, 2]}}, {"type": "tool_use", "id": "tu_2", "name": "ls", "input": {}}], "ts": 1794710450.0}
{"type": "tool_result", "tool_use_id": "tu_1", "content": "x\ny", "ts": 1794710451.5}
{"type": "tool_result", "tool_use_id": "tu_2", "content": "no", "is_error": true, "ts": 1794710453.0}
{"type": "assistant", "content": [{"type": "text", "text": "Done."}], "ts": 1794710454.5}
{"type": "title", "title": "T", "source": "user", "ts": 1794710456.0}
`
	if p.file != want {
		t.Errorf("written:\n%swant\n%s", p.file, want)
	}
}

// rebuild builds the history of a transcript as claw0's code does, in either version: calls
// wait for another kind of line, unknown lines are skipped.
func rebuild(t *testing.T, file string, current bool) (all []turn) {
	t.Helper()
	var waiting []any
	flush := func() {
		if waiting != nil {
			all = append(all, turn{"assistant", waiting})
		}
		waiting = nil
	}
	for line := range strings.Lines(file) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		answer := e["output"]
		if current {
			answer = e["content"]
		}
		switch e["type"] {
		case "user", "assistant":
			flush()
			all = append(all, turn{e["type"].(string), e["content"]})
		case "tool_use":
			waiting = append(waiting, map[string]any{"type": "tool_use", "id": e["tool_use_id"], "name": e["name"], "input": e["input"]})
		case "tool_result":
			flush()
			all = append(all, turn{"user", []any{map[string]any{"type": "tool_result", "tool_use_id": e["tool_use_id"], "content": answer}}})
		}
	}
	flush()
	return merged(all)
}

// TestClaw0Reads rebuilds printed transcripts with claw0's own rules: the provider receives
// every call once, directly followed by its result.
func TestClaw0Reads(t *testing.T) {
	for _, current := range []bool{false, true} {
		p := newPen(t, Options{Current: current}, dialect.Target{Session: "s"})
		for i, b := range talk() {
			p.add(fmt.Sprintf("e%d", i), b)
		}
		got, want := rebuild(t, p.file, current), history(t, p.log)
		if len(want) != 4 || !reflect.DeepEqual(got, want) {
			t.Errorf("current %t: claw0 makes\n%v\nof it, want\n%v", current, got, want)
		}
	}
	for name, current := range map[string]bool{"seedversion_main_cli_user.jsonl": false, "currentversion.jsonl": true} {
		p := newPen(t, Options{Current: current}, dialect.Target{Session: "s"})
		for _, e := range scan(t, read(t, name)) {
			if _, line := e.Body.(*firn.Custom); !line { // a call that is written twice
				p.add(string(e.ID), e.Body)
			}
		}
		got, want := rebuild(t, p.file, current), history(t, scan(t, read(t, name)))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: claw0 makes\n%v\nof it, want\n%v", name, got, want)
		}
	}
}

// TestAppendKeepsVersion appends to files of either version regardless of the options.
func TestAppendKeepsVersion(t *testing.T) {
	for name, want := range map[string]string{
		"seedversion_main_cli_user.jsonl": `{"type": "user", "content": "more", "ts": "2026-11-15T02:40:47+00:00"}`,
		"currentversion.jsonl":            `{"type": "user", "content": "more", "ts": 1794710447.0}`,
	} {
		p := newPen(t, Options{Current: strings.HasPrefix(name, "seed")}, dialect.Target{Session: "s"})
		p.file = read(t, name)
		s := New(Options{}).Scanner(dialect.Origin{})
		for line := range strings.Lines(p.file) {
			entries, err := s.Scan([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range entries {
				var lines [][]byte
				if i == len(entries)-1 {
					lines = [][]byte{[]byte(line)}
				}
				p.printer.Repeat(e, lines)
			}
		}
		if got := p.add("x", says(firn.RoleUser, text("more"))); got != want+"\n" {
			t.Errorf("%s continues with %s", name, got)
		}
		// Existing lines are referred to by number, new ones by a relative offset.
		p.add("y", &firn.Compaction{Summary: "S", FirstKept: "l000006"})
		p.add("z", &firn.Tombstone{Target: "x"})
		p.add("r", &firn.Tombstone{Target: "z"})
		entries := words(scan(t, p.file))
		n := strings.Count(read(t, name), "\n")
		equal(t, name, entries[len(entries)-4:], []string{
			fmt.Sprintf("l%06d user more", n+1), fmt.Sprintf("l%06d compaction S from l000006", n+2),
			fmt.Sprintf("l%06d hides l%06d", n+3, n+1), fmt.Sprintf("l%06d hides l%06d", n+4, n+3),
		})
	}
}

// TestPrintLosses writes entries without an equivalent in claw0.
func TestPrintLosses(t *testing.T) {
	for _, c := range []struct {
		body         firn.Body
		limit, texts string
	}{
		{&firn.Label{Target: "x", Name: "l"}, "labels true", ""},
		{&firn.ModelChange{Model: "m"}, "models and thinking levels true", ""},
		{&firn.ThinkingChange{Level: "high"}, "models and thinking levels true", ""},
		{&firn.Head{}, "branches true", ""},
		{&firn.Opaque{Type: "x", Raw: []byte(`{}`)}, "unknown entries true", ""},
		{&firn.Custom{Type: "mine", Data: []byte(`{}`)}, "custom entries true", ""},
		{&firn.Custom{Type: "claw0:x", Data: []byte(`{"type": "x"}`)}, "", "line claw0:x"},
		{&firn.CustomMessage{Parts: []firn.Part{text("c")}}, "injected messages false", "user c"},
		{&firn.BranchSummary{Summary: "B"}, "injected messages false", "user <branch_summary>\nB\n</branch_summary>"},
		{says(firn.RoleShell, firn.Shell{Command: "ls", Output: "a"}), "shell commands false", "user Ran `ls`\n```\na\n```"},
		{says(firn.RoleSystem, text("be kind")), "system prompts false", "system be kind"},
		{says(firn.RoleUser), "empty messages true", ""},
		{says(firn.RoleUser, text("a"), text("b")), "", "user a\nb"},
		{says(firn.RoleUser, text("a"), firn.Image{MimeType: "image/png", Data: "QUJD"}), "", "user a|firn.Image"},
		{says(firn.RoleUser, firn.OpaquePart{Type: "odd", Raw: []byte(`{"type":"odd"}`)}, text("x")), "unknown parts false", "user x"},
		{&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError}, "failed answers true,empty messages true", ""},
		{&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Parts: []firn.Part{firn.Thinking{Text: "t"}, text("half"), text(" "), firn.ToolCall{ID: "1", Name: "ls"}}}, "failed answers false", "assistant half"},
		{&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Parts: []firn.Part{firn.ToolCall{ID: "1", Name: "ls"}}}, "failed answers true,empty messages true", ""},
		{&firn.Message{Role: firn.RoleAssistant, Model: "m", Parts: []firn.Part{firn.Thinking{Text: "t"}, text("x")}}, "models and usage of answers false,thinking false", "assistant x"},
		{says(firn.RoleToolResult, firn.ToolResult{CallID: "1", Content: []firn.Part{text("r")}, Details: []byte(`{}`)}), "details of results false", "toolResult =#1:r"},
		{says("robot", text("x")), "unknown entries true", ""},
		{&firn.Tombstone{Target: "nobody"}, "hiding true", ""},
		{&firn.Compaction{}, "compactions true", ""},
		{&firn.Compaction{Summary: "S", FirstKept: "nobody"}, "compactions false", "compaction S from l000001"},
	} {
		p := newPen(t, Options{}, dialect.Target{Session: "s"})
		p.add("e", c.body)
		var limits, texts []string
		for _, l := range p.losses {
			limits = append(limits, strings.TrimPrefix(l, "e "))
		}
		for _, e := range scan(t, p.file)[1:] {
			texts = append(texts, word(e))
		}
		if got := strings.Join(limits, ","); got != c.limit {
			t.Errorf("%T: the losses are %q, want %q", c.body, got, c.limit)
		}
		if got := strings.Join(texts, ","); got != c.texts {
			t.Errorf("%T says %q, want %q", c.body, got, c.texts)
		}
	}
	if out, err := New(Options{}).Printer(dialect.Target{}).Print([]byte("x"), firn.Entry{}); err == nil || string(out) != "x" {
		t.Errorf("an empty entry gives %q, %v", out, err)
	}
}

// TestPrintAndScan writes conversations and reads them again: the messages for the provider
// are the same.
func TestPrintAndScan(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		words := rapid.StringMatching(`[a-z<é😀"\\ \n\t{}]{1,20}`)
		p := newPen(t, Options{Current: rapid.Bool().Draw(r, "current")}, dialect.Target{Session: "s"})
		p.add("", &firn.Header{Session: "s"})
		id, call := 0, 0
		add := func(b firn.Body) { id++; p.add(fmt.Sprintf("e%d", id), b) }
		for range rapid.IntRange(1, 6).Draw(r, "turns") {
			add(says(firn.RoleUser, text(words.Draw(r, "asked"))))
			var calls []firn.ToolCall
			parts := []firn.Part{text(words.Draw(r, "said"))}
			for range rapid.IntRange(0, 3).Draw(r, "calls") {
				call++
				c := firn.ToolCall{ID: fmt.Sprintf("c%d", call), Name: "tool", Arguments: []byte(`{"a": [1, 2.0]}`)}
				calls, parts = append(calls, c), append(parts, c)
			}
			add(says(firn.RoleAssistant, parts...))
			for _, c := range calls {
				add(says(firn.RoleToolResult, firn.ToolResult{CallID: c.ID, Name: c.Name, Content: []firn.Part{text(words.Draw(r, "result"))}}))
			}
			if rapid.Bool().Draw(r, "titled") {
				add(&firn.Title{Name: words.Draw(r, "title")})
			}
			if rapid.Bool().Draw(r, "compacted") {
				add(&firn.Compaction{Summary: words.Draw(r, "summary"), FirstKept: firn.EntryID(fmt.Sprintf("e%d", rapid.IntRange(1, id).Draw(r, "kept")))})
			}
		}
		entries := scan(t, p.file)
		if got, want := history(t, entries), history(t, p.log); !reflect.DeepEqual(got, want) {
			r.Fatalf("read\n%v\nwant\n%v", got, want)
		}
		if got, want := marks(t, entries), marks(t, p.log); !slices.Equal(got, want) {
			r.Fatalf("read\n%q\nwant\n%q", got, want)
		}
	})
}

// marks returns titles and compactions, the latter with the history that they keep.
func marks(t *testing.T, entries []firn.Entry) (all []string) {
	t.Helper()
	for i, e := range entries {
		switch b := e.Body.(type) {
		case *firn.Title:
			all = append(all, b.Name)
		case *firn.Compaction:
			first := slices.IndexFunc(entries, func(e firn.Entry) bool { return e.ID == b.FirstKept })
			all = append(all, b.Summary+fmt.Sprint(history(t, entries[first:i])))
		}
	}
	return all
}
