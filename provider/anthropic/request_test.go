package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

const tinyPNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func textPart(text string) firn.Part { return firn.Text{Text: text} }

func think(text string) firn.Part { return firn.Thinking{Text: text, Signature: "sig:" + text} }

func call(id, name, args string) firn.Part {
	return firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

func byUser(parts ...firn.Part) *firn.Message {
	return &firn.Message{Role: firn.RoleUser, Parts: parts}
}

// byModel returns a message of the model that settingsOf returns for that name.
func byModel(name string, parts ...firn.Part) *firn.Message {
	return &firn.Message{Role: firn.RoleAssistant, API: API, Provider: "anthropic", Model: name, Parts: parts, StopReason: firn.StopToolUse}
}

func byTool(id, name string, parts ...firn.Part) *firn.Message {
	return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: id, Name: name, Content: parts}}}
}

// settingsOf returns the settings of a known model.
func settingsOf(name string) settings {
	return settings{name: name, generation: generationOf(name), spec: provider.Spec{Window: 200_000, MaxOutput: 64_000, Thinks: true, Sees: true}}
}

// build returns a window for the model with that name.
func build(name, system string, injected []window.Injection, messages ...*firn.Message) window.Window {
	var path window.Path
	for i, m := range messages {
		path.Entries = append(path.Entries, firn.Entry{ID: firn.EntryID(fmt.Sprint("e", i)), Body: m})
	}
	return window.Build(path, window.Options{
		System: system, Profile: window.Anthropic(), Injected: injected,
		Ask: window.Ask{API: API, Provider: "anthropic", Model: name},
	})
}

func inject(texts ...string) (injected []window.Injection) {
	for _, text := range texts {
		injected = append(injected, window.Injection{Name: "recall", Parts: []firn.Part{textPart(text)}})
	}
	return injected
}

var tools = []provider.Tool{
	{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "now"},
}

const (
	old   = "claude-sonnet-4-5-20250929"
	newer = "claude-opus-4-8"
	bound = "claude-opus-5-5"
)

// requests returns requests by name, each with the settings of its model.
func requests() map[string]struct {
	settings settings
	req      provider.Request
} {
	type request = struct {
		settings settings
		req      provider.Request
	}
	image := firn.Image{MimeType: "image/png", Data: tinyPNG}
	hour, off := settingsOf(old), settingsOf(old)
	hour.ttl, off.ttl = CacheHour, CacheOff
	failed := byTool("t2", "now")
	failed.Parts[0] = firn.ToolResult{CallID: "t2", Name: "now", Content: []firn.Part{textPart("no clock")}, IsError: true}
	loop := func(name string) []*firn.Message {
		return []*firn.Message{
			byUser(textPart("What is in a?")), byModel(name, think("first"), textPart("Looking."), call("t0", "read", `{"path":"a"}`)), byTool("t0", "read", textPart("A")),
			byModel(name, think("second"), textPart("It is A.")), byUser(textPart("And b?")),
			byModel(name, think("third"), firn.Thinking{Redacted: true, Signature: "hidden"}, textPart("Two at once."), call("t1", "read", `{"path": "b"}`), call("t2", "now", `{}`)),
			byTool("t1", "read", textPart("B"), image), failed,
		}
	}
	return map[string]request{
		"hello":        {settingsOf(old), provider.Request{Window: build(old, "", nil, byUser(textPart("Hello.")))}},
		"system":       {settingsOf(old), provider.Request{Window: build(old, "Be \"kind\".\n<&>\u2028", nil, byUser(textPart("Grüße 👋"), image)), Tools: tools}},
		"tools-only":   {hour, provider.Request{Window: build(old, "", nil, byUser(textPart("Hello."))), Tools: tools, MaxTokens: 100}},
		"loop":         {settingsOf(old), provider.Request{Window: build(old, "Help.", inject("It is Monday."), loop(old)...), Tools: tools, Thinking: provider.ThinkHigh}},
		"loop-off":     {settingsOf(old), provider.Request{Window: build(old, "Help.", inject("It is Monday."), loop(old)...), Tools: tools}},
		"loop-uncache": {off, provider.Request{Window: build(old, "Help.", inject("It is Monday."), loop(old)...), Tools: tools}},
		"loop-newer":   {settingsOf(newer), provider.Request{Window: build(newer, "Help.", inject("It is Monday."), loop(newer)...), Tools: tools, Thinking: provider.ThinkMax}},
		"loop-bound":   {settingsOf(bound), provider.Request{Window: build(bound, "Help.", inject("It is Monday."), loop(bound)...), Tools: tools, Thinking: provider.ThinkMedium}},
		"bound-append": {settingsOf(bound), provider.Request{Window: build(bound, "Help.", nil, loop(bound)...), Tools: tools}},
		"foreign-loop": {settingsOf(old), provider.Request{Window: build(old, "Help.", nil, loop("gpt-5")...), Tools: tools, Thinking: provider.ThinkLow}},
		"interjection": {settingsOf(old), provider.Request{Window: build(old, "Help.", inject("It is Monday.", "It rains."), append(loop(old), byUser(textPart("Hurry up!")))...), Tools: tools, Thinking: provider.ThinkLow}},
		"interrupted":  {settingsOf(old), provider.Request{Window: build(old, "Help.", nil, append(loop(old)[:6:6], byUser(textPart("Hello?")))...), Tools: tools}},
	}
}

