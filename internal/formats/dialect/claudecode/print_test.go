package claudecode

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// printed prints entries, each a child of the previous one.
func printed(t *testing.T, to dialect.Target, bodies ...firn.Body) (string, []dialect.Loss) {
	t.Helper()
	var lost []dialect.Loss
	to.OnLoss = func(l dialect.Loss) { lost = append(lost, l) }
	p := New().Printer(to)
	var out []byte
	var err error
	parent := firn.EntryID("")
	for i, body := range bodies {
		e := firn.Entry{ID: firn.EntryID(rune('a' + i)), Parent: parent, Time: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC), Body: body}
		if out, err = p.Print(out, e); err != nil {
			t.Fatal(err)
		}
		parent = e.ID
	}
	if out, err = p.Finish(out); err != nil {
		t.Fatal(err)
	}
	return string(out), lost
}

var target = dialect.Target{Session: "11111111-2222-4333-8444-555555555555", CWD: "/w"}

// TestBytes compares printed lines byte for byte.
func TestBytes(t *testing.T) {
	exit := 1
	got, _ := printed(t, target,
		textMessage(firn.RoleUser, "hi\u2028<&>"),
		&firn.Message{
			Role: firn.RoleAssistant, API: api, Provider: provider, Model: "claude-x", StopReason: firn.StopToolUse,
			Usage: &firn.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
			Extra: firn.Fields{{Name: dialect.ResponseID, Value: quote("msg_1")}},
			Parts: []firn.Part{firn.Thinking{Text: "hm", Signature: "sig"}, firn.ToolCall{ID: "t1", Name: "Read", Arguments: []byte(`{"n": 1.0}`)}},
		},
		resultOf("t1", "done"),
		&firn.Title{Name: "T"},
		&firn.Label{Target: "a", Name: "start"},
		&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "ls", Output: "x", ExitCode: &exit}}},
	)
	tail := `,"userType":"external","cwd":"/w","sessionId":"11111111-2222-4333-8444-555555555555","version":"2.1.325"}`
	a, b, c, f := id("a"), id("b"), id("c"), id("f")
	want := strings.Join([]string{
		`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi` + "\u2028" + `<&>"}]},"uuid":"` + a + `","timestamp":"2026-01-02T03:04:05.678Z"` + tail,
		`{"parentUuid":"` + a + `","isSidechain":false,"message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"t1","name":"Read","input":{"n":1.0}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":1,"cache_creation_input_tokens":4,"cache_read_input_tokens":3,"output_tokens":2}},"type":"assistant","uuid":"` + b + `","timestamp":"2026-01-02T03:04:05.679Z"` + tail,
		`{"parentUuid":"` + b + `","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"done"}]},"uuid":"` + c + `","timestamp":"2026-01-02T03:04:05.680Z"` + tail,
		`{"type":"custom-title","customTitle":"T","sessionId":"11111111-2222-4333-8444-555555555555"}`,
		`{"type":"firn","firn":{"id":"` + id("e") + `","kind":"label","target":"` + a + `","name":"start"},"timestamp":"2026-01-02T03:04:05.681Z","sessionId":"11111111-2222-4333-8444-555555555555"}`,
		`{"parentUuid":"` + c + `","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"text","text":"<bash-input>ls</bash-input>"},{"type":"text","text":"<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"}]},"uuid":"` + f + `","timestamp":"2026-01-02T03:04:05.682Z","firn":{"role":"bashExecution","command":"ls","output":"x","exitCode":1}` + tail,
	}, "\n") + "\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func id(entry string) string { return dialect.UUID(string(target.Session), entry) }

