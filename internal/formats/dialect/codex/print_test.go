package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/dialecttest"

	"pgregory.net/rapid"
)

func TestTool(t *testing.T) { dialecttest.RunTool(t, New(), os.DirFS("testdata")) }

var began = time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)

// writer prints entries and stores them, as the writer of a file does.
type writer struct {
	t       testing.TB
	printer dialect.Printer
	written []dialect.EntryLines
	out     []byte
	losses  []string
}

func newWriter(t testing.TB, to dialect.Target) *writer {
	w := &writer{t: t}
	to.OnLoss = func(l dialect.Loss) {
		w.losses = append(w.losses, fmt.Sprintf("%s %s %t", l.Entry, l.Limit, l.Dropped))
	}
	to.Written = func(since firn.EntryID) iter.Seq[dialect.EntryLines] {
		return func(yield func(dialect.EntryLines) bool) {
			begun := false
			for _, item := range w.written {
				if begun = begun || item.Entry.ID == since; begun && !yield(item) {
					return
				}
			}
		}
	}
	w.printer = New().Printer(to)
	return w
}

func (w *writer) print(entries ...firn.Entry) string {
	w.t.Helper()
	start := len(w.out)
	for _, e := range entries {
		var err error
		if w.out, err = w.printer.Print(w.out, e); err != nil {
			w.t.Fatal(err)
		}
		if e.ID != "" {
			w.written = append(w.written, dialect.EntryLines{Entry: e})
		}
	}
	return string(w.out[start:])
}

// chain returns entries that follow each other.
func chain(bodies ...firn.Body) []firn.Entry {
	entries := []firn.Entry{{Time: began, Body: &firn.Header{Session: "s", CWD: "/home/u"}}}
	var parent firn.EntryID
	for i, body := range bodies {
		id := firn.EntryID(fmt.Sprintf("e%d", i+1))
		entries = append(entries, firn.Entry{ID: id, Parent: parent, Time: began.Add(time.Duration(i) * time.Second), Body: body})
		parent = id
	}
	return entries
}

func user(text string) *firn.Message {
	return &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}}
}

func reply(parts ...firn.Part) *firn.Message {
	return &firn.Message{Role: firn.RoleAssistant, Parts: parts, StopReason: firn.StopEnd}
}

func says(text string) *firn.Message { return reply(firn.Text{Text: text}) }

func calls(id string) *firn.Message {
	m := reply(firn.ToolCall{ID: id, Name: "ls", Arguments: []byte(`{"n":1.50}`)})
	m.StopReason = firn.StopToolUse
	return m
}

func result(id, text string) *firn.Message {
	return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: id, Name: "ls", Content: []firn.Part{firn.Text{Text: text}}}}}
}

