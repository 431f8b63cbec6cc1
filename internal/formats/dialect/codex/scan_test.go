package codex

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// fixtures returns the files of the corpus by name.
func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	files := make(map[string][]byte)
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// scan reads a whole file and checks the guarantees of a scanner.
func scan(t testing.TB, data []byte) (all []firn.Entry) {
	t.Helper()
	s := New().Scanner(dialect.Origin{})
	objects := 0
	known := make(map[firn.EntryID]bool)
	take := func(entries []firn.Entry) {
		for _, e := range entries {
			if _, ok := e.Body.(*firn.Header); ok != (len(all) == 0) {
				t.Fatalf("entry %d is a %T: want a header first and only there", len(all), e.Body)
			}
			if len(all) > 0 && (e.ID == "" || known[e.ID] || e.Parent != "" && !known[e.Parent]) {
				t.Fatalf("entry %q under %q: want an id of its own and a parent that is there", e.ID, e.Parent)
			}
			known[e.ID] = true
			all = append(all, e)
		}
	}
	for line := range bytes.Lines(data) {
		entries, err := s.Scan(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil && !errors.Is(err, firn.ErrCorrupt) {
			t.Fatalf("%q: %v, want ErrCorrupt", line, err)
		}
		if err == nil && len(bytes.TrimSpace(line)) > 0 {
			objects++
		}
		take(entries)
	}
	take(s.Finish())
	if len(all) < objects {
		t.Fatalf("%d lines made %d entries", objects, len(all))
	}
	return all
}

// pathOf returns the entries from the root to the last one.
func pathOf(entries []firn.Entry) (on []firn.Entry) {
	var tree firn.Tree
	numbers := make(map[int]firn.Entry)
	for i, e := range entries {
		numbers[tree.Add(firn.Pos(i+1), firn.GlanceOf(e))] = e
	}
	for _, n := range tree.Path(tree.Head()) {
		on = append(on, numbers[n])
	}
	return on
}

// sent returns the messages that are sent to the model: those after the last compaction of
// the path, and its summary.
func sent(entries []firn.Entry) (words []string) {
	for _, e := range pathOf(entries) {
		switch b := e.Body.(type) {
		case *firn.Compaction:
			words = []string{"summary:" + b.Summary}
		case *firn.Message:
			for _, p := range b.Parts {
				words = append(words, string(b.Role)+":"+formatPart(p))
			}
		case *firn.CustomMessage:
			words = append(words, b.Type+":"+firn.JoinText(b.Parts))
		}
	}
	return words
}

// describeEntries formats entries, one per line.
func describeEntries(entries []firn.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s<%s ", e.ID, e.Parent)
		switch body := e.Body.(type) {
		case *firn.Header:
			fmt.Fprintf(&b, "header %s in %s from %s", body.Session, body.CWD, body.ParentSession)
		case *firn.Message:
			fmt.Fprintf(&b, "%s %s", body.Role, body.Model)
			for _, p := range body.Parts {
				fmt.Fprintf(&b, " %s", formatPart(p))
			}
			if u := body.Usage; u != nil {
				fmt.Fprintf(&b, " cost %d+%d+%d+%d=%d", u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Total)
			}
			for _, f := range body.Extra {
				fmt.Fprintf(&b, " %s=%s", f.Name, f.Value)
			}
		case *firn.Custom:
			fmt.Fprintf(&b, "custom %s %d", body.Type, len(body.Data))
		case *firn.CustomMessage:
			fmt.Fprintf(&b, "message %s %q", body.Type, firn.JoinText(body.Parts))
		default:
			fmt.Fprintf(&b, "%s %+v", body.Kind(), body)
		}
		for _, f := range e.Extra {
			fmt.Fprintf(&b, " %s=%s", f.Name, f.Value)
		}
		fmt.Fprintf(&b, " @%s\n", e.Time.Format("15:04:05.999"))
	}
	return b.String()
}

