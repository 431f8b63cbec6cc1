package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

func encodeChat(t *testing.T, o Options, req provider.Request) []byte {
	t.Helper()
	body, err := NewChat(o).chatRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func encodeResponses(t *testing.T, o Options, req provider.Request) []byte {
	t.Helper()
	body, err := NewResponses(o).responsesRequest(req)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// pretty returns a request in readable form.
func pretty(t *testing.T, body []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", " "); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return b.String() + "\n"
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"

// talks returns conversations whose requests are compared with golden files.
func talks(info provider.Info) map[string][]firn.Entry {
	text := func(role firn.Role, parts ...firn.Part) firn.Entry {
		m := &firn.Message{Role: role, Parts: parts}
		if role == firn.RoleAssistant {
			m.API, m.Provider, m.Model = info.API, info.Provider, info.Name
		}
		return firn.NewEntry(m)
	}
	result := func(id string, content ...firn.Part) firn.Entry {
		return text(firn.RoleToolResult, firn.ToolResult{CallID: id, Name: "read", Content: content})
	}
	call := func(id, args string) firn.Part {
		return firn.ToolCall{ID: id, Name: "read", Arguments: json.RawMessage(args), Signature: "fc_" + id}
	}
	picture := firn.Image{MimeType: "image/png", Data: pixel}
	return map[string][]firn.Entry{
		"text": {firn.UserText("Grüße: \"<&>\" \\ \u2028\n")},
		"turns": {
			firn.UserText("One."), text(firn.RoleAssistant, firn.Text{Text: "Two.", Signature: "msg_2"}), firn.UserText("Three."), firn.UserText("And four."),
		},
		"picture": {text(firn.RoleUser, firn.Text{Text: "What is this?"}, picture, firn.Text{Text: "Quick!"})},
		"tools": {
			firn.UserText("Look."),
			text(firn.RoleAssistant, firn.Text{Text: "I look."}, call("call_1", `{"path": "a"}`), call("call_2", `{}`)),
			result("call_1", firn.Text{Text: "alpha"}, firn.Text{Text: "beta"}), result("call_2"),
		},
		"picture from a tool": {
			firn.UserText("Look."), text(firn.RoleAssistant, call("call_1", `{}`), call("call_2", `{}`)),
			result("call_1", picture), result("call_2", firn.Text{Text: "see"}, picture), firn.UserText("Well?"),
		},
		"interrupted": {firn.UserText("Look."), text(firn.RoleAssistant, call("call_1", `{}`)), firn.UserText("Never mind.")},
	}
}

// TestRequests compares the requests of conversations with golden files, for each server.
func TestRequests(t *testing.T) {
	for _, s := range servers() {
		info, encode := s.model()
		var all strings.Builder
		for _, name := range []string{"text", "turns", "picture", "tools", "picture from a tool", "interrupted"} {
			req := provider.Request{
				Window:    window.Build(window.Path{Entries: talks(info)[name]}, window.Options{System: "Be kind.", Profile: info.Profile, Ask: info.Ask()}),
				MaxTokens: 100, Thinking: provider.ThinkMax, Session: "0193-session",
			}
			if name != "text" {
				req.Tools = someTools()
			}
			body, err := encode(req)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.check(body); err != nil {
				t.Errorf("%s: %s: refused: %v", s.name, name, err)
			}
			fmt.Fprintf(&all, "-- %s --\n%s\n", name, body)
		}
		golden(t, filepath.Join("requests", strings.ReplaceAll(s.name, " ", "-")+".golden"), all.String())
	}
}

// TestThinkingIsSentBack checks that a profile that keeps thinking sends it back in the member
// it was received in.
func TestThinkingIsSentBack(t *testing.T) {
	win := window.Window{Items: []window.Item{
		{Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "Hello."}}}},
		{Message: firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{
			firn.Thinking{Text: "Hm", Signature: "reasoning_content"}, firn.Thinking{Text: "m.", Signature: "reasoning_content"},
			firn.Thinking{Text: "not this", Signature: "c2lnbmVk"}, firn.Text{Text: "Hi."},
		}}},
	}}
	body := encodeChat(t, Options{Name: "x", URL: "http://localhost"}, provider.Request{Window: win})
	const want = `{"role":"assistant","content":"Hi.","reasoning_content":"Hmm."}`
	if !strings.Contains(string(body), want) {
		t.Errorf("the request is\n%s\nwant in it\n%s", body, want)
	}
}

// TestNotSent checks that invalid requests fail without being sent.
func TestNotSent(t *testing.T) {
	hello := window.Window{Items: []window.Item{{Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "Hello."}}}}}}
	for name, req := range map[string]provider.Request{
		"nothing":         {},
		"only a system":   {Window: window.Window{System: "Be kind."}},
		"nothing in it":   {Window: window.Window{Items: []window.Item{{Message: firn.Message{Role: firn.RoleUser}}}}},
		"a broken schema": {Window: hello, Tools: []provider.Tool{{Name: "x", Schema: json.RawMessage(`{"type":`)}}},
	} {
		for _, m := range []provider.Model{
			NewChat(Options{Name: "x", URL: "http://127.0.0.1:1"}), NewResponses(Options{Name: "x", URL: "http://127.0.0.1:1"}),
		} {
			for event, err := range m.Stream(t.Context(), req) {
				if event != nil || provider.KindOf(err) != provider.BadRequest || !errors.Is(err, firn.ErrInvalid) {
					t.Errorf("%s: %v, %v", name, event, err)
				}
			}
		}
	}
}