// TestRequests compares requests with golden files, and checks them against the rules of
// the API.
func TestRequests(t *testing.T) {
	for name, r := range requests() {
		t.Run(name, func(t *testing.T) {
			body, err := encode(r.settings, r.req, answering)
			if err != nil {
				t.Fatal(err)
			}
			if err := validate(body, r.settings.generation); err != nil {
				t.Error(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, body, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			compare(t, "testdata/requests/"+name+".json", pretty.Bytes())
			again, _ := encode(r.settings, r.req, answering)
			if !bytes.Equal(again, body) {
				t.Errorf("the same request is encoded in two ways:\n%s\n%s", body, again)
			}
		})
	}
}

// TestCountedRequestEqualsSentRequest checks that the counted request equals the one that
// would be sent.
func TestCountedRequestEqualsSentRequest(t *testing.T) {
	for name, r := range requests() {
		body, err := encode(r.settings, r.req, answering)
		if err != nil {
			t.Fatal(err)
		}
		counted, err := encode(r.settings, r.req, counting)
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(body, &want), json.Unmarshal(counted, &got)); err != nil {
			t.Fatal(err)
		}
		for _, member := range []string{"max_tokens", "stream", "output_config"} {
			delete(want, member)
			if got[member] != nil {
				t.Errorf("%s: counting sends %s", name, member)
			}
		}
		for member, value := range want {
			if !bytes.Equal(got[member], value) {
				t.Errorf("%s: counting sends as %s\n%s\nwant\n%s", name, member, got[member], value)
			}
		}
	}
}

// TestDocumentsAreSent sends a PDF and a text, in a message and in a result.
func TestDocumentsAreSent(t *testing.T) {
	pdf := firn.OpaquePart{Type: "document", Raw: json.RawMessage(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"},"title":"a.pdf","x":1}`)}
	text := firn.OpaquePart{Type: "document", Raw: json.RawMessage(`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hello"}}`)}
	items := []window.Item{
		{Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{pdf, textPart("what does it say?")}}},
		{Message: firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{call("a", "b", `{}`)}}},
		{Message: firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "a", Content: []firn.Part{text}}}}},
	}
	items, repairs := window.Anthropic().Apply(items, window.Ask{})
	body, err := encode(settingsOf(old), provider.Request{Window: window.Window{Items: items}}, answering)
	if err != nil || len(repairs) != 0 || !json.Valid(body) {
		t.Fatalf("encode: %v, %v\n%s", err, repairs, body)
	}
	for _, want := range []string{
		`{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"}}`,
		`"content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"hello"}}]`,
	} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the request lacks %s:\n%s", want, body)
		}
	}
}

