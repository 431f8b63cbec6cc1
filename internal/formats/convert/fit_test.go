package convert

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/cersei"
	"firn.dev/internal/formats/dialect/claudecode"
	"firn.dev/internal/formats/dialect/claw0"
	"firn.dev/internal/formats/dialect/codex"
	"firn.dev/internal/formats/dialect/crabtalk"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialect/openclaw"
	"firn.dev/internal/formats/dialect/pi"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

func message(role firn.Role, parts ...firn.Part) firn.Entry {
	return firn.Entry{Body: &firn.Message{Role: role, Parts: parts}}
}

func callOf(id, name, arguments string) firn.ToolCall {
	return firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}
}

func resultOf(id string, content ...firn.Part) firn.Entry {
	return message(firn.RoleToolResult, firn.ToolResult{CallID: id, Name: "ls", Content: append(content, firn.Text{Text: "ok"})})
}

// failedAnswer returns an answer that ended in an error.
func failedAnswer(parts ...firn.Part) firn.Entry {
	return firn.Entry{Body: &firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Error: "overloaded", Parts: parts}}
}

// refusable returns a conversation that every provider rejects for several reasons.
func refusable(t *testing.T) string {
	long := "call_" + strings.Repeat("a", 32) + "|fc_" + strings.Repeat("b", 44)
	answer := func(parts ...firn.Part) firn.Entry { return message(firn.RoleAssistant, parts...) }
	return transcript(t,
		answer(firn.Text{Text: "Good morning."}),
		message(firn.RoleUser, firn.Text{Text: "look"}, firn.Image{MimeType: "image/png"}, firn.OpaquePart{Type: "document", Raw: json.RawMessage(`{"type":"document"}`)}),
		answer(firn.Text{Text: "So."}, callOf(long, "fs.read", `"x"`), callOf(long+"2", "ls", `{}`)),
		resultOf(long),
		message(firn.RoleUser, firn.Text{Text: "are you there?"}),
		resultOf(long+"2", firn.OpaquePart{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram"}`)}),
		answer(firn.OpaquePart{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram"}`)}),
		resultOf("unknown"),
		message(firn.RoleUser, firn.Text{Text: " \n"}),
		answer(firn.Text{Text: "\t"}, callOf("d", "ls", `{}`)),
		resultOf("d", firn.Text{Text: " "}),
		failedAnswer(callOf(long+"3", "fs.write", `{}`)),
		answer(firn.Text{Text: "Again."}, callOf("c", "ls", `{}`)),
		message(firn.RoleUser, firn.Text{Text: "and now?"}),
		answer(firn.Text{Text: "So."}, callOf("c", "ls", `{}`)),
		resultOf("c"),
		answer(firn.Text{Text: "the end"}),
	)
}

// TestFit writes a conversation that every provider rejects for each tool and reads it
// back: the tool's provider accepts the result without further repairs, except for those of
// the tools themselves.
func TestFit(t *testing.T) {
	text := refusable(t)
	for _, c := range []struct {
		tool    dialect.Tool
		profile window.Profile
	}{
		{claudecode.New(), window.Anthropic()}, {codex.New(), window.OpenAIResponses()},
		{pi.New(native.New()), window.Anthropic()}, {pi.New(native.New()), window.OpenAIChat()},
		{openclaw.New(pi.New(native.New())), window.OpenAIChat()},
		{crabtalk.New(), window.OpenAIChat()}, {cersei.New(cersei.Options{}), window.Anthropic()}, {claw0.New(claw0.Options{}), window.Anthropic()},
	} {
		t.Run(string(c.tool.Name())+" "+c.profile.Name, func(t *testing.T) {
			var out bytes.Buffer
			report := &Report{}
			if err := Write(t.Context(), &out, source(native.NewTool(), text), c.tool, dialect.Target{Session: "s", CWD: "/w"}, report); err != nil {
				t.Fatal(err)
			}
			w := window.Window{Items: itemsOf(t, c.tool, out.String())}
			w.Items = append(w.Items, window.Item{Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "what was it?"}}}})
			if err := windowtest.Check(c.profile, w); err != nil {
				t.Errorf("the provider rejects it: %v\n%.5000s", err, &out)
			}
			if content := out.String(); !strings.Contains(content, "the end") || !strings.Contains(content, "are you there?") || strings.Contains(content, "hologram") || strings.Contains(content, "nobody") {
				t.Errorf("got\n%s", content)
			}
			for _, limit := range []string{limitCallIDs, limitToolNames, limitArguments, limitImages, limitBlank, limitUnpaired, limitUnanswered, limitFirst} {
				if report.Losses[limit] == 0 {
					t.Errorf("the report does not mention %s: %v", limit, report.Losses)
				}
			}
			if sum := report.Same + report.Reencoded + report.Changed + report.Left; sum != report.Total() {
				t.Errorf("of %d entries %d are counted", report.Total(), sum)
			}
		})
	}
}

// TestHandoffOfUnanswered checks that a session without a response that is handed to OpenClaw
// gets a placeholder, and that other exports and answered sessions do not.
func TestHandoffOfUnanswered(t *testing.T) {
	ask := message(firn.RoleUser, firn.Text{Text: "are you there?"})
	yes := message(firn.RoleAssistant, firn.Text{Text: "Yes."})
	claw := openclaw.New(pi.New(native.New()))
	for _, c := range []struct {
		tool    dialect.Tool
		as      string
		entries []firn.Entry
		want    int
	}{
		{claw, "x", []firn.Entry{ask}, 1}, {claw, "x", []firn.Entry{ask, ask}, 1}, {claw, "x", []firn.Entry{ask, yes, ask}, 0},
		{claw, "", []firn.Entry{ask}, 0}, {pi.New(native.New()), "x", []firn.Entry{ask}, 0},
	} {
		var out bytes.Buffer
		report := &Report{}
		if err := Write(t.Context(), &out, source(native.NewTool(), transcript(t, c.entries...)), c.tool, dialect.Target{Session: "s", CWD: "/w", As: c.as}, report); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "(no answer)"); got != c.want || report.Losses[limitAnswer] != int64(c.want) {
			t.Errorf("%s, %q, %d entries: %d placeholders, %d in the report\n%s", c.tool.Name(), c.as, len(c.entries), got, report.Losses[limitAnswer], &out)
		}
	}
}