// TestPrintBytes writes lines that Codex 0.166.0 was observed to accept and send.
func TestPrintBytes(t *testing.T) {
	w := newWriter(t, dialect.Target{Session: "plain"})
	m := calls("toolu_1")
	m.Parts = append([]firn.Part{firn.Thinking{Text: "hm", Signature: "foreign"}, firn.Text{Text: "I <look>\u2028."}}, m.Parts...)
	done := says("done")
	done.Usage = &firn.Usage{Input: 5, Output: 6, CacheRead: 7, CacheWrite: 8, Total: 26}
	got := w.print(chain(user("look"), m, result("toolu_1", "out"), done)...)
	want := `{"timestamp":"2026-11-15T10:00:00.000Z","type":"session_meta","payload":{"session_id":"dd591d39-75ac-82a7-9e2f-a72df0943ea2","id":"dd591d39-75ac-82a7-9e2f-a72df0943ea2","timestamp":"2026-11-15T10:00:00.000Z","cwd":"/home/u","originator":"firn","cli_version":"0.166.0","source":"cli"}}
{"timestamp":"2026-11-15T10:00:00.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"TURN","model_context_window":null}}
{"timestamp":"2026-11-15T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"look"}]}}
{"timestamp":"2026-11-15T10:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"look","images":[],"local_images":[],"audio":[],"local_audio":[],"text_elements":[]}}
{"timestamp":"2026-11-15T10:00:01.000Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"hm"}}
{"timestamp":"2026-11-15T10:00:01.000Z","type":"event_msg","payload":{"type":"agent_message","message":"I <look>` + "\u2028" + `.","phase":null,"memory_citation":null}}
{"timestamp":"2026-11-15T10:00:01.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I <look>` + "\u2028" + `."}]}}
{"timestamp":"2026-11-15T10:00:01.000Z","type":"response_item","payload":{"type":"function_call","name":"ls","arguments":"{\"n\":1.50}","call_id":"toolu_1"}}
{"timestamp":"2026-11-15T10:00:02.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"toolu_1","output":"out"}}
{"timestamp":"2026-11-15T10:00:03.000Z","type":"event_msg","payload":{"type":"agent_message","message":"done","phase":null,"memory_citation":null}}
{"timestamp":"2026-11-15T10:00:03.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}
{"timestamp":"2026-11-15T10:00:03.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":20,"cached_input_tokens":7,"cache_write_input_tokens":8,"output_tokens":6,"reasoning_output_tokens":0,"total_tokens":26},"last_token_usage":{"input_tokens":20,"cached_input_tokens":7,"cache_write_input_tokens":8,"output_tokens":6,"reasoning_output_tokens":0,"total_tokens":26},"model_context_window":null},"rate_limits":null}}
{"timestamp":"2026-11-15T10:00:03.000Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"TURN","last_agent_message":"done"}}
`
	turn := dialect.UUID("dd591d39-75ac-82a7-9e2f-a72df0943ea2", "e1")
	if got = strings.ReplaceAll(got, turn, "TURN"); got != want {
		t.Errorf("written:\n%s\nwant\n%s", got, want)
	}
	if !slices.Contains(w.losses, "e2 thinking false") {
		t.Errorf("thinking of other models is not reported: %q", w.losses)
	}
	usage := scan(t, w.out)
	for _, e := range usage {
		if m, ok := e.Body.(*firn.Message); ok && m.Text() == "done" && fmt.Sprint(*m.Usage) != fmt.Sprint(*done.Usage) {
			t.Errorf("the cost is read back as %+v", m.Usage)
		}
	}
}

// TestPrintItems writes unusual parts.
func TestPrintItems(t *testing.T) {
	reasoning := `{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":"E"}`
	own := reply(firn.Thinking{Signature: reasoning, Redacted: true}, firn.Text{Text: "x", Signature: `{"v":1,"id":"msg_1","phase":"final_answer"}`}, firn.ToolCall{ID: "c", Name: "f", Signature: "fc_1"})
	own.API = api
	custom := reply(firn.ToolCall{ID: "c2", Name: "apply_patch", Arguments: []byte(`{"input":"*** x"}`), Extra: firn.Fields{{Name: callType, Value: []byte(`"custom_tool_call"`)}}})
	code := 3
	w := newWriter(t, dialect.Target{Session: "s"})
	w.print(chain(
		own, custom, result("c2", "ok"),
		&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "c", IsError: true, Content: []firn.Part{firn.Text{Text: "see"}, firn.Image{MimeType: "image/png", Data: "AA=="}}}}},
		&firn.Message{Role: firn.RoleSystem, Parts: []firn.Part{firn.Text{Text: "be"}}},
		&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "make", Output: "no", ExitCode: &code}}},
		&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopAborted, Parts: []firn.Part{firn.Text{Text: "ha"}}},
		reply(firn.OpaquePart{Type: "web_search_call", Raw: []byte(`{"type":"web_search_call","id":"ws_1"}`)}),
		&firn.ModelChange{Model: "m"}, &firn.Label{Target: "e1"}, &firn.Title{Name: "other"}, &firn.Opaque{Type: "x"},
	)...)
	var got []string
	for line := range bytes.Lines(w.out) {
		f, _ := readMembers(bytes.TrimSpace(line))
		if f.text("type") == "response_item" {
			got = append(got, string(f.get("payload")))
		}
	}
	want := []string{
		reasoning,
		`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"x"}],"phase":"final_answer"}`,
		`{"type":"function_call","id":"fc_1","name":"f","arguments":"{}","call_id":"c"}`,
		`{"type":"custom_tool_call","call_id":"c2","name":"apply_patch","input":"*** x"}`,
		`{"type":"custom_tool_call_output","call_id":"c2","output":"ok"}`,
		`{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}`,
		`{"type":"message","role":"developer","content":[{"type":"input_text","text":"be"}]}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"<user_shell_command>\n<command>\nmake\n</command>\n<result>\nExit code: 3\nOutput:\nno\n</result>\n</user_shell_command>"}]}`,
		`{"type":"web_search_call","id":"ws_1"}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("written:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, loss := range []string{"e4 errors false", "e5 speakers false", "e6 speakers false", "e7 failed answers true", "e9 settings true", "e10 notes true", "e11 titles true", "e12 unknown entries true"} {
		if !slices.Contains(w.losses, loss) {
			t.Errorf("the loss %q is not reported: %q", loss, w.losses)
		}
	}
}

// words returns the messages that are sent, in short form.
func words(t *testing.T, out []byte) string {
	var short []string
	for _, word := range sent(scan(t, out)) {
		_, text, _ := strings.Cut(word, ":")
		short = append(short, strings.Trim(text, `"`))
	}
	return strings.Join(short, " ")
}

