package cersei

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

var noon = time.Date(2026, 4, 3, 10, 0, 0, 0, time.UTC)

// world is a session that is written for Cersei, together with firn's own log.
type world struct {
	t       testing.TB
	options Options
	inPlace bool
	log     []firn.Entry
	// lines are those written for each entry of the log.
	lines   [][][]byte
	file    string
	printer dialect.Printer
	losses  []dialect.Loss
}

// newWorld creates a session. In place, written entries are read again from the file, under
// their IDs there.
func newWorld(t testing.TB, options Options, inPlace bool) *world {
	w := &world{t: t, options: options, inPlace: inPlace}
	w.printer = w.newPrinter()
	return w
}

func (w *world) newPrinter() dialect.Printer {
	return New(w.options).Printer(dialect.Target{
		Session: "s", CWD: "/p", Created: noon, Written: w.written,
		OnLoss: func(l dialect.Loss) { w.losses = append(w.losses, l) },
	})
}

// written yields the written entries from since on.
func (w *world) written(since firn.EntryID) iter.Seq[dialect.EntryLines] {
	return func(yield func(dialect.EntryLines) bool) {
		entries, found := w.log, false
		if w.inPlace {
			entries = scan(w.t, w.file)
		}
		for _, e := range entries {
			found = found || e.ID == since || string(e.ID) == dialect.UUID("s", string(since))
			if found && !yield(dialect.EntryLines{Entry: e}) {
				return
			}
		}
	}
}

// reopen continues with another printer, to which the lines are repeated. In place they are
// read from the file, each line with its last entry.
func (w *world) reopen() {
	w.printer = w.newPrinter()
	if !w.inPlace {
		for i, e := range w.log {
			w.printer.Repeat(e, w.lines[i])
		}
		return
	}
	w.log, w.lines = nil, nil
	s := New(w.options).Scanner(dialect.Origin{Transcript: dialect.Transcript{ID: "s"}})
	for line := range strings.Lines(w.file) {
		entries, err := s.Scan([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			w.t.Fatal(err)
		}
		for i, e := range entries {
			var lines [][]byte
			if i == len(entries)-1 {
				lines = [][]byte{[]byte(strings.TrimSuffix(line, "\n"))}
			}
			w.log, w.lines = append(w.log, e), append(w.lines, lines)
			w.printer.Repeat(e, lines)
		}
	}
}

// add writes an entry.
func (w *world) add(t testing.TB, id string, body firn.Body) []byte {
	t.Helper()
	e := firn.Entry{ID: firn.EntryID(id), Time: noon.Add(time.Duration(len(w.log)) * time.Second), Body: body}
	if n := len(w.log); n > 0 {
		e.Parent = w.log[n-1].ID
	}
	out, err := w.printer.Print(nil, e)
	if err != nil {
		t.Fatalf("Print(%s): %v", id, err)
	}
	w.log = append(w.log, e)
	w.lines = append(w.lines, slices.Collect(bytes.SplitSeq(bytes.TrimSuffix(out, []byte{'\n'}), []byte{'\n'})))
	w.file += string(out)
	return out
}

// limits returns the names of the losses.
func (w *world) limits() (names []string) {
	for _, l := range w.losses {
		names = append(names, fmt.Sprintf("%s %s %t", l.Entry, l.Limit, l.Dropped))
	}
	return names
}

func says(role firn.Role, parts ...firn.Part) *firn.Message {
	return &firn.Message{Role: role, Parts: parts}
}

func text(s string) firn.Text { return firn.Text{Text: s} }

// cersei reads a transcript as Cersei does: messages in file order, except for those named
// by a tombstone. An unreadable line fails the test.
func cersei(t testing.TB, file string) (all []string) {
	t.Helper()
	type block struct {
		Type, Text, Content string
		ID                  string
		ToolUseID           string `json:"tool_use_id"`
		Name                string
		Input               json.RawMessage
	}
	type entry struct {
		Type, UUID, Timestamp string
		Session               *string `json:"session_id"`
		Deleted               string  `json:"deleted_uuid"`
		Message               *struct {
			Role    string
			Content json.RawMessage
		}
	}
	var entries []entry
	dead := make(map[string]bool)
	for line := range strings.Lines(file) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("Cersei cannot read %s: %v", line, err)
		}
		dead[e.Deleted] = true
		entries = append(entries, e)
	}
	for _, e := range entries {
		if e.Message == nil || dead[e.UUID] {
			continue
		}
		if _, err := time.Parse(time.RFC3339Nano, e.Timestamp); err != nil || e.Session == nil || e.UUID == "" || e.Message.Role != e.Type {
			t.Fatalf("Cersei would skip %+v", e)
		}
		var message string
		var blocks []block
		if json.Unmarshal(e.Message.Content, &message) != nil {
			if err := json.Unmarshal(e.Message.Content, &blocks); err != nil {
				t.Fatalf("Cersei cannot read the content %s: %v", e.Message.Content, err)
			}
		}
		if blocks != nil {
			for _, b := range blocks {
				all = append(all, b.Text+b.Content)
			}
			continue
		}
		message = strings.TrimSuffix(strings.TrimPrefix(message, summaryBegin), summaryEnd)
		all = append(all, message)
	}
	return all
}