func formatPart(p firn.Part) string {
	switch p := p.(type) {
	case firn.Text:
		return fmt.Sprintf("%q%s", p.Text, p.Signature)
	case firn.Thinking:
		return fmt.Sprintf("thinks %q %s", p.Text, p.Signature)
	case firn.ToolCall:
		return fmt.Sprintf("calls %s %s(%s)%v", p.ID, p.Name, p.Arguments, p.Extra)
	case firn.ToolResult:
		return fmt.Sprintf("result %s %s %q %t", p.CallID, p.Name, firn.JoinText(p.Content), p.IsError)
	case firn.OpaquePart:
		return fmt.Sprintf("opaque %s %s", p.Type, p.Raw)
	}
	return fmt.Sprintf("%T", p)
}

// TestScanFixtures compares the entries with reviewed golden files.
func TestScanFixtures(t *testing.T) {
	for name, data := range fixtures(t) {
		golden := "testdata/golden/" + strings.TrimSuffix(name, ".jsonl") + ".txt"
		got := describeEntries(scan(t, data))
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s reads\n%s\nwant (%v)\n%s", name, got, err, want)
		}
	}
}

// TestScanReal reads three turns with a tool and a compaction by Codex 0.166.0: the path
// matches its next request.
func TestScanReal(t *testing.T) {
	got := sent(scan(t, fixtures(t)["rollout-2026-11-15T21-34-06-01a1e121-bc52-7613-ad59-b80dc54c94a9.jsonl"]))
	want := []string{
		"summary:What was done so far:\nanswer 4",
		`user:"hello RUNTOOL please"`,
		"codex:developer:<skills_instructions>\nshortened\n</skills_instructions>\n<permissions instructions>\nshortened\n</permissions instructions>",
		"codex:context:<environment_context>\n  <cwd>/home/user/project</cwd>\n</environment_context>",
		`user:"second"`, `user:"third"`, `assistant:"answer 5"msg_5`,
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("the path is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// rollout builds lines from payloads: u and a are messages, others are given as type and
// payload.
func rollout(lines ...string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"timestamp":"2026-01-02T03:04:05.000Z","type":"session_meta","payload":{"id":"x","cwd":"/"}}` + "\n")
	for _, line := range lines {
		kind, payload, ok := strings.Cut(line, " ")
		switch {
		case !ok && line[0] == 'u':
			kind, payload = "response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"`+line+`"}]}`
		case !ok:
			kind, payload = "response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"`+line+`"}]}`
		}
		fmt.Fprintf(&b, `{"timestamp":"2026-01-02T03:04:05.000Z","type":%q,"payload":%s}`+"\n", kind, payload)
	}
	return b.Bytes()
}

const context = `response_item {"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}`

func back(turns int) string {
	return fmt.Sprintf(`event_msg {"type":"thread_rolled_back","num_turns":%d}`, turns)
}

