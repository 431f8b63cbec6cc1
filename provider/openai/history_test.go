package openai

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/provider/providertest"
	"firn.dev/window"
)

// server is a server that requests are written for, and its validation.
type server struct {
	name    string
	options Options
	api     string
	check   func([]byte) error
}

func servers() []server {
	spec := providertest.Spec()
	o := func(url, name string, profile window.Profile) Options {
		return Options{Name: "test", URL: url, Provider: name, Profile: profile, Spec: spec}
	}
	none := window.Profile{}
	dull := Options{Name: "test", Spec: provider.Spec{Window: 8000}}
	return []server{
		{"openai", o("", "", none), ChatAPI, checkChat},
		{"openai without thinking", dull, ChatAPI, checkChat},
		{"ollama", o("http://localhost:11434/v1", "ollama", none), ChatAPI, checkChat},
		{"openrouter", o("https://openrouter.ai/api/v1", "openrouter", none), ChatAPI, chatServer{router: true}.check},
		{"mistral", o("https://api.mistral.ai/v1", "mistral", window.Mistral()), ChatAPI, chatServer{mistral: true}.check},
		{"gemini", o("https://generativelanguage.googleapis.com/v1beta/openai", "google", window.Gemini()), ChatAPI, chatServer{google: true}.check},
		{"responses", o("", "", none), ResponsesAPI, checkResponses},
		{"responses without thinking", dull, ResponsesAPI, checkResponses},
		{"responses elsewhere", o("http://localhost:1234/v1", "lmstudio", none), ResponsesAPI, checkResponses},
	}
}

// model returns the server's model and the function that encodes its requests.
func (s server) model() (provider.Info, func(provider.Request) ([]byte, error)) {
	if s.api == ChatAPI {
		m := NewChat(s.options)
		return m.Info(), m.chatRequest
	}
	m := NewResponses(s.options)
	return m.Info(), m.responsesRequest
}

// items returns reasoning items, with and without content.
func items() []string {
	sealed := `{"id":"rs_1","type":"reasoning","encrypted_content":"c2VhbGVk","summary":[]}`
	return []string{sealed, "{\n" + sealed[1:], `{"id":"rs_2","type":"reasoning","summary":[]}`}
}

// marks returns marks of answers, valid and invalid.
func marks() []string {
	return append(items(),
		"", "msg_1", "fc_1", "rs_1", "reasoning_content", "reasoning", "c2lnbmVk", "\x00", strings.Repeat("msg_", 30),
		`{"type":"message"}`, `{"v":1,"id":"msg_2","phase":"final_answer"}`, `{"v":1,"id":"nope"}`, `{"v":2,"id":"msg_2"}`, `{`, `[]`, "msg_ü",
	)
}