func TestPrintBytes(t *testing.T) {
	w := newWorld(t, Options{}, false)
	for _, c := range []struct {
		id   string
		body firn.Body
		want string
	}{
		{"", &firn.Header{Session: "s", CWD: "/p"}, ``},
		{"a", says(firn.RoleUser, text("fix <the> \u2028 tests")), `{"type":"user","uuid":"A","timestamp":"2026-04-03T10:00:01+00:00","session_id":"s","cwd":"/p","message":{"role":"user","content":"fix <the> ` + "\u2028" + ` tests"},"is_sidechain":false}`},
		{"b", &firn.Message{Role: firn.RoleAssistant, Model: "claude-x", StopReason: firn.StopToolUse, Usage: &firn.Usage{Input: 10, Output: 2, CacheRead: 5, Total: 17, Cost: firn.Cost{Total: 0.0000015}},
			Extra: firn.Fields{{Name: dialect.ResponseID, Value: []byte(`"msg_1"`)}},
			Parts: []firn.Part{firn.Thinking{Text: "hm", Signature: "sig"}, text("Reading."), firn.ToolCall{ID: "t1", Name: "Read", Arguments: []byte(`{"n":1.50}`)}}},
			`{"type":"assistant","uuid":"B","parent_uuid":"A","timestamp":"2026-04-03T10:00:02+00:00","session_id":"s","cwd":"/p","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"Reading."},{"type":"tool_use","id":"t1","name":"Read","input":{"n":1.50}}],"id":"msg_1","metadata":{"model":"claude-x","usage":{"input_tokens":10,"output_tokens":2,"total_tokens":17,"cost_usd":1.5e-6,"provider_usage":{"cache_creation_input_tokens":0,"cache_read_input_tokens":5}},"stop_reason":"tool_use"}},"is_sidechain":false}`},
		{"c", says(firn.RoleToolResult, firn.ToolResult{CallID: "t1", Name: "Read", Content: []firn.Part{text("x")}, IsError: true}),
			`{"type":"user","uuid":"C","timestamp":"2026-04-03T10:00:03+00:00","session_id":"s","cwd":"/p","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x","is_error":true}]},"is_sidechain":false}`},
		{"d", &firn.Title{Name: "T", Source: firn.SourceAuto}, `{"type":"title","title":"T","source":"auto","session_id":"s","timestamp":"2026-04-03T10:00:04+00:00"}`},
		{"e", &firn.Tombstone{Target: "c"}, `{"type":"tombstone","deleted_uuid":"C","timestamp":"2026-04-03T10:00:05+00:00"}`},
		{"f", &firn.Custom{Type: "cersei:future-type", Data: []byte(`{"type":"future-type","x":1}`)}, `{"type":"future-type","x":1}`},
		{"g", &firn.Custom{Type: "other", Data: []byte(`1`)}, ``},
		{"h", &firn.Compaction{Summary: "S", FirstKept: "b", TokensBefore: 9}, `{"type":"user","uuid":"H","timestamp":"2026-04-03T10:00:08+00:00","session_id":"s","cwd":"/p","message":{"role":"user","content":"<context_summary>\nThe following is a summary of the conversation so far:\n\nS\n</context_summary>"},"is_sidechain":false,"extra":{"firn":{"compaction":true,"first_kept":"B","tokens_before":9}}}` + "\n" +
			`{"type":"tombstone","deleted_uuid":"A","timestamp":"2026-04-03T10:00:08+00:00"}`},
	} {
		want := c.want
		for _, letter := range "ABCH" {
			want = strings.ReplaceAll(want, fmt.Sprintf("%q", letter), dialect.UUID("s", strings.ToLower(string(letter))))
			want = strings.ReplaceAll(want, `"`+string(letter)+`"`, `"`+dialect.UUID("s", strings.ToLower(string(letter)))+`"`)
		}
		if want != "" {
			want += "\n"
		}
		if got := string(w.add(t, c.id, c.body)); got != want {
			t.Errorf("%s is written as\n%swant\n%s", c.id, got, want)
		}
	}
	equal(t, "losses", w.limits(), []string{"d titles false", "g custom entries true", "h compactions false"})
}