// TestEmptyFirstMessage checks that a conversation starts with a message of the user if its
// first one is left out.
func TestEmptyFirstMessage(t *testing.T) {
	for _, part := range []firn.Part{firn.Text{}, firn.Text{Text: " "}, firn.OpaquePart{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram"}`)}} {
		text := transcript(t, message(firn.RoleUser, part), message(firn.RoleAssistant, firn.Text{Text: "Yes?"}), message(firn.RoleUser, firn.Text{Text: "look"}))
		for _, tool := range []dialect.Tool{claudecode.New(), pi.New(native.New()), openclaw.New(pi.New(native.New())), cersei.New(cersei.Options{}), claw0.New(claw0.Options{})} {
			var out bytes.Buffer
			if err := Write(t.Context(), &out, source(native.NewTool(), text), tool, dialect.Target{Session: "s", CWD: "/w"}, &Report{}); err != nil {
				t.Fatal(err)
			}
			items := itemsOf(t, tool, out.String())
			for i := range items { // no tool sends empty text
				parts := &items[i].Message.Parts
				*parts = slices.DeleteFunc(*parts, func(p firn.Part) bool { text, ok := p.(firn.Text); return ok && text.Text == "" })
			}
			items = slices.DeleteFunc(items, func(it window.Item) bool { return len(it.Message.Parts) == 0 })
			if err := windowtest.Check(window.Anthropic(), window.Window{Items: items}); err != nil {
				t.Errorf("%s, a first message of %+v: the provider rejects it: %v\n%s", tool.Name(), part, err, &out)
			}
		}
	}
}

// TestOpenCalls checks that calls that are open at the end get a result if the tool does not
// add it when it resumes the session.
func TestOpenCalls(t *testing.T) {
	text := transcript(t, message(firn.RoleUser, firn.Text{Text: "look"}),
		message(firn.RoleAssistant, callOf("a", "ls", `{}`), callOf("b", "ls", `{}`)), resultOf("b"))
	for _, c := range []struct {
		tool    dialect.Tool
		profile window.Profile
		want    int64
	}{
		{crabtalk.New(), window.OpenAIChat(), 1}, {cersei.New(cersei.Options{}), window.Anthropic(), 1}, {claw0.New(claw0.Options{}), window.Anthropic(), 1},
		{claudecode.New(), window.Anthropic(), 0}, {codex.New(), window.OpenAIResponses(), 0}, {pi.New(native.New()), window.Anthropic(), 0},
	} {
		var out bytes.Buffer
		report := &Report{}
		if err := Write(t.Context(), &out, source(native.NewTool(), text), c.tool, dialect.Target{Session: "s", CWD: "/w"}, report); err != nil {
			t.Fatal(err)
		}
		if got := report.Losses[limitUnanswered]; got != c.want {
			t.Errorf("%s: %d placeholders are reported, want %d\n%s", c.tool.Name(), got, c.want, &out)
		}
		w := window.Window{Items: itemsOf(t, c.tool, out.String())}
		w.Items = append(w.Items, window.Item{Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "what was it?"}}}})
		if err := windowtest.Check(c.profile, w); err != nil && c.want > 0 {
			t.Errorf("%s: the provider rejects it: %v\n%s", c.tool.Name(), err, &out)
		}
	}
}