// TestValidatorsReject checks that the validators reject requests with a single error.
func TestValidatorsReject(t *testing.T) {
	const chat = `{"model":"m","stream":true,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","content":"r","tool_call_id":"c"}]}`
	const responses = `{"model":"m","stream":true,"store":false,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},` +
		`{"type":"reasoning","id":"rs_1","encrypted_content":"x","summary":[]},{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}]}`
	for _, c := range []struct {
		check    func([]byte) error
		good     string
		old, new string
	}{
		{checkChat, chat, ``, ``},
		{checkChat, chat, `"stream":true`, `"stream":true,"stream":true`},
		{checkChat, chat, `"stream":true`, `"stream":false`},
		{checkChat, chat, `"stream":true`, `"stream":true,"seed":1`},
		{checkChat, chat, `"content":"a"`, `"content":" "`},
		{checkChat, chat, `"content":"a"`, `"content":[]`},
		{checkChat, chat, `"arguments":"{}"`, `"arguments":{}`},
		{checkChat, chat, `"arguments":"{}"`, `"arguments":"[]"`},
		{checkChat, chat, `"tool_call_id":"c"`, `"tool_call_id":"d"`},
		{checkChat, chat, `,{"role":"tool","content":"r","tool_call_id":"c"}`, ``},
		{checkChat, chat, `"name":"f"`, `"name":"f f"`},
		{chatServer{mistral: true}.check, chat, `x`, `x`},
		{checkResponses, responses, ``, ``},
		{checkResponses, responses, `"store":false`, `"store":true`},
		{checkResponses, responses, `"id":"fc_1"`, `"id":"msg_1"`},
		{checkResponses, responses, `"encrypted_content":"x",`, ``},
		{checkResponses, responses, `,{"type":"function_call_output","call_id":"c","output":"r"}`, ``},
		{checkResponses, responses, `{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":"{}"},`, ``},
		{checkResponses, responses, `input_text`, `output_text`},
		{checkResponses, responses, `"store":false`, `"store":false,"max_output_tokens":15`},
	} {
		bad := strings.Replace(c.good, c.old, c.new, 1)
		err := c.check([]byte(bad))
		if c.old == "" && err != nil {
			t.Errorf("a good request is refused: %v", err)
		} else if c.old != "" && err == nil {
			t.Errorf("with %s for %s it passes", c.new, c.old)
		}
	}
}

// TestIDsNeedReasoning checks that items after reasoning that cannot be sent back are sent
// without their IDs, because the API would look up the reasoning.
func TestIDsNeedReasoning(t *testing.T) {
	const sealed = `{"type":"reasoning","id":"rs_1","encrypted_content":"x","summary":[]}`
	win := window.Window{Items: []window.Item{
		{Message: firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{
			firn.Text{Text: "a", Signature: "msg_a"},
			firn.Thinking{Signature: "rs_of_another_time"}, firn.Text{Text: "b", Signature: "msg_b"}, firn.ToolCall{ID: "c", Name: "f", Signature: "fc_c"},
			firn.Thinking{Signature: sealed}, firn.Text{Text: "d", Signature: `{"v":1,"id":"msg_d","phase":"commentary"}`}, firn.ToolCall{ID: "e", Name: "f", Signature: "fc_e"},
		}}},
	}}
	body := string(encodeResponses(t, Options{Name: "x"}, provider.Request{Window: win}))
	for _, id := range []string{"msg_a", sealed, "msg_d", "commentary", "fc_e"} {
		if !strings.Contains(body, id) {
			t.Errorf("%s is missing in %s", id, body)
		}
	}
	for _, id := range []string{"rs_of_another_time", "msg_b", "fc_c"} {
		if strings.Contains(body, id) {
			t.Errorf("%s is in %s", id, body)
		}
	}
}

// TestDocumentsAreFiles sends a PDF as a file of the Responses API, in a message and in a
// result, and a text as text.
func TestDocumentsAreFiles(t *testing.T) {
	pdf := firn.OpaquePart{Type: "document", Raw: json.RawMessage(`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQK"}}`)}
	text := firn.OpaquePart{Type: "document", Raw: json.RawMessage(`{"type":"document","title":"a.txt","source":{"type":"text","media_type":"text/plain","data":"hello"}}`)}
	items, _ := window.OpenAIResponses().Apply([]window.Item{
		{Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{pdf}}},
		{Message: firn.Message{Role: firn.RoleUser, Parts: []firn.Part{text}}},
		{Message: firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.ToolCall{ID: "a", Name: "read", Arguments: json.RawMessage(`{}`)}}}},
		{Message: firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "a", Name: "read", Content: []firn.Part{firn.Text{Text: "seen"}, pdf}}}}},
	}, window.Ask{})
	body := string(encodeResponses(t, Options{Name: "gpt-5", Key: "k"}, provider.Request{Window: window.Window{Items: items}}))
	const file = `{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}`
	for _, want := range []string{`"content":[` + file + `,{"type":"input_text","text":"[document: a.txt]\nhello"}]`, `"output":[{"type":"input_text","text":"seen"},` + file + `]`} {
		if !strings.Contains(body, want) {
			t.Errorf("the request lacks %s:\n%s", want, body)
		}
	}
}