// TestPrintAsWritten reads Cersei's files and writes them again: the bytes are the same,
// except for numbers that Cersei writes with more digits.
func TestPrintAsWritten(t *testing.T) {
	for _, name := range []string{"abc12345-transcript.jsonl", "my-session-jsonlmemory.jsonl"} {
		file := strings.Replace(read(t, name), ".123456789+", ".123+", 1)
		bare := !strings.Contains(file, "uuid")
		p := New(Options{}).Printer(dialect.Target{Session: "abc12345", CWD: "/project"})
		if bare {
			p.Repeat(firn.Entry{Body: &firn.Header{}}, [][]byte{[]byte(`{"role":"user","content":""}`)})
		}
		var out []byte
		for _, e := range scan(t, file) {
			if _, summary := e.Body.(*firn.Compaction); summary {
				continue // never written by Cersei or firn
			}
			var err error
			if out, err = p.Print(out, e); err != nil {
				t.Fatal(err)
			}
		}
		var want []string
		for line := range strings.Lines(file) {
			if !strings.Contains(line, `"type":"summary"`) {
				want = append(want, line)
			}
		}
		if got := string(out); got != strings.Join(want, "") {
			t.Errorf("%s is written as\n%swant\n%s", name, got, strings.Join(want, ""))
		}
	}
}

func TestPrintForClaude(t *testing.T) {
	w := newWorld(t, Options{ForClaude: true}, false)
	w.add(t, "", &firn.Header{Session: "s"})
	w.add(t, "a", says(firn.RoleUser, text("hi")))
	w.add(t, "b", says(firn.RoleAssistant, text("ho")))
	w.add(t, "c", &firn.Title{Name: "T"})
	var last any
	ids := make(map[string]bool)
	for line := range strings.Lines(w.file) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m["type"] == "custom-title" {
			if m["customTitle"] != "T" || m["sessionId"] != "s" {
				t.Errorf("the title is %s", line)
			}
			continue
		}
		if m["parentUuid"] != last || m["sessionId"] != m["session_id"] || m["isSidechain"] != false {
			t.Errorf("Claude Code cannot follow %s", line)
		}
		last = m["uuid"]
		if id, ok := m["message"].(map[string]any)["id"].(string); ok {
			ids[id] = true
		}
	}
	if len(ids) != 1 {
		t.Errorf("the answers have the ids %v", ids)
	}
	if got, err := dialect.Detect([]byte(w.file)); err != nil || got != dialect.ClaudeCode {
		t.Errorf("Detect = %s, %v", got, err)
	}
	equal(t, "read again", words(scan(t, w.file))[1:], []string{dialect.UUID("s", "a") + " user hi", dialect.UUID("s", "b") + " assistant ho", "l000003 title T"})
}

