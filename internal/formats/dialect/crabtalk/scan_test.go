package crabtalk

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

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
func scan(t testing.TB, from dialect.Origin, data []byte) []firn.Entry {
	t.Helper()
	s := New().Scanner(from)
	var all []firn.Entry
	known := make(map[firn.EntryID]bool)
	for line := range bytes.Lines(data) {
		entries, err := s.Scan(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			if !errors.Is(err, firn.ErrCorrupt) {
				t.Fatalf("%q: %v, want ErrCorrupt", line, err)
			}
			continue
		}
		if len(entries) == 0 && len(bytes.TrimSpace(line)) > 0 {
			t.Fatalf("%q made no entry", line)
		}
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
	if rest := s.Finish(); len(rest) > 0 {
		t.Fatalf("%d entries were withheld", len(rest))
	}
	return all
}

// describeEntries formats entries, one per line.
func describeEntries(entries []firn.Entry) string {
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%s<%s ", e.ID, e.Parent)
		switch body := e.Body.(type) {
		case *firn.Header:
			fmt.Fprintf(&b, "header %s agent=%s key=%s", body.Session, body.Agent, body.Key)
		case *firn.Message:
			fmt.Fprintf(&b, "%s", body.Role)
			for _, p := range body.Parts {
				fmt.Fprintf(&b, " %s", formatPart(p))
			}
		case *firn.Compaction:
			fmt.Fprintf(&b, "compaction %q keeps %s", body.Summary, body.FirstKept)
		case *firn.Title:
			fmt.Fprintf(&b, "title %q", body.Name)
		case *firn.Custom:
			fmt.Fprintf(&b, "custom %s %s", body.Type, body.Data)
		}
		for _, f := range e.Extra {
			fmt.Fprintf(&b, " %s=%s", f.Name, f.Value)
		}
		if !e.Time.IsZero() {
			fmt.Fprintf(&b, " @%s", e.Time.Format("15:04:05.999999999"))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func formatPart(p firn.Part) string {
	switch p := p.(type) {
	case firn.Text:
		return fmt.Sprintf("%q", p.Text)
	case firn.Thinking:
		return fmt.Sprintf("thinks %q", p.Text)
	case firn.ToolCall:
		return fmt.Sprintf("calls %s %s(%s)", p.ID, p.Name, p.Arguments)
	case firn.ToolResult:
		return fmt.Sprintf("result %s %s %q", p.CallID, p.Name, firn.JoinText(p.Content))
	}
	return fmt.Sprintf("%T", p)
}

func TestScanFixtures(t *testing.T) {
	want := map[string]string{
		"crab_tg-12345_2_pricing-chat.jsonl": `< header crab_tg-12345_2 agent=crab key=agent:crab:direct:tg-12345 created_by="tg:12345" uptime_secs=42 @09:05:00.5
l000001< title "Pricing chat" @09:05:00.5
l000002<l000001 user "look up the price" @09:05:00.5
l000003<l000002 assistant thinks "need the tool" calls call_1 bash({"command":"ls"}) @09:05:00.5
l000004<l000003 toolResult result call_1 bash "a.txt\n" @09:05:00.5
l000005<l000004 assistant "It is 5." @09:05:00.5
l000006<l000005 compaction "User asked for the price; it is 5." keeps l000006 @09:05:00.5
l000007<l000006 user "what were we talking about?" @09:05:00.5
l000008<l000007 assistant "Pricing." @09:05:00.5
`,
		"crab_user_1.jsonl": `< header crab_user_1 agent=crab key=agent:crab:direct:user created_by="user" uptime_secs=0 @09:00:00.123456789
l000002< user "hello" @09:00:00.123456789
l000003<l000002 assistant "hi there" @09:00:00.123456789
`,
		"crab_user_2_events_april07.jsonl": `< header crab_user_2 agent=crab key=agent:crab:direct:user created_by="user" uptime_secs=3 @10:00:00.000001
l000002< user "run it" @10:00:00.000001
l000003<l000002 assistant calls c1 bash({}) @10:00:00.000001
l000004<l000003 toolResult result c1 bash "ok" @10:00:00.000001
l000005<l000004 assistant "done" @10:00:00.000001
l000006<l000005 custom crabtalk:tool_start {"event":"tool_start","calls":[{"id":"c1","name":"bash","arguments":"{}"}],"ts":"2026-04-07T10:00:01.000000001+00:00"} @10:00:01.000000001
l000007<l000006 custom crabtalk:tool_result {"event":"tool_result","call_id":"c1","duration_ms":12,"ts":"2026-04-07T10:00:01.1+00:00"} @10:00:01.1
l000008<l000007 custom crabtalk:done {"event":"done","model":"m","iterations":2,"stop_reason":"text_response","usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3},"ts":"2026-04-07T10:00:02+00:00"} @10:00:02
l000009<l000008 custom crabtalk:user_steered {"event":"user_steered","content":"stop","ts":"2026-04-07T10:00:03+00:00"} @10:00:03
l000010<l000009 compaction "Ran it. Fine." keeps l000010 title="Ran it." archived_at="2026-04-07T10:00:04+00:00" @10:00:04
l000011<l000010 user "next" @10:00:04
`,
	}
	for name, data := range fixtures(t) {
		from := dialect.Origin{Transcript: dialect.Transcript{Parts: []string{"sessions/" + name}}}
		if got := describeEntries(scan(t, from, data)); got != want[name] {
			t.Errorf("%s reads\n%s\nwant\n%s", name, got, want[name])
		}
	}
}

// TestScanTraps reads lines that CrabTalk itself fails on, and others that it never wrote.
func TestScanTraps(t *testing.T) {
	const head = `{"agent":"my_agent","created_by":"","created_at":"never","zeal":7}` + "\n"
	for _, c := range []struct{ name, lines, want string }{
		{"no arguments", head + `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"ls"}},{"index":1,"type":"function","function":{"name":"ls","arguments":""}}]}`,
			`l000002< assistant calls 1 ls({}) calls  ls({})`},
		{"arguments that are none", head + `{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"ls","arguments":"{\"a\":"}}]}`,
			`l000002< assistant calls 1 ls({"invalid":"{\"a\":"})`},
		{"arguments as an object", head + `{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"ls","arguments":{"a":1.0}}}]}`,
			`l000002< assistant calls 1 ls({"a":1.0})`},
		{"null", head + `{"role":"user","content":null,"tool_calls":null}`, `l000002< user`},
		{"an unknown role", head + `{"role":"User","content":"x"}`, `l000002< custom crabtalk: {"role":"User","content":"x"}`},
		{"a marker with a role", head + `{"role":"user","compact":"all"}`, `l000002< compaction "all" keeps l000002 crabtalk.role="user"`},
		{"a marker that is none", head + `{"compact":5}`, `l000002< custom crabtalk: {"compact":5}`},
		{"not UTF-8", head + "{\"role\":\"user\",\"content\":\"a\xffb\"}", `l000002< user "a` + "\ufffd" + `b"`},
		{"a blank and a torn line", head + "\n" + `{"role":"us` + "\n" + `{"role":"user","content":"on"}`, `l000002< user "on"`},
		{"a second first line", head + head, `l000002< custom crabtalk: ` + strings.TrimSpace(head)},
		{"a step", head + `{"agent":"twin","message":{"role":"assistant","content":"yes"}}`, `l000002< assistant "yes"`},
		{"an archive", head + `{"archive_name":"crab-1","archived_at":"2026-05-01T00:00:00.25+00:00"}`,
			`l000002< compaction "[archived as crab-1]" keeps l000002 archive_name="crab-1" archived_at="2026-05-01T00:00:00.25+00:00" @00:00:00.25`},
	} {
		entries := scan(t, dialect.Origin{}, []byte(c.lines+"\n"))
		got := describeEntries(entries[1:])
		if got != c.want+"\n" {
			t.Errorf("%s: reads %s, want %s", c.name, got, c.want)
		}
		if h := entries[0].Body.(*firn.Header); h.Agent != "my_agent" || h.Key != "agent:my_agent:direct:user" || h.Session.Check() != nil {
			t.Errorf("%s: the header is %+v", c.name, h)
		}
		if string(entries[0].Extra.Get("zeal")) != "7" {
			t.Errorf("%s: the header lost unknown fields: %v", c.name, entries[0].Extra)
		}
	}
}

func TestScanWithoutFirstLine(t *testing.T) {
	from := dialect.Origin{Transcript: dialect.Transcript{ID: "crab_user_1", Agent: "crab", Key: "agent:crab:direct:user"}}
	got := describeEntries(scan(t, from, []byte(`{"role":"user","content":"x"}`+"\n")))
	if want := "< header crab_user_1 agent=crab key=agent:crab:direct:user\nl000001< user \"x\"\n"; got != want {
		t.Errorf("reads %s, want %s", got, want)
	}
}

// TestScanCut truncates every file at every byte: every complete line is read.
func TestScanCut(t *testing.T) {
	for name, data := range fixtures(t) {
		whole := describeEntries(scan(t, dialect.Origin{}, data))
		for cut := range data {
			entries := scan(t, dialect.Origin{}, data[:cut])
			if got := describeEntries(entries); len(entries) > 1 && !strings.HasPrefix(whole, got) {
				t.Fatalf("%s cut at %d reads %s", name, cut, got)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, data := range fixtures(f) {
		f.Add(data)
	}
	f.Add([]byte(`{"agent":"a","message":{"role":"tool","tool_calls":[{}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries := scan(t, dialect.Origin{}, data)
		p := New().Printer(dialect.Target{})
		for _, e := range entries {
			line, err := p.Print(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			for l := range bytes.Lines(line) {
				if _, err := readMembers(l); err != nil {
					t.Fatalf("wrote %q: %v", l, err)
				}
			}
		}
	})
}