// TestPrintHistory changes the history with Codex's own means. Codex 0.166.0 was observed
// to send the same messages.
func TestPrintHistory(t *testing.T) {
	compaction := &firn.Compaction{Summary: "S", FirstKept: "e3"}
	context := &firn.CustomMessage{Type: "codex:context", Parts: []firn.Part{firn.Text{Text: "<environment_context>x</environment_context>"}}}
	c := "context:<environment_context>x</environment_context>"
	hide := func(id firn.EntryID) *firn.Tombstone { return &firn.Tombstone{Target: id} }
	for _, test := range []struct {
		name   string
		bodies []firn.Body
		want   string
		means  string
	}{
		{"kept", []firn.Body{user("u1"), says("a1"), user("u2"), says("a2"), compaction, user("u3")}, "S u2 a2 u3", `"compacted"`},
		{"nothing kept", []firn.Body{user("u1"), says("a1"), &firn.Compaction{Summary: "S", FirstKept: "e3"}, user("u3")}, "S u3", `"compacted"`},
		{"the last answer", []firn.Body{user("u1"), says("a1"), user("u2"), says("a2"), hide("e4")}, "u1 a1 u2", `"num_turns":1}`},
		{"a user's message", []firn.Body{user("u1"), says("a1"), user("u2"), says("a2"), user("u3"), says("a3"), hide("e3")}, "u1 a1 a2 u3 a3", `"num_turns":2}`},
		{"the first message", []firn.Body{user("u1"), says("a1"), user("u2"), hide("e1")}, "a1 u2", `"num_turns":2}`},
		{"two of them", []firn.Body{user("u1"), says("a1"), user("u2"), says("a2"), hide("e3"), hide("e4")}, "u1 a1", `"num_turns":1}`},
		{"and shown again", []firn.Body{user("u1"), says("a1"), user("u2"), says("a2"), hide("e3"), hide("e5")}, "u1 a1 u2 a2", `"num_turns":1}`},
		{"with context before the turn", []firn.Body{user("u1"), says("a1"), context, user("u2"), says("a2"), hide("e5")}, "u1 a1 " + c + " u2", `"num_turns":1}`},
		{"before any turn", []firn.Body{says("a0"), user("u1"), hide("e1")}, "u1", `"replacement_history"`},
		{"kept by a compaction", []firn.Body{user("u1"), says("a1"), user("u2"), says("a2"), compaction, user("u3"), hide("e4")}, "S u2 u3", `"replacement_history"`},
		{"after a compaction", []firn.Body{user("u1"), says("a1"), user("u2"), says("a2"), compaction, user("u3"), says("a3"), hide("e6")}, "S u2 a2 a3", `"num_turns":1}`},
	} {
		w := newWriter(t, dialect.Target{Session: "s"})
		w.print(chain(test.bodies...)...)
		if got := words(t, w.out); got != test.want {
			t.Errorf("%s: sent is %q, want %q\n%s", test.name, got, test.want, w.out)
		}
		if !bytes.Contains(w.out, []byte(test.means)) {
			t.Errorf("%s: %s is not used:\n%s", test.name, test.means, w.out)
		}
	}
}