// TestScanHistory reads events that change the history.
func TestScanHistory(t *testing.T) {
	item := `{"type":"message","role":"user","content":[{"type":"input_text","text":"S"}]}`
	kept := `{"type":"message","role":"user","content":[{"type":"input_text","text":"k"}]}`
	c := "codex:context:<environment_context>x</environment_context>"
	for _, test := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"back one", []string{"u1", "a1", "u2", "a2", back(1), "u3"}, []string{"u1", "a1", "u3"}},
		{"back two", []string{"u1", "a1", "u2", "a2", "u3", back(2), "a3"}, []string{"u1", "a1", "a3"}},
		{"back twice", []string{"u1", "a1", "u2", back(1), "u3", back(2), "u4"}, []string{"u4"}},
		{"back too far", []string{context, "u1", "a1", back(9), "u2"}, []string{c, "u2"}},
		{"back by nothing", []string{"u1", "a1", back(0)}, []string{"u1", "a1"}},
		{"context before the turn", []string{context, "u1", "a1", context, "u2", "a2", back(1), "u3"}, []string{c, "u1", "a1", "u3"}},
		{"a history", []string{"u1", "a1", `compacted {"message":"S","replacement_history":[` + kept + `,` + item + `]}`, "u2"}, []string{"summary:S", "k", "u2"}},
		{"the second history", []string{"u1", `compacted {"message":"S","replacement_history":[` + item + `]}`, "u2", `compacted {"message":"T","replacement_history":[` + kept + `]}`}, []string{"summary:T", "k"}},
		{"no summary", []string{"u1", "a1", `compacted {"message":"","replacement_history":[` + kept + `,{"type":"compaction","encrypted_content":"E"}]}`, "u2"},
			[]string{"k", `opaque compaction {"type":"compaction","encrypted_content":"E"}`, "u2"}},
		{"of the old kind", []string{context, "u1", "a1", "u2", "a2", `compacted {"message":"S"}`, "u3"}, []string{"summary:S", "u1", "u2", "u3"}},
		{"back before a history", []string{"u1", "a1", "u2", `compacted {"message":"S","replacement_history":[` + kept + `]}`, "a2", back(1), "u3"}, []string{"u1", "a1", "u3"}},
		{"back after a history", []string{"u1", `compacted {"message":"S","replacement_history":[` + kept + `]}`, "u2", "a2", back(1), "u3"}, []string{"summary:S", "k", "u3"}},
	} {
		var got []string
		for _, word := range sent(scan(t, rollout(test.lines...))) {
			word = strings.TrimPrefix(strings.TrimPrefix(word, "user:"), "assistant:")
			got = append(got, strings.Trim(word, `"`))
		}
		if strings.Join(got, "|") != strings.Join(test.want, "|") {
			t.Errorf("%s: the path is %q, want %q", test.name, got, test.want)
		}
	}
}

// TestScanItems reads items that are not in the corpus.
func TestScanItems(t *testing.T) {
	for _, c := range []struct{ payload, want string }{
		{`{"type":"local_shell_call","id":"lsh_1","call_id":"c","status":"completed","action":{"type":"exec","command":["ls"]}}`,
			`calls c local_shell({"type":"exec","command":["ls"]})[{status [34 99 111 109 112 108 101 116 101 100 34]} {itemType [34 108 111 99 97 108 95 115 104 101 108 108 95 99 97 108 108 34]}]`},
		{`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`,
			`opaque web_search_call {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}}`},
		{`{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":"}`, `calls c f({"invalid":"{\"a\":"})[]`},
		{`{"type":"function_call_output","call_id":"c","output":{"content":"no","success":false}}`, `result c  "no" true`},
		{`{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}`, `result c  "a\nb" false`},
		{`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}`, `firn.Image`},
		{`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"https://x/y.png"}]}`, `opaque input_image {"type":"input_image","image_url":"https://x/y.png"}`},
		{`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"x"}],"phase":"commentary"}`, `"x"{"v":1,"id":"msg_1","phase":"commentary"}`},
		{`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}],"encrypted_content":null,"internal_chat_message_metadata_passthrough":{"turn_id":"x"}}`,
			`thinks "t" {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"t"}],"encrypted_content":null}`},
	} {
		entries := scan(t, rollout("response_item "+c.payload))
		m, ok := entries[1].Body.(*firn.Message)
		if !ok || len(m.Parts) != 1 || formatPart(m.Parts[0]) != c.want {
			t.Errorf("%s reads %s, want %s", c.payload, describeEntries(entries[1:]), c.want)
		}
	}
	for _, payload := range []string{`{"type":"ghost_snapshot","x":1}`, `{"type":"message","role":"user","content":null}`, `{"type":"message","role":"ghost","content":[]}`, `{}`, `5`, `null`} {
		entries := scan(t, rollout("response_item "+payload))
		if _, ok := entries[1].Body.(*firn.Custom); !ok {
			t.Errorf("%s reads %s, want a line as it is", payload, describeEntries(entries[1:]))
		}
	}
}

