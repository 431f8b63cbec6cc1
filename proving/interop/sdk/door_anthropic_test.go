package sdk

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	claude "github.com/anthropics/anthropic-sdk-go/option"
)

// TestDoorMessages checks that requests of a program that keeps the conversation itself
// continue one session, with and without a stream.
func TestDoorMessages(t *testing.T) {
	d := openDoor(t)
	params := anthropic.MessageNewParams{
		Model: "main", MaxTokens: 1000, System: []anthropic.TextBlockParam{{Text: "Be kind."}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("one"))},
	}
	first, err := d.claude.Messages.New(t.Context(), params)
	d.must(err)
	if got := spokenBlocks(first); got != "text: re: one" || first.StopReason != "end_turn" || first.Usage.OutputTokens == 0 || first.Role != "assistant" {
		t.Errorf("the answer is %s", first.RawJSON())
	}
	session := d.session
	params.Messages = append(params.Messages, first.ToParam(), anthropic.NewUserMessage(anthropic.NewTextBlock("two")))
	params.Thinking = anthropic.ThinkingConfigParamOfEnabled(1024)
	stream := d.claude.Messages.NewStreaming(t.Context(), params)
	var all anthropic.Message
	for stream.Next() {
		d.must(all.Accumulate(stream.Current()))
	}
	d.must(stream.Err())
	if got := spokenBlocks(&all); got != "thinking: well\ntext: re: two" || all.StopReason != "end_turn" || all.Usage.OutputTokens == 0 {
		t.Errorf("the stream is accumulated to %s", got)
	}
	if d.session != session || session == "" {
		t.Errorf("the conversation continued in %q, not in %q", d.session, session)
	}
	if n := len(d.asked.Window.Items); n != 3 || d.asked.Window.System != "Be kind." || d.asked.MaxTokens != 1000 {
		t.Errorf("the model was sent %d messages, %q, %d", n, d.asked.Window.System, d.asked.MaxTokens)
	}
	named, err := d.claude.Messages.New(t.Context(), anthropic.MessageNewParams{
		Model: "main", MaxTokens: 10, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("three"))},
	}, claude.WithHeader("X-Firn-Session", session))
	d.must(err)
	if d.session != session || !strings.HasPrefix(named.ID, "msg_"+session) || len(d.asked.Window.Items) != 5 {
		t.Errorf("the named session is %q, %s; %d messages", d.session, named.ID, len(d.asked.Window.Items))
	}
}

// spokenBlocks returns the blocks of an answer in short form.
func spokenBlocks(m *anthropic.Message) string {
	var lines []string
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			lines = append(lines, "text: "+b.Text)
		case "thinking":
			lines = append(lines, "thinking: "+b.Thinking)
		case "tool_use":
			lines = append(lines, "call: "+b.ID+" "+b.Name+" "+string(b.Input))
		}
	}
	return strings.Join(lines, "\n")
}

// TestDoorToolUse lets the program run its own tool, with and without a stream.
func TestDoorToolUse(t *testing.T) {
	weather := anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{Name: "weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}}}}
	for _, streamed := range []bool{false, true} {
		d := openDoor(t)
		params := anthropic.MessageNewParams{
			Model: "main", MaxTokens: 1000, Tools: []anthropic.ToolUnionParam{weather},
			Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("the weather?"))},
		}
		ask := func() *anthropic.Message {
			if !streamed {
				m, err := d.claude.Messages.New(t.Context(), params)
				d.must(err)
				return m
			}
			stream, all := d.claude.Messages.NewStreaming(t.Context(), params), &anthropic.Message{}
			for stream.Next() {
				d.must(all.Accumulate(stream.Current()))
			}
			d.must(stream.Err())
			return all
		}
		m := ask()
		if got := spokenBlocks(m); got != `call: call_1 weather {"city":"Graz"}` || m.StopReason != "tool_use" {
			t.Fatalf("streamed %v: the answer is %q, %s", streamed, got, m.StopReason)
		}
		session := d.session
		params.Messages = append(params.Messages, m.ToParam(), anthropic.NewUserMessage(
			anthropic.NewToolResultBlock("call_1", "sunny", false), anthropic.NewTextBlock("<reminder>Be brief.</reminder>")))
		params.Tools = nil
		if m = ask(); !strings.Contains(spokenBlocks(m), "text: ") || d.session != session {
			t.Errorf("streamed %v: the answer is %q in %s, not in %s", streamed, spokenBlocks(m), d.session, session)
		}
		if n := len(d.asked.Window.Items); n != 4 {
			t.Errorf("the model was sent %d messages", n)
		}
	}
}

// TestDoorCountTokens checks that a longer conversation has more tokens.
func TestDoorCountTokens(t *testing.T) {
	d := openDoor(t)
	count := func(text string) int64 {
		n, err := d.claude.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{
			Model: "main", Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
		})
		d.must(err)
		return n.InputTokens
	}
	if short, long := count("hello there"), count(strings.Repeat("hello there ", 100)); short < 1 || long < 50*short {
		t.Errorf("counted %d and %d tokens", short, long)
	}
}

// TestDoorMessagesRefused checks that errors have Anthropic's format, and that nothing is
// stored for a rejected request.
func TestDoorMessagesRefused(t *testing.T) {
	d := openDoor(t)
	hello := []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hi"))}
	for name, c := range map[string]struct {
		params  anthropic.MessageNewParams
		options []claude.RequestOption
		status  int
		kind    string
	}{
		"unknown model":  {anthropic.MessageNewParams{Model: "claude-17", MaxTokens: 1, Messages: hello}, nil, http.StatusNotFound, "not_found_error"},
		"no messages":    {anthropic.MessageNewParams{Model: "main", MaxTokens: 1}, nil, http.StatusBadRequest, "invalid_request_error"},
		"stop sequences": {anthropic.MessageNewParams{Model: "main", MaxTokens: 1, Messages: hello, StopSequences: []string{"x"}}, nil, http.StatusBadRequest, "invalid_request_error"},
		"forced tool": {anthropic.MessageNewParams{Model: "main", MaxTokens: 1, Messages: hello, ToolChoice: anthropic.ToolChoiceUnionParam{OfAny: &anthropic.ToolChoiceAnyParam{}}},
			nil, http.StatusBadRequest, "invalid_request_error"},
		"nothing to answer": {anthropic.MessageNewParams{Model: "main", MaxTokens: 1, Messages: append(hello[:1:1], anthropic.NewAssistantMessage(anthropic.NewTextBlock("x")))},
			nil, http.StatusBadRequest, "invalid_request_error"},
		"wrong key": {anthropic.MessageNewParams{Model: "main", MaxTokens: 1, Messages: hello}, []claude.RequestOption{claude.WithAPIKey("nobody")}, http.StatusUnauthorized, "authentication_error"},
	} {
		_, err := d.claude.Messages.New(t.Context(), c.params, c.options...)
		var failed *anthropic.Error
		if !errors.As(err, &failed) {
			t.Errorf("%s: the error is %v", name, err)
			continue
		}
		var body struct {
			Type  string
			Error struct{ Type, Message string }
		}
		d.must(json.Unmarshal([]byte(failed.RawJSON()), &body))
		if failed.StatusCode != c.status || body.Error.Type != c.kind || body.Type != "error" || body.Error.Message == "" {
			t.Errorf("%s: %d %s", name, failed.StatusCode, failed.RawJSON())
		}
	}
}