// TestLosses checks that every loss is reported with a listed limit.
func TestLosses(t *testing.T) {
	user := textMessage(firn.RoleUser, "u")
	call := answer("x", "c")
	for name, c := range map[string]struct {
		bodies  []firn.Body
		limit   string
		dropped bool
	}{
		"a foreign thought":                  {[]firn.Body{user, &firn.Message{Role: firn.RoleAssistant, Provider: "openai", Parts: []firn.Part{firn.Text{Text: "a"}, firn.Thinking{Text: "t", Signature: "s"}}}}, limitThinking, false},
		"an unsigned one":                    {[]firn.Body{user, &firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: "a"}, firn.Thinking{Text: "t"}}}}, limitThinking, false},
		"a mark":                             {[]firn.Body{&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "a", Signature: "s"}}}}, limitSignatures, false},
		"an unknown part":                    {[]firn.Body{&firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "a"}, firn.OpaquePart{Type: "video", Raw: []byte("{}")}}}}, limitParts, false},
		"an odd id":                          {[]firn.Body{user, answer("x", "a|b"), resultOf("a|b", "r")}, limitCallIDs, false},
		"an orphan":                          {[]firn.Body{user, resultOf("unknown", "r")}, limitOrphans, true},
		"a second result":                    {[]firn.Body{user, call, resultOf("c", "r"), resultOf("c", "r")}, limitOrphans, true},
		"nothing said":                       {[]firn.Body{&firn.Message{Role: firn.RoleUser}}, limitEmpty, true},
		"an unknown role":                    {[]firn.Body{&firn.Message{Role: "robot", Parts: user.Parts}}, limitRoles, true},
		"a system message":                   {[]firn.Body{textMessage(firn.RoleSystem, "be kind")}, limitSystem, false},
		"a hidden command":                   {[]firn.Body{&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "x", Hidden: true}}}}, limitCommands, true},
		"a note":                             {[]firn.Body{&firn.CustomMessage{Type: "t", Parts: user.Parts}}, limitNotes, false},
		"an unknown entry":                   {[]firn.Body{&firn.Opaque{Type: "x", Raw: []byte("{}")}}, limitOpaque, true},
		"a head":                             {[]firn.Body{user, &firn.Head{}}, limitHeads, false},
		"state":                              {[]firn.Body{user, &firn.Custom{Type: "x", Data: []byte("1")}}, limitCustom, false},
		"hiding an unknown entry":            {[]firn.Body{user, &firn.Tombstone{Target: "a"}}, limitHidden, false},
		"a compaction from an unknown entry": {[]firn.Body{user, answer("x"), &firn.Compaction{Summary: "s", FirstKept: "a"}}, limitKept, false},
	} {
		_, lost := printed(t, target, c.bodies...)
		if !slices.ContainsFunc(lost, func(l dialect.Loss) bool { return l.Limit == c.limit && l.Dropped == c.dropped }) {
			t.Errorf("%s: lost %v, want %q", name, lost, c.limit)
		}
		for _, l := range lost {
			if !slices.ContainsFunc(New().Limits(), func(limit dialect.Limit) bool { return limit.Name == l.Limit && limit.Becomes != "" }) {
				t.Errorf("%s: %q is not listed", name, l.Limit)
			}
		}
	}
}