// TestPrintLosses writes entries without an equivalent in Cersei.
func TestPrintLosses(t *testing.T) {
	zero := 0
	for _, c := range []struct {
		body         firn.Body
		limit, texts string
	}{
		{&firn.Label{Target: "x", Name: "l"}, "labels true", ""},
		{&firn.ModelChange{Model: "m"}, "models and thinking levels true", ""},
		{&firn.ThinkingChange{Level: "high"}, "models and thinking levels true", ""},
		{&firn.Head{}, "branches true", ""},
		{&firn.Opaque{Type: "x", Raw: []byte(`{}`)}, "unknown entries true", ""},
		{&firn.CustomMessage{Parts: []firn.Part{text("c")}}, "injected messages false", "user c"},
		{&firn.BranchSummary{Summary: "B"}, "injected messages false", "user <branch_summary>\nB\n</branch_summary>"},
		{says(firn.RoleShell, firn.Shell{Command: "ls", Output: "a", ExitCode: &zero}), "shell commands false", "user Ran `ls`\n```\na\n```"},
		{says(firn.RoleUser), "empty messages true", ""},
		{says(firn.RoleUser, firn.OpaquePart{Type: "odd", Raw: []byte(`{"type":"odd"}`)}, text("x")), "unknown parts false", "user x"},
		{&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Error: "no"}, "failed answers true,empty messages true", ""},
		{&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopAborted, Parts: []firn.Part{text("half")}}, "failed answers false", "assistant half"},
		{&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Parts: []firn.Part{firn.Thinking{Text: "t"}, text("half"), text(" "), firn.ToolCall{ID: "1", Name: "ls"}}}, "failed answers false", "assistant half"},
		{&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Parts: []firn.Part{firn.ToolCall{ID: "1", Name: "ls"}}}, "failed answers true,empty messages true", ""},
		{&firn.Message{Role: firn.RoleAssistant, Provider: "openai", Parts: []firn.Part{firn.Thinking{Text: "t", Signature: "s"}, text("x")}}, "thinking false", "assistant x"},
		{&firn.Message{Role: firn.RoleAssistant, Provider: "anthropic", Parts: []firn.Part{firn.Thinking{Text: "t", Signature: "s"}, text("x")}}, "", "assistant (t)|x"},
		{says(firn.RoleToolResult, firn.ToolResult{CallID: "1", Content: []firn.Part{text("r")}, Details: []byte(`{}`)}), "details of results false", "toolResult =#1:r"},
		{says("robot", text("x")), "unknown entries true", ""},
		{&firn.Tombstone{Target: "s"}, "hiding true", ""},
		{&firn.Tombstone{Target: "nobody"}, "", ""},
	} {
		w := newWorld(t, Options{}, false)
		w.add(t, "e", c.body)
		var limits, texts []string
		for _, l := range w.losses {
			limits = append(limits, fmt.Sprintf("%s %t", l.Limit, l.Dropped))
		}
		for _, e := range scan(t, w.file)[1:] {
			texts = append(texts, word(e))
		}
		if got := strings.Join(limits, ","); got != c.limit {
			t.Errorf("%T: the losses are %q, want %q", c.body, got, c.limit)
		}
		if got := strings.Join(texts, ","); got != c.texts {
			t.Errorf("%T says %q, want %q", c.body, got, c.texts)
		}
	}
	p := New(Options{}).Printer(dialect.Target{})
	if out, err := p.Print([]byte("x"), firn.Entry{}); err == nil || string(out) != "x" {
		t.Errorf("an empty entry gives %q, %v", out, err)
	}
}

// TestAppendToBareMessages appends to bare messages: any other line would make the file
// unreadable for Cersei.
func TestAppendToBareMessages(t *testing.T) {
	w := newWorld(t, Options{}, false)
	w.file = read(t, "my-session-jsonlmemory.jsonl")
	for i, e := range scan(t, w.file) {
		var lines [][]byte
		if i > 0 {
			lines = append(lines, []byte(strings.Split(w.file, "\n")[i-1]))
		}
		w.printer.Repeat(e, lines)
	}
	for i, body := range []firn.Body{
		says(firn.RoleUser, text("go on")), &firn.Title{Name: "T"}, &firn.Compaction{Summary: "S"}, &firn.Tombstone{Target: "l000001"},
		&firn.Custom{Type: "cersei:x", Data: []byte(`{"type":"x"}`)}, says(firn.RoleAssistant, text("done")),
	} {
		w.add(t, fmt.Sprintf("e%d", i), body)
	}
	for line := range strings.Lines(w.file) {
		if l, err := readLine([]byte(line)); err != nil || !l.isBare() {
			t.Errorf("Cersei cannot read %s", line)
		}
	}
	equal(t, "losses", w.limits(), []string{"e1 titles true", "e2 compactions false", "e3 hiding true", "e4 custom entries true"})
	if got := len(strings.Split(strings.TrimSpace(w.file), "\n")); got != 5 {
		t.Errorf("there are %d lines", got)
	}
}

// seen returns the messages of firn's log that are sent to the model, with the summary in
// its place.
func seen(log []firn.Entry) (all []string) {
	var tree firn.Tree
	for i, e := range log {
		tree.Add(firn.Pos(i), firn.GlanceOf(e))
	}
	hidden := tree.Hidden()
	from, last := keptFrom(log, hidden), compacted(log, hidden)
	for i, e := range log[from:] {
		switch b := e.Body.(type) {
		case *firn.Message:
			if !hidden[e.ID] {
				all = append(all, received(b.Parts)...)
			}
		case *firn.Compaction:
			if from+i == last {
				all = append(all, b.Summary)
			}
		}
	}
	return all
}