func TestInvalidWindows(t *testing.T) {
	item := func(role firn.Role, parts ...firn.Part) window.Window {
		return window.Window{Items: []window.Item{{Message: firn.Message{Role: role, Parts: parts}}}}
	}
	cases := map[string]provider.Request{
		"nothing to send":    {},
		"an empty message":   {Window: item(firn.RoleUser)},
		"only bare thinking": {Window: item(firn.RoleAssistant, firn.Thinking{Text: "hm"})},
		"an unknown part":    {Window: item(firn.RoleUser, firn.OpaquePart{Type: "video"})},
		"a command":          {Window: item(firn.RoleUser, firn.Shell{Command: "ls"})},
		"no arguments":       {Window: item(firn.RoleAssistant, firn.ToolCall{ID: "a", Name: "b"})},
		"half an object":     {Window: item(firn.RoleAssistant, call("a", "b", `{"a":`))},
		"a list":             {Window: item(firn.RoleAssistant, call("a", "b", `[1]`))},
		"thinking in result": {Window: item(firn.RoleToolResult, firn.ToolResult{CallID: "a", Content: []firn.Part{think("hm")}})},
		"half a schema":      {Window: item(firn.RoleUser, textPart("a")), Tools: []provider.Tool{{Name: "a", Schema: json.RawMessage(`{"type":`)}}},
	}
	for name, req := range cases {
		t.Run(name, func(t *testing.T) {
			if body, err := encode(settingsOf(old), req, answering); !errors.Is(err, firn.ErrInvalid) {
				t.Errorf("the error is %v, want an ErrInvalid; the request is\n%s", err, body)
			}
			m := New(Options{Name: old, Key: "k", URL: "http://127.0.0.1:0"})
			for _, err := range m.Stream(t.Context(), req) {
				if provider.KindOf(err) != provider.BadRequest {
					t.Errorf("the error is %v, want one of kind bad-request", err)
				}
			}
		})
	}
}

// TestValidatorRefuses breaks valid requests, one rule each, to check that the validator
// rejects them.
func TestValidatorRefuses(t *testing.T) {
	encodeAnswer := func(name string) string {
		r := requests()[name]
		body, err := encode(r.settings, r.req, answering)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	cases := []struct{ request, before, after, want string }{
		{"loop", `"stream":true`, `"stream":true,"x":1`, "unknown field"},
		{"loop", `"role":"assistant"`, `"role":"user"`, "alternate"},
		{"loop", `"text":"And b?"`, `"text":" "`, "non-empty"},
		{"loop", `{"type":"thinking","thinking":"third","signature":"sig:third"},{"type":"redacted_thinking","data":"hidden"},`, ``, "Expected `thinking`"},
		{"loop", `"tool_use_id":"t2"`, `"tool_use_id":"t9"`, "without `tool_result`"},
		{"loop", `"id":"t2"`, `"id":"t1"`, "unique"},
		{"loop", `"id":"t0"`, `"id":"t|0"`, "pattern"},
		{"loop", `"budget_tokens":16384`, `"budget_tokens":1000`, "1024"},
		{"loop", `"max_tokens":64000`, `"max_tokens":16384`, "greater than"},
		{"loop", `"signature":"sig:third"`, `"signature":"sig:third","cache_control":{"type":"ephemeral"}`, "thinking blocks"},
		{"loop", `"signature":"sig:first"`, `"signature":""`, "signature"},
		{"loop", `"is_error":true`, `"is_error":true,"data":"x"`, "Extra inputs"},
		{"loop", `"media_type":"image/png"`, `"media_type":"image/tiff"`, "image.source"},
		{"loop-off", `{"type":"text","text":"Two at once."}`, `{"type":"thinking","thinking":"x","signature":"y"},{"type":"text","text":"Two at once."}`, "thinking is disabled"},
		{"loop-newer", `"type":"adaptive"`, `"type":"enabled"`, "not supported"},
		{"loop-newer", `"display":"summarized"`, `"block_binding":{}`, "Extra inputs"},
		{"interjection", `{"type":"text","text":"Hurry up!"`, `{"type":"tool_result","tool_use_id":"t2","content":[]},{"type":"text","text":"Hurry up!"`, "come first"},
		{"hello", `"content":[{`, `"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAA"}},{`, "process image"},
	}
	for _, c := range cases {
		good := encodeAnswer(c.request)
		bad := strings.Replace(good, c.before, c.after, 1)
		if bad == good {
			t.Errorf("%s: there is no %s in\n%s", c.request, c.before, good)
			continue
		}
		if err := validate([]byte(bad), requests()[c.request].settings.generation); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s with %s: got %v, want a refusal with %q", c.request, c.after, err, c.want)
		}
	}
}