// TestPrintHead moves back and continues from there.
func TestPrintHead(t *testing.T) {
	for to, want := range map[firn.EntryID]string{"e4": "u1 a1 u2 a2 on", "e3": "u1 a1 u2 on", "e2": "u1 a1 on", "e1": "u1 on"} {
		w := newWriter(t, dialect.Target{Session: "s"})
		w.print(chain(user("u1"), says("a1"), user("u2"), says("a2"))...)
		w.print(firn.Entry{ID: "h", Parent: to, Body: &firn.Head{}})
		w.print(firn.Entry{ID: "n", Parent: "h", Body: user("on")})
		if got := words(t, w.out); got != want {
			t.Errorf("from %s: sent is %q, want %q", to, got, want)
		}
	}
	w := newWriter(t, dialect.Target{Session: "s"})
	w.print(chain(user("u1"))...)
	if got := w.print(firn.Entry{ID: "h", Parent: "nowhere", Body: &firn.Head{}}); got != "" || !slices.Contains(w.losses, "h branches true") {
		t.Errorf("rewinding to a missing entry writes %q and loses %q", got, w.losses)
	}
}

// TestPrintHiddenUnreadable hides an entry that cannot be read again: it stays, and the loss is
// reported.
func TestPrintHiddenUnreadable(t *testing.T) {
	var losses []string
	p := New().Printer(dialect.Target{Session: "s", OnLoss: func(l dialect.Loss) { losses = append(losses, l.Limit) }})
	out, err := p.Print(nil, firn.Entry{ID: "t", Body: &firn.Tombstone{Target: "x"}})
	if err != nil || len(out) > 0 || fmt.Sprint(losses) != "[hiding]" {
		t.Errorf("hiding blindly writes %q, loses %q, %v", out, losses, err)
	}
}

