package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
	"firn.dev/window/windowtest"

	"pgregory.net/rapid"
)

func one[T any](t *rapid.T, from ...T) T { return rapid.SampledFrom(from).Draw(t, "one") }

func drawText(t *rapid.T) string {
	return one(t, "hello", "", " \n", "a\x00b", "\xff", "\xed\xa0\xbd", "héllo 😀", "trailing \n", "</summary>", strings.Repeat("long ", 20))
}

func drawPart(t *rapid.T) firn.Part {
	id := one(t, "1", "2", "3", "", "a|b", "\x00", strings.Repeat("x", 80))
	name := one(t, "read", "now", "", "mcp/x.y")
	switch rapid.IntRange(0, 9).Draw(t, "part") {
	case 0:
		return firn.Image{MimeType: one(t, "image/png", "image/tiff", ""), Data: one(t, tinyPNG, "AAAA", "", "AAA")}
	case 1, 2:
		return firn.Thinking{Text: drawText(t), Signature: one(t, "", "c2ln", "c2ln", "\x00"), Redacted: rapid.Bool().Draw(t, "redacted")}
	case 3, 4:
		return firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(one(t, `{}`, `{"a": 1}`, ``, `null`, `[1]`, `{"a":`, `{"a":"\ud83d"}`, "{\n\"a\":\"\xff\"}"))}
	case 5:
		return drawResult(t, id, name)
	case 6:
		return one[firn.Part](t, firn.Shell{Command: drawText(t)}, firn.OpaquePart{Type: "server_tool_use", Raw: json.RawMessage(`{}`)})
	}
	return firn.Text{Text: drawText(t), Signature: one(t, "", "", "mark")}
}

func drawResult(t *rapid.T, id, name string) firn.ToolResult {
	result := firn.ToolResult{CallID: id, Name: name, IsError: rapid.Bool().Draw(t, "error")}
	for range rapid.IntRange(0, 2).Draw(t, "contents") {
		result.Content = append(result.Content, one[firn.Part](t, textPart(drawText(t)), firn.Image{MimeType: "image/png", Data: tinyPNG}, think("odd")))
	}
	return result
}

// drawMessage draws a message; after calls it is usually one of their results.
func drawMessage(t *rapid.T, model string, open *[]firn.ToolCall) *firn.Message {
	if n := len(*open); n > 0 && rapid.IntRange(0, 9).Draw(t, "answered") > 0 {
		c := (*open)[0]
		*open = (*open)[1:]
		return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{drawResult(t, c.ID, c.Name)}}
	}
	m := &firn.Message{
		Role:       one(t, firn.RoleUser, firn.RoleUser, firn.RoleAssistant, firn.RoleAssistant, firn.RoleAssistant, firn.RoleToolResult, firn.RoleShell, firn.RoleSystem, "alien"),
		StopReason: one(t, firn.StopEnd, firn.StopToolUse, firn.StopToolUse, firn.StopError),
	}
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		m.Parts = append(m.Parts, drawPart(t))
	}
	if m.Role == firn.RoleAssistant {
		m.API, m.Provider, m.Model = API, "anthropic", one(t, model, model, model, "another")
		for _, part := range m.Parts {
			if c, ok := part.(firn.ToolCall); ok {
				*open = append(*open, c)
			}
		}
	}
	return m
}

// drawRequest draws a history, possibly invalid, and a request built from it.
func drawRequest(t *rapid.T) (settings, provider.Request) {
	model := one(t, old, old, "claude-opus-4-6", newer, "claude-opus-5", bound, "glm-4.6")
	s := settingsOf(model)
	s.ttl = one(t, CacheShort, CacheHour, CacheOff)
	s.spec = provider.Spec{Window: one[int64](t, 0, 100, 200_000), MaxOutput: one[int64](t, 0, 1000, 3000, 64_000), Thinks: rapid.Bool().Draw(t, "thinks")}
	var path window.Path
	var open []firn.ToolCall
	for i := range rapid.IntRange(0, 25).Draw(t, "messages") {
		path.Entries = append(path.Entries, firn.Entry{ID: firn.EntryID(fmt.Sprint("e", i)), Body: drawMessage(t, model, &open)})
	}
	var injected []window.Injection
	for range rapid.IntRange(0, 2).Draw(t, "injections") {
		injected = append(injected, window.Injection{Name: "memory", Parts: []firn.Part{textPart(drawText(t))}})
	}
	return s, provider.Request{
		Window: window.Build(path, window.Options{
			System: drawText(t), Profile: window.Anthropic(), Injected: injected,
			Ask: window.Ask{API: API, Provider: "anthropic", Model: model},
		}),
		Tools:     tools[:rapid.IntRange(0, 2).Draw(t, "tools")],
		MaxTokens: one[int64](t, 0, 1, 5000, 1<<40),
		Thinking:  one(t, "", provider.ThinkOff, provider.ThinkMinimal, provider.ThinkHigh, provider.ThinkMax),
	}
}

// TestRandomHistories checks that the requests built from any log are accepted.
func TestRandomHistories(t *testing.T) {
	switched := 0
	check := func(t *rapid.T) {
		s, req := drawRequest(t)
		if len(req.Window.Items) == 0 {
			return
		}
		if err := windowtest.Check(window.Anthropic(), req.Window); err != nil {
			t.Fatal(err)
		}
		body, err := encode(s, req, answering)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(body, s.generation); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		if again, _ := encode(s, req, answering); !bytes.Equal(body, again) {
			t.Fatalf("encoded in two ways:\n%s\n%s", body, again)
		}
		if !s.generation.adaptive && !canBudgetThinking(layout(req.Window.Items, 0)) {
			switched++
		}
		for _, on := range []bool{true, false} {
			if most := planFor(s, req, on).maxTokens; s.spec.Window > 0 && most > s.spec.Window {
				t.Fatalf("%d tokens are requested, and the window has %d", most, s.spec.Window)
			}
		}
	}
	for range 20 { // they are small: one check of a hundred is too few
		rapid.Check(t, check)
	}
	if switched == 0 {
		t.Error("no history turns thinking off, so the test checks nothing")
	}
}