func drawPart(t *rapid.T, depth int) firn.Part {
	text := rapid.SampledFrom([]string{"hello", "", " \n", "a\x00b", "\xff", "héllo 😀", "\u2028", `"quoted" \ `, strings.Repeat("long ", 40)})
	mark := rapid.SampledFrom(marks())
	id := rapid.SampledFrom([]string{"1", "2", "call_1", "", "call_a|fc_b", strings.Repeat("x", 80), "ünï", "\x00"})
	switch rapid.IntRange(0, 8).Draw(t, "part") {
	case 0, 1:
		return firn.Text{Text: text.Draw(t, "text"), Signature: mark.Draw(t, "mark")}
	case 2:
		return firn.Image{
			MimeType: rapid.SampledFrom([]string{"image/png", "image/gif", "image/tiff", ""}).Draw(t, "type"),
			Data:     rapid.SampledFrom([]string{"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", "R0lGODlhAQABAAAAADs=", "", "no"}).Draw(t, "data"),
		}
	case 3:
		if rapid.Bool().Draw(t, "reasoning") {
			mark = rapid.SampledFrom(items())
		}
		return firn.Thinking{Text: text.Draw(t, "thought"), Signature: mark.Draw(t, "mark"), Redacted: rapid.Bool().Draw(t, "redacted")}
	case 4, 5:
		return firn.ToolCall{
			ID: id.Draw(t, "id"), Name: rapid.SampledFrom([]string{"read", "", "mcp/x.y", strings.Repeat("n", 80)}).Draw(t, "name"),
			Arguments: json.RawMessage(rapid.SampledFrom([]string{`{}`, `{"a": 1}`, ``, `null`, `[1]`, `"{}"`, `{"a":`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}"}).Draw(t, "arguments")),
			Signature: mark.Draw(t, "mark"),
		}
	case 6:
		if depth > 0 {
			return firn.Text{Text: "deep"}
		}
		return firn.ToolResult{CallID: id.Draw(t, "id"), Name: "read", Content: drawParts(t, 1), IsError: rapid.Bool().Draw(t, "error")}
	case 7:
		return firn.OpaquePart{Type: "video", Raw: json.RawMessage(`{}`)}
	}
	return firn.Text{Text: text.Draw(t, "text")}
}

func drawParts(t *rapid.T, depth int) []firn.Part {
	parts := make([]firn.Part, rapid.IntRange(0, 4).Draw(t, "parts"))
	for i := range parts {
		parts[i] = drawPart(t, depth)
	}
	return parts
}

// drawHistory draws any entries that a log may hold.
func drawHistory(t *rapid.T, info provider.Info) []firn.Entry {
	var entries []firn.Entry
	for range rapid.IntRange(1, 12).Draw(t, "entries") {
		m := &firn.Message{
			Role:  rapid.SampledFrom([]firn.Role{firn.RoleUser, firn.RoleAssistant, firn.RoleAssistant, firn.RoleToolResult, firn.RoleSystem}).Draw(t, "role"),
			Parts: drawParts(t, 0),
		}
		if m.Role == firn.RoleAssistant && rapid.Bool().Draw(t, "own") {
			m.API, m.Provider, m.Model = info.API, info.Provider, info.Name
		}
		if m.Role == firn.RoleToolResult {
			m.Parts = []firn.Part{firn.ToolResult{CallID: rapid.SampledFrom([]string{"1", "2", "call_1"}).Draw(t, "id"), Name: "read", Content: drawParts(t, 1)}}
		}
		entries = append(entries, firn.NewEntry(m))
	}
	return entries
}

func drawRequest(t *rapid.T, info provider.Info) provider.Request {
	req := provider.Request{
		Window: window.Build(window.Path{Entries: drawHistory(t, info)}, window.Options{
			System:  rapid.SampledFrom([]string{"", "You are\x00 kind.", "Be \xff brief."}).Draw(t, "system"),
			Profile: info.Profile, Ask: info.Ask(),
		}),
		MaxTokens: rapid.SampledFrom([]int64{0, 1, 500, 1 << 40}).Draw(t, "max"),
		Thinking:  rapid.SampledFrom([]provider.Thinking{"", provider.ThinkOff, provider.ThinkMinimal, provider.ThinkMedium, provider.ThinkMax, "odd"}).Draw(t, "thinking"),
		Session:   firn.ID(rapid.SampledFrom([]string{"", "s", strings.Repeat("s", 128)}).Draw(t, "session")),
	}
	if rapid.Bool().Draw(t, "tools") {
		req.Tools = someTools()
	}
	return req
}

func someTools() []provider.Tool {
	return []provider.Tool{
		{Name: "read", Description: "Reads a \"file\".", Schema: json.RawMessage("{\"type\":\"object\",\n \"properties\":{\"path\":{\"type\":\"string\"}}}")},
		{Name: "now"},
	}
}

// TestEveryRequestIsAccepted checks that the request built from any log is accepted by the
// server, and always has the same bytes.
func TestEveryRequestIsAccepted(t *testing.T) {
	for _, s := range servers() {
		t.Run(s.name, func(t *testing.T) {
			info, encode := s.model()
			rapid.Check(t, func(t *rapid.T) {
				req := drawRequest(t, info)
				body, err := encode(req)
				if len(req.Window.Items) == 0 {
					if err == nil {
						t.Fatalf("nothing to send, and sent %s", body)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := s.check(body); err != nil {
					t.Fatalf("refused: %v\n%s", err, body)
				}
				if again, _ := encode(req); string(again) != string(body) {
					t.Fatalf("written once more it is\n%s\nand was\n%s", again, body)
				}
			})
		})
	}
}

// TestPrefixIsStable checks that each request of a conversation begins with the bytes of the
// previous one, so that a provider's cache finds them.
func TestPrefixIsStable(t *testing.T) {
	for _, s := range servers() {
		t.Run(s.name, func(t *testing.T) {
			info, encode := s.model()
			var entries []firn.Entry
			text := func(m *firn.Message) { entries = append(entries, firn.NewEntry(m)) }
			last := ""
			ask := func() {
				body, err := encode(provider.Request{
					Window: window.Build(window.Path{Entries: entries}, window.Options{System: "Be kind.", Profile: info.Profile, Ask: info.Ask()}),
					Tools:  someTools(), MaxTokens: 100, Thinking: provider.ThinkHigh, Session: "s",
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := s.check(body); err != nil {
					t.Fatal(err)
				}
				if !strings.HasPrefix(string(body), last) {
					t.Fatalf("after %d entries: the request\n%s\ndoes not begin with\n%s", len(entries), body, last)
				}
				last = strings.TrimSuffix(string(body), "]}")
			}
			for turn := range 40 {
				entries = append(entries, firn.UserText(fmt.Sprint("question ", turn)))
				ask()
				for step := range turn % 3 {
					text(answerOf(info, turn, step))
					for n := range 2 {
						text(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{
							firn.ToolResult{CallID: fmt.Sprintf("call_%d", n), Name: "read", Content: []firn.Part{firn.Text{Text: fmt.Sprint("result ", turn, step, n)}}},
						}})
					}
					ask()
				}
				text(&firn.Message{Role: firn.RoleAssistant, API: info.API, Provider: info.Provider, Model: info.Name, Parts: []firn.Part{
					firn.Text{Text: fmt.Sprint("answer ", turn), Signature: fmt.Sprintf("msg_%d", turn)},
				}})
			}
		})
	}
}

// answerOf returns an answer with thinking and calls. Its IDs repeat, as with servers that
// assign none.
func answerOf(info provider.Info, turn, step int) *firn.Message {
	m := &firn.Message{Role: firn.RoleAssistant, API: info.API, Provider: info.Provider, Model: info.Name}
	m.Parts = []firn.Part{
		firn.Thinking{Text: "hm", Signature: fmt.Sprintf(`{"type":"reasoning","id":"rs_%d_%d","encrypted_content":"x","summary":[]}`, turn, step)},
		firn.Text{Text: "look"},
	}
	for n := range 2 {
		m.Parts = append(m.Parts, firn.ToolCall{
			ID: fmt.Sprintf("call_%d", n), Name: "read", Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, turn)), Signature: fmt.Sprintf("fc_%d_%d_%d", turn, step, n),
		})
	}
	return m
}