// TestPrintRead writes entries read from a rollout: the history of a compaction becomes one
// line again, and no event is duplicated.
func TestPrintRead(t *testing.T) {
	data := fixtures(t)["rollout-2026-11-15T21-34-06-01a1e121-bc52-7613-ad59-b80dc54c94a9.jsonl"]
	entries := scan(t, data)
	w := newWriter(t, dialect.Target{Session: "01a1e121-bc52-7613-ad59-b80dc54c94a9"})
	w.print(entries...)
	if got, want := bytes.Count(w.out, []byte("\n")), bytes.Count(data, []byte("\n")); got != want {
		t.Fatalf("%d lines are written, want %d:\n%s", got, want, w.out)
	}
	if len(w.losses) > 0 {
		t.Errorf("losses are %q", w.losses)
	}
	if got, want := sent(scan(t, w.out)), sent(entries); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("sent:\n%q\nwant\n%q", got, want)
	}
	strip := func(line []byte) []string {
		var l struct {
			Payload struct{ Replacement_history []map[string]any }
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		var items []string
		for _, item := range l.Payload.Replacement_history {
			delete(item, passthrough)
			delete(item, "id")
			items = append(items, fmt.Sprint(item))
		}
		return items
	}
	was, is := bytes.Split(data, []byte("\n"))[37], bytes.Split(w.out, []byte("\n"))[37]
	if got, want := strip(is), strip(was); len(want) != 5 || !slices.Equal(got, want) {
		t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRepeat appends to a rollout that Codex wrote: line numbers and totals continue.
func TestRepeat(t *testing.T) {
	data := fixtures(t)["rollout-2026-11-15T21-34-06-01a1e121-bc52-7613-ad59-b80dc54c94a9.jsonl"]
	w := newWriter(t, dialect.Target{Session: "s"})
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	for i, e := range scan(t, data) {
		w.printer.Repeat(e, lines[min(i, len(lines)-1):min(i, len(lines)-1)+1])
	}
	w.printer.Repeat(firn.Entry{ID: "r000050", Body: &firn.Custom{}}, lines[48:])
	m := says("on")
	m.Usage = &firn.Usage{Input: 1, Output: 1, Total: 2}
	got := w.print(firn.Entry{ID: "n1", Parent: "r000050", Body: user("go")}, firn.Entry{ID: "n2", Parent: "n1", Body: m})
	if !strings.Contains(got, `"ordinal":50,"type":"event_msg"`) || !strings.Contains(got, `"ordinal":56,`) || !strings.Contains(got, `"total_token_usage":{"input_tokens":501,`) {
		t.Errorf("it continues with\n%s", got)
	}
}

// conversation draws messages that Codex can represent exactly.
func conversation(t *rapid.T) []firn.Body {
	text := rapid.StringN(1, 40, 200).Filter(func(s string) bool { return !strings.Contains(s, "\x00") && !isContextText(s) })
	var bodies []firn.Body
	for i := range rapid.IntRange(0, 10).Draw(t, "n") {
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			bodies = append(bodies, user(text.Draw(t, "said")))
		case 1:
			bodies = append(bodies, says(text.Draw(t, "said")))
		case 2:
			id := fmt.Sprintf("call%d", i)
			bodies = append(bodies, calls(id), result(id, text.Draw(t, "output")))
		case 3:
			kept := rapid.IntRange(1, len(bodies)+1).Draw(t, "kept")
			bodies = append(bodies, &firn.Compaction{Summary: text.Draw(t, "summary"), FirstKept: firn.EntryID(fmt.Sprintf("e%d", kept))})
		}
	}
	return bodies
}

// live returns the messages that firn would send of a conversation with one branch.
func live(entries []firn.Entry) (words []string) {
	hidden := make(map[firn.EntryID]bool)
	last := -1
	for i, e := range entries {
		switch b := e.Body.(type) {
		case *firn.Tombstone:
			hidden[b.Target] = true
		case *firn.Compaction:
			last = i
		}
	}
	start := 0
	if last >= 0 {
		c := entries[last].Body.(*firn.Compaction)
		words = append(words, "summary:"+c.Summary)
		start = last
		for i, e := range entries[:last] {
			if e.ID == c.FirstKept {
				start = i
			}
		}
	}
	for _, e := range entries[start:] {
		if m, ok := e.Body.(*firn.Message); ok && !hidden[e.ID] {
			for _, p := range m.Parts {
				words = append(words, string(m.Role)+":"+formatPart(p))
			}
		}
	}
	return words
}

// TestPrintScan writes conversations, hides some entries, and compares the result with the
// messages that firn would send.
func TestPrintScan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entries := chain(conversation(rt)...)
		w := newWriter(t, dialect.Target{Session: "s"})
		w.print(entries...)
		for i := range rapid.IntRange(0, 3).Draw(rt, "hidden") {
			if len(entries) < 2 {
				break
			}
			target := entries[rapid.IntRange(1, len(entries)-1).Draw(rt, "target")]
			switch target.Body.(type) {
			case *firn.Compaction, *firn.Tombstone:
				continue
			}
			e := firn.Entry{ID: firn.EntryID(fmt.Sprintf("t%d", i)), Parent: entries[len(entries)-1].ID, Body: &firn.Tombstone{Target: target.ID}}
			w.print(e)
			entries = append(entries, e)
		}
		if got, want := sent(scan(t, w.out)), live(entries[1:]); strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("sent:\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), w.out)
		}
	})
}
