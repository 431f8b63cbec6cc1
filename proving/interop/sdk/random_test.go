package sdk

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"

	"pgregory.net/rapid"
)

func one[T any](t *rapid.T, from ...T) T { return rapid.SampledFrom(from).Draw(t, "one") }

func drawText(t *rapid.T) string {
	return one(t, "hello", "", " \n", "a\x00b", "\xff", "\xed\xa0\xbd", "héllo 😀", "\u2028", `"quoted" \ `, "<b>&amp;", strings.Repeat("long ", 50))
}

func drawID(t *rapid.T) string {
	return one(t, "1", "2", "call_1", "toolu_2", "", "call_a|fc_b", "ünï", "\x00", strings.Repeat("x", 80))
}

// drawMark draws a mark of any provider.
func drawMark(t *rapid.T) string {
	return one(t, "", "c2lnbmVk", "c2lnbmVk", sealed, sealed, open, `{"id":"rs_9","type":"reasoning","summary":[]}`,
		"msg_1", "fc_1", `{"v":1,"id":"msg_2","phase":"final_answer"}`, "reasoning_content", "not base64!", "\x00", "{")
}

func drawImage(t *rapid.T) firn.Image {
	return firn.Image{MimeType: one(t, "image/png", "image/gif", "image/tiff", ""), Data: one(t, pixel, "R0lGODlhAQABAAAAADs=", "", "no")}
}

func drawCall(t *rapid.T) firn.ToolCall {
	arguments := one(t, `{}`, `{"a": 1.50, "b": ["ü", null, {}]}`, ``, `null`, `[1]`, `"{}"`, `{"a":`, `{"a":"\ud83d"}`, "{\"a\":\"\xff\"}")
	return firn.ToolCall{
		ID: drawID(t), Name: one(t, "read", "now", "", "mcp/x.y", strings.Repeat("n", 80)),
		Arguments: json.RawMessage(arguments), Signature: drawMark(t),
	}
}

func drawResult(t *rapid.T, c firn.ToolCall) firn.ToolResult {
	r := firn.ToolResult{CallID: c.ID, Name: c.Name, IsError: rapid.Bool().Draw(t, "error")}
	for range rapid.IntRange(0, 3).Draw(t, "contents") {
		r.Content = append(r.Content, one[firn.Part](t, textPart(drawText(t)), drawImage(t)))
	}
	return r
}

func drawPart(t *rapid.T) firn.Part {
	switch rapid.IntRange(0, 9).Draw(t, "part") {
	case 0:
		return drawImage(t)
	case 1, 2:
		return firn.Thinking{Text: drawText(t), Signature: drawMark(t), Redacted: rapid.Bool().Draw(t, "redacted")}
	case 3, 4, 5:
		return drawCall(t)
	case 6:
		return one[firn.Part](t, firn.Shell{Command: drawText(t), Output: drawText(t)}, firn.OpaquePart{Type: "video"}, drawResult(t, drawCall(t)))
	}
	return firn.Text{Text: drawText(t), Signature: drawMark(t)}
}

// drawBody draws an entry. Calls mostly get their results.
func drawBody(t *rapid.T, info provider.Info, waiting *[]firn.ToolCall) firn.Body {
	if len(*waiting) > 0 && rapid.IntRange(0, 7).Draw(t, "answered") > 0 {
		c := (*waiting)[0]
		*waiting = (*waiting)[1:]
		return &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{drawResult(t, c)}}
	}
	if rapid.IntRange(0, 15).Draw(t, "kind") == 0 {
		return one[firn.Body](t, &firn.Compaction{Summary: drawText(t)}, &firn.BranchSummary{Summary: drawText(t)}, &firn.CustomMessage{Parts: []firn.Part{drawPart(t)}})
	}
	m := &firn.Message{
		Role:       one(t, firn.RoleUser, firn.RoleUser, firn.RoleAssistant, firn.RoleAssistant, firn.RoleAssistant, firn.RoleToolResult, firn.RoleShell, firn.RoleSystem, "alien"),
		StopReason: one(t, firn.StopEnd, firn.StopToolUse, firn.StopLength, firn.StopError),
	}
	for range rapid.IntRange(0, 4).Draw(t, "parts") {
		m.Parts = append(m.Parts, drawPart(t))
	}
	if m.Role != firn.RoleAssistant {
		return m
	}
	m.API, m.Provider, m.Model = info.API, info.Provider, one(t, info.Name, info.Name, info.Name, "another")
	for _, part := range m.Parts {
		if c, ok := part.(firn.ToolCall); ok {
			*waiting = append(*waiting, c)
		}
	}
	return m
}

// drawRequest draws a history, possibly broken, and a request for it.
func drawRequest(t *rapid.T, info provider.Info, tools []provider.Tool) provider.Request {
	h := history{system: drawText(t)}
	var waiting []firn.ToolCall
	for range rapid.IntRange(0, 15).Draw(t, "entries") {
		h.bodies = append(h.bodies, drawBody(t, info, &waiting))
	}
	for range rapid.IntRange(0, 2).Draw(t, "injections") {
		h.injected = append(h.injected, window.Injection{Name: "memory", Parts: []firn.Part{textPart(drawText(t))}})
	}
	return provider.Request{
		Window:    h.build(info),
		Tools:     tools[:rapid.IntRange(0, len(tools)).Draw(t, "tools")],
		MaxTokens: one[int64](t, 0, 1, 5000, 1<<40),
		Thinking:  one(t, levels()...),
		Session:   one[firn.ID](t, "", "1234-5678", firn.ID(strings.Repeat("s", 100))),
	}
}

// TestSentRandomly checks that the SDKs decode requests for any log, and send them again
// unchanged.
func TestSentRandomly(t *testing.T) {
	for _, s := range senders() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			server := newServer(t)
			m := s.model(server.client)
			specs := tools(t)
			ctx := t.Context()
			rapid.Check(t, func(t *rapid.T) {
				req := drawRequest(t, m.Info(), specs)
				if len(req.Window.Items) == 0 {
					return // nothing to send
				}
				sent, found := s.check(t, ctx, server, m, req, nil)
				complaints := s.unknownWords(sent.body, make(map[string]bool))
				for _, d := range found {
					complaints = append(complaints, d.String())
				}
				if len(complaints) > 0 {
					slices.Sort(complaints)
					t.Fatalf("%s\nin %s", strings.Join(complaints, "\n"), sent.body)
				}
			})
		})
	}
}