// itemsOf reads a transcript as a tool would send it: each message unchanged.
func itemsOf(t *testing.T, tool dialect.Tool, text string) (items []window.Item) {
	t.Helper()
	for e, err := range Entries(source(tool, text), &Report{}) {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := e.Body.(*firn.Message); ok && window.IsSent(&e) {
			m.Parts = slices.DeleteFunc(m.Parts, func(p firn.Part) bool { o, ok := p.(firn.OpaquePart); return ok && o.Type == "document" }) // Claude Code sends them
			n := len(items)
			if n > 0 && m.Role != firn.RoleToolResult && items[n-1].Message.Role == m.Role { // all tools merge them
				items[n-1].Message.Parts = append(items[n-1].Message.Parts, m.Parts...)
				continue
			}
			items = append(items, window.Item{Message: *m})
		}
	}
	return items
}

// TestFitChangesNothing checks that a conversation that every provider accepts is not
// changed, and that no loss is reported.
func TestFitChangesNothing(t *testing.T) {
	text := transcript(t,
		message(firn.RoleUser, firn.Text{Text: "look"}),
		message(firn.RoleAssistant, firn.Text{Text: "So."}, callOf("toolu_1", "read", `{"a": 1.50}`)),
		message(firn.RoleToolResult, firn.ToolResult{CallID: "toolu_1", Name: "read", Content: []firn.Part{firn.Text{Text: "ok"}}}),
		message(firn.RoleAssistant, firn.Text{Text: "the end"}),
	)
	for _, tool := range []dialect.Tool{pi.New(native.New()), openclaw.New(pi.New(native.New()))} {
		var out bytes.Buffer
		report := &Report{}
		if err := Write(t.Context(), &out, source(native.NewTool(), text), tool, dialect.Target{Session: "s"}, report); err != nil {
			t.Fatal(err)
		}
		_, want, _ := strings.Cut(text, "\n")
		if _, got, _ := strings.Cut(out.String(), "\n"); got != want || len(report.Losses) > 0 {
			t.Errorf("%s: wrote\n%s\nwant\n%s\nlosses %v", tool.Name(), got, want, report.Losses)
		}
	}
}

// TestOpenClawIsHandedOnePath checks that a handoff to OpenClaw has a single path without
// head entries, and that unknown tools are reported.
func TestOpenClawIsHandedOnePath(t *testing.T) {
	text := transcript(t,
		id(message(firn.RoleUser, firn.Text{Text: "one"}), "a"),
		id(message(firn.RoleAssistant, firn.Text{Text: "left behind"}), "b"),
		under(id(firn.Entry{Body: &firn.Head{Reason: "again"}}, "c"), "a"),
		firn.Entry{Body: &firn.Message{Role: firn.RoleAssistant, Model: "fake-1", Usage: &firn.Usage{}, Parts: []firn.Part{
			firn.Text{Text: "So."}, callOf("toolu_1", "calc", `{}`), callOf("toolu_2", "Read", `{}`)}}},
		resultOf("toolu_1"), resultOf("toolu_2"),
		message(firn.RoleAssistant, firn.Text{Text: "two"}, callOf("toolu_3", "exec", `{}`)),
		resultOf("toolu_3"),
	)
	tool := openclaw.New(pi.New(native.New()))
	for _, as := range []string{"s-2", ""} {
		var out bytes.Buffer
		report := &Report{}
		if err := Write(t.Context(), &out, source(native.NewTool(), text), tool, dialect.Target{Session: "s", As: as}, report); err != nil {
			t.Fatal(err)
		}
		handed := as != ""
		if content := out.String(); strings.Contains(content, "left behind") == handed || strings.Contains(content, `"type":"head"`) == handed || !strings.Contains(content, `"two"`) {
			t.Errorf("as %q:\n%s", as, content)
		}
		if report.Losses[limitTools] != 1 {
			t.Errorf("the report mentions %v", report.Losses)
		}
		if handed && len(itemsOf(t, tool, out.String())) != 6 {
			t.Errorf("the path is broken:\n%s", &out)
		}
	}
}