// TestReadBack checks that entries without an equivalent in Claude Code are read back
// unchanged.
func TestReadBack(t *testing.T) {
	exit := 0
	bodies := []firn.Body{
		textMessage(firn.RoleUser, "go"),
		textMessage(firn.RoleSystem, "be kind"),
		&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "ls </bash-input>", Output: "</bash-stdout>", ExitCode: &exit, Truncated: true, FullOutput: "/f"}}},
		&firn.CustomMessage{Type: "note", Parts: []firn.Part{firn.Text{Text: "n"}}, Display: true, Details: []byte(`{"x":1}`)},
		&firn.BranchSummary{From: firn.EntryID(id("a")), Summary: "left", Details: []byte(`[1]`), FromHook: true},
		&firn.Message{Role: firn.RoleAssistant, API: "openai-responses", Provider: "openai", Model: "gpt", StopReason: firn.StopAborted, Error: "stopped", Parts: []firn.Part{firn.Text{Text: "par"}}},
		&firn.Message{Role: firn.RoleAssistant, API: api, Provider: provider, Model: "c", StopReason: firn.StopError, Error: "overloaded"},
		&firn.ModelChange{Provider: "p", Model: "m"},
		&firn.ThinkingChange{Level: "high"},
		&firn.Custom{Type: "firn.verbose", Data: []byte(`{"level":"on"}`)},
		&firn.Message{Role: firn.RoleAssistant, API: api, Provider: provider, Model: "c", StopReason: firn.StopToolUse, Parts: []firn.Part{
			firn.ToolCall{ID: "x", Name: "bash", Arguments: []byte("{}")}, firn.ToolCall{ID: "y", Name: "bash", Arguments: []byte("{}")}}},
		&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "x", Name: "bash", IsError: true, Content: []firn.Part{firn.Text{Text: "1"}, firn.Image{MimeType: "image/png", Data: "AA=="}}}}},
		&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "y", Name: "bash", Details: []byte(`{"d":1}`)}}},
	}
	out, _ := printed(t, target, bodies...)
	var got []firn.Body
	for _, e := range scanAll(t, "s.jsonl", []byte(out))[1:] {
		if m, ok := e.Body.(*firn.Message); ok {
			m.Time = time.Time{}
			m.Extra = nil
		}
		got = append(got, e.Body)
	}
	for i := range min(len(got), len(bodies)) {
		if !reflect.DeepEqual(got[i], bodies[i]) {
			a, _ := json.Marshal(got[i])
			b, _ := json.Marshal(bodies[i])
			t.Errorf("%d: got %s\nwant %s", i, a, b)
		}
	}
	if len(got) != len(bodies) {
		t.Errorf("%d entries, want %d:\n%s", len(got), len(bodies), out)
	}
}

// TestTitleAgain checks that a title is repeated when it is too far from the end of the
// file.
func TestTitleAgain(t *testing.T) {
	long := strings.Repeat("x", 30_000)
	out, _ := printed(t, target, &firn.Title{Name: "T"}, textMessage(firn.RoleUser, long), textMessage(firn.RoleUser, long))
	if n := strings.Count(out, "custom-title"); n != 2 || !strings.HasSuffix(out, `"sessionId":"11111111-2222-4333-8444-555555555555"}`+"\n") {
		t.Errorf("the title is stored %d times", n)
	}
	titled := target
	titled.Title = "known"
	if out, _ := printed(t, titled, textMessage(firn.RoleUser, "u")); !strings.Contains(out, `"customTitle":"known"`) {
		t.Errorf("a title that is only known is not written:\n%s", out)
	}
}

// TestVerbatim checks that lines of Claude Code are written unchanged.
func TestVerbatim(t *testing.T) {
	line := `{"type":"mode","mode":"normal","n":1.0}`
	out, lost := printed(t, target, &firn.Custom{Type: dialect.LineType(dialect.ClaudeCode, "mode"), Data: []byte(line)})
	if out != line+"\n" || len(lost) > 0 {
		t.Errorf("%s, %v", out, lost)
	}
}

// TestQueued checks that messages between a call and its results are written after them,
// and that a call without a result gets one.
func TestQueued(t *testing.T) {
	out, lost := printed(t, target, textMessage(firn.RoleUser, "u"), answer("x", "c", "d"), resultOf("c", "1"), textMessage(firn.RoleUser, "hurry"), resultOf("d", "2"), answer("y", "e"), textMessage(firn.RoleUser, "stop"))
	want := []string{
		"user text u", "assistant text x", "assistant tool_use c", "assistant tool_use d", `user tool_result c="1"`, `user tool_result d="2"`, "user text hurry",
		"assistant text y", "assistant tool_use e", `user tool_result e="[no result was recorded]"`, "user text stop",
	}
	if got := resumed(t, []byte(out), false); !slices.Equal(got, want) || len(lost) > 0 {
		t.Errorf("got\n%s\nlost %v", strings.Join(got, "\n"), lost)
	}
	if bytes.Count([]byte(out), []byte("synthetic")) != 1 {
		t.Errorf("the made-up result is not marked")
	}
}