// TestScanCosts checks which response a token count is assigned to.
func TestScanCosts(t *testing.T) {
	count := func(n int) string {
		return fmt.Sprintf(`event_msg {"type":"token_count","info":{"last_token_usage":{"input_tokens":%d,"cached_input_tokens":1,"output_tokens":2,"total_tokens":%d}}}`, n, n+2)
	}
	call := `response_item {"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`
	result := `response_item {"type":"function_call_output","call_id":"c","output":"x"}`
	costs := func(lines ...string) (list []string) {
		for _, e := range scan(t, rollout(lines...)) {
			if m, ok := e.Body.(*firn.Message); ok && m.Role == firn.RoleAssistant {
				if m.Usage == nil {
					list = append(list, "-")
				} else {
					list = append(list, fmt.Sprint(m.Usage.Total))
				}
			}
		}
		return list
	}
	for _, c := range []struct {
		lines []string
		want  string
	}{
		{[]string{"u", "a1", count(10), "a2", count(20)}, "[12 22]"},
		{[]string{"u", call, result, count(10), "a2", count(20)}, "[12 22]"},
		{[]string{"u", "a0", call, result, "a2", count(20)}, "[- - 22]"},
		{[]string{"u", "a1", "u2", count(10)}, "[-]"},
		{[]string{"u", "a1", `event_msg {"type":"token_count","info":null}`, count(10)}, "[12]"},
	} {
		if got := fmt.Sprint(costs(c.lines...)); got != c.want {
			t.Errorf("%q cost %s, want %s", c.lines, got, c.want)
		}
	}
}

// TestScanAnswers checks that the items of a response have a common response ID and are
// contiguous.
func TestScanAnswers(t *testing.T) {
	call := func(id string) string {
		return `response_item {"type":"function_call","call_id":"` + id + `","name":"f","arguments":"{}"}`
	}
	result := func(id string) string {
		return `response_item {"type":"function_call_output","call_id":"` + id + `","output":"x"}`
	}
	event := `event_msg {"type":"agent_message","message":"a1"}`
	entries := scan(t, rollout("u1", "a1", event, call("c1"), event, call("c2"), result("c1"), event, result("c2"), "a2"))
	var got []string
	for _, e := range pathOf(entries) {
		id := ""
		if m, ok := e.Body.(*firn.Message); ok {
			id = string(m.Extra.Get(dialect.ResponseID))
		}
		got = append(got, string(e.ID)+id)
	}
	want := `r000002 r000003"r000003" r000005"r000003" r000007"r000003" r000004 r000006 r000008 r000009 r000010 r000011`
	if strings.Join(got, " ") != want {
		t.Errorf("the path is %s, want %s", strings.Join(got, " "), want)
	}
}

func TestScanTitle(t *testing.T) {
	entries := scan(t, rollout("u1", `event_msg {"type":"thread_name_updated","thread_id":"x","thread_name":"A name"}`))
	if got, ok := entries[2].Body.(*firn.Title); !ok || got.Name != "A name" || entries[3].Parent != entries[2].ID {
		t.Errorf("a name reads %s", describeEntries(entries))
	}
}

// TestScanCut truncates every file at every byte.
func TestScanCut(t *testing.T) {
	for name, data := range fixtures(t) {
		step := 1 + len(data)/600
		for cut := 0; cut < len(data); cut += step {
			if entries := scan(t, data[:cut]); len(entries) == 0 && bytes.ContainsRune(data[:cut], '\n') {
				t.Fatalf("%s cut at %d reads nothing", name, cut)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, data := range fixtures(f) {
		f.Add(data)
	}
	f.Add(rollout("u1", "a1", back(1), `compacted {"message":"","replacement_history":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := New().Printer(dialect.Target{})
		var out []byte
		for _, e := range scan(t, data) {
			var err error
			if out, err = p.Print(out, e); err != nil {
				t.Fatal(err)
			}
		}
		out, _ = p.Finish(out)
		for l := range bytes.Lines(out) {
			if _, err := readMembers(l); err != nil {
				t.Fatalf("wrote %q: %v", l, err)
			}
		}
	})
}