// received returns the texts of parts, including those of results.
func received(all []firn.Part) (texts []string) {
	for _, p := range all {
		switch p := p.(type) {
		case firn.Text:
			texts = append(texts, p.Text)
		case firn.ToolResult:
			texts = append(texts, received(p.Content)...)
		}
	}
	return texts
}

// compacted returns the index of the effective compaction, or -1.
func compacted(log []firn.Entry, hidden map[firn.EntryID]bool) int {
	last := -1
	for i, e := range log {
		if _, ok := e.Body.(*firn.Compaction); ok && !hidden[e.ID] {
			last = i
		}
	}
	return last
}

// keptFrom returns the index of the first entry that is sent to the model.
func keptFrom(log []firn.Entry, hidden map[firn.EntryID]bool) int {
	last := compacted(log, hidden)
	if last < 0 {
		return 0
	}
	kept := log[last].Body.(*firn.Compaction).FirstKept
	if i := slices.IndexFunc(log, func(e firn.Entry) bool { return e.ID == kept }); i >= 0 {
		return i
	}
	return last
}

// TestHideAndRestore hides, restores, compacts and undoes at random. Cersei must always see
// the same messages as firn, in the same order, and so must firn when it reads the file
// again.
func TestHideAndRestore(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		inPlace := rapid.Bool().Draw(r, "in place")
		w := newWorld(t, Options{}, inPlace)
		w.add(t, "", &firn.Header{Session: "s", CWD: "/p"})
		n := rapid.IntRange(1, 20).Draw(r, "steps")
		for i := range n {
			step(t, r, w, fmt.Sprintf("e%d", i), inPlace)
			want := seen(w.log)
			if got := cersei(t, w.file); !slices.Equal(got, want) {
				r.Fatalf("Cersei sees %q, want %q\n%s\n%s", got, want, strings.Join(words(w.log), "\n"), w.file)
			}
			if got := seen(scan(t, w.file)); !slices.Equal(got, want) {
				r.Fatalf("firn reads %q, want %q\n%s\n%s", got, want, strings.Join(words(w.log), "\n"), w.file)
			}
		}
	})
}

// step performs one action. In place nothing is hidden twice, because the file does not
// record that.
func step(t *testing.T, r *rapid.T, w *world, id string, inPlace bool) {
	var tree firn.Tree
	for i, e := range w.log {
		tree.Add(firn.Pos(i), firn.GlanceOf(e))
	}
	hidden := tree.Hidden()
	var messages, kept, tombs, compactions []firn.EntryID
	from := keptFrom(w.log, hidden)
	for i, e := range w.log {
		if _, ok := e.Body.(*firn.Message); ok && i >= from {
			kept = append(kept, e.ID) // a compaction never keeps entries that an earlier one dropped
		}
		if inPlace && hidden[e.ID] {
			continue
		}
		switch e.Body.(type) {
		case *firn.Message:
			messages = append(messages, e.ID)
		case *firn.Tombstone:
			tombs = append(tombs, e.ID)
		case *firn.Compaction:
			compactions = append(compactions, e.ID)
		}
	}
	pick := func(from []firn.EntryID) firn.EntryID {
		if len(from) == 0 {
			return "nobody"
		}
		return rapid.SampledFrom(from).Draw(r, "which")
	}
	switch rapid.IntRange(0, 8).Draw(r, "what") {
	case 0:
		w.add(t, id, &firn.Tombstone{Target: pick(messages)})
	case 1:
		w.add(t, id, &firn.Tombstone{Target: pick(tombs)})
	case 2:
		w.add(t, id, &firn.Tombstone{Target: pick(compactions)})
	case 3:
		w.add(t, id, &firn.Compaction{Summary: "S" + id, FirstKept: pick(append(kept, "nobody"))})
	case 4:
		w.add(t, id, says(firn.RoleAssistant, text("a"+id)))
	case 5:
		w.reopen()
	case 6:
		if inPlace { // one line of Cersei that is several messages in firn
			w.file += user(dialect.UUID("", id), `[{"type":"tool_result","tool_use_id":"1","content":"x`+id+`"},{"type":"tool_result","tool_use_id":"2","content":"y`+id+`"},{"type":"text","text":"z`+id+`"}]`)
		}
		w.reopen()
	default:
		w.add(t, id, says(firn.RoleUser, text("u"+id)))
	}
}
