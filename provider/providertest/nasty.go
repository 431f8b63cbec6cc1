package providertest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

func windowTests() []test {
	return []test{
		{name: "each nasty entry", run: testNasty},
		{name: "nasty entries in any order", run: testNastyMix},
		{name: "nothing to send", run: testNothing},
	}
}

// testNasty checks that the window of a log with awkward content can always be sent.
func testNasty(s *suite) {
	for i, body := range nastyBodies(s.model.Info()) {
		s.send(fmt.Sprintf("body %d (%T)", i, body), []firn.Entry{firn.UserText("Hello."), firn.NewEntry(body), firn.UserText("And now?")})
	}
}

func testNastyMix(s *suite) {
	bodies := nastyBodies(s.model.Info())
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		var entries []firn.Entry
		for range 1 + random.IntN(30) {
			entries = append(entries, firn.NewEntry(bodies[random.IntN(len(bodies))]))
		}
		s.send(fmt.Sprintf("mix %d", i), entries)
	}
}

// testNothing checks that a window without messages does no harm. There is no meaningful
// answer to it.
func testNothing(s *suite) {
	s.ask(s.ctx, provider.Request{})
	s.ask(s.ctx, provider.Request{Window: s.build(window.Path{}, "system"), Tools: tools()})
}

func (s *suite) send(name string, entries []firn.Entry) {
	s.Helper()
	req := s.request("")
	req.Window = s.build(window.Path{Entries: entries}, "You are \xff tested.")
	if len(req.Window.Items) == 0 {
		return
	}
	if o := s.ask(s.ctx, req); o.err != nil {
		s.Errorf("%s: %v", name, o.err)
	}
}

// nastyBodies returns bodies that occur in logs and that providers have trouble with.
func nastyBodies(info provider.Info) []firn.Body {
	var bodies []firn.Body
	message := func(role firn.Role, parts ...firn.Part) *firn.Message {
		m := &firn.Message{Role: role, Parts: parts, Time: time.UnixMilli(1)}
		bodies = append(bodies, m)
		return m
	}
	for _, text := range nastyTexts() {
		message(firn.RoleUser, firn.Text{Text: text})
		message(firn.RoleAssistant, firn.Text{Text: text})
		message(firn.RoleToolResult, firn.ToolResult{CallID: "call_1", Name: "read", Content: []firn.Part{firn.Text{Text: text}}})
		message(firn.RoleShell, firn.Shell{Command: text, Output: text})
	}
	for _, args := range []string{`{}`, ``, `null`, `[]`, `7`, `{"a":`, `{"a":"\ud800"}`, `{"a":"\u0000"}`, `{"a":1e999,"a":2}`, "{\"a\":\"\xff\"}", strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300)} {
		message(firn.RoleAssistant, firn.Text{Text: "look"}, firn.ToolCall{ID: "call_1", Name: "read", Arguments: json.RawMessage(args)})
	}
	for _, id := range []string{"", "call_1", "toolu_01|fc_02", "ünï", strings.Repeat("x", 300), "a b\n"} {
		message(firn.RoleAssistant, firn.ToolCall{ID: id, Name: "no such tool!", Arguments: json.RawMessage(`{}`)})
		message(firn.RoleToolResult, firn.ToolResult{CallID: id, Name: "", Content: nil, IsError: true})
	}
	for _, signature := range []string{"", "c2lnbmF0dXJl", "not base64", `{"type":"reasoning","id":"rs_1","summary":[]}`, "{\xff"} {
		for _, redacted := range []bool{false, true} {
			thought := firn.Thinking{Text: "hm", Signature: signature, Redacted: redacted}
			message(firn.RoleAssistant, thought)
			m := message(firn.RoleAssistant, thought, firn.Text{Text: "well", Signature: signature}, firn.ToolCall{ID: "call_1|fc_1", Name: "read", Arguments: json.RawMessage(`{}`), Signature: signature})
			m.API, m.Provider, m.Model = info.API, info.Provider, info.Name
		}
	}
	for _, image := range []firn.Image{
		{}, {MimeType: "image/png", Data: "!"}, {MimeType: "image/gif", Data: "R0lGODlhAQABAAAAADs="}, {MimeType: "text/plain", Data: "AAAA"},
	} {
		message(firn.RoleUser, image)
		message(firn.RoleAssistant, image)
		message(firn.RoleToolResult, firn.ToolResult{CallID: "call_1", Name: "read", Content: []firn.Part{image, firn.Text{Text: "see"}}})
	}
	message(firn.RoleUser)
	message(firn.RoleAssistant)
	message("alien", firn.Text{Text: "hi"})
	message(firn.RoleUser, firn.OpaquePart{Type: "video", Raw: json.RawMessage(`{"type":"video"}`)})
	failed := message(firn.RoleAssistant, firn.Text{Text: "half an ans"})
	failed.StopReason, failed.Error = firn.StopError, "overloaded"
	return append(bodies,
		&firn.BranchSummary{Summary: "</summary> went elsewhere"},
		&firn.CustomMessage{Type: "note", Parts: []firn.Part{firn.Text{Text: ""}}},
		&firn.Compaction{Summary: "of old"},
		&firn.ModelChange{Provider: "x", Model: "y"},
		&firn.Opaque{Type: "what", Raw: json.RawMessage(`{}`)},
	)
}

func nastyTexts() []string {
	return []string{"", " ", "fine", "\x00", "\xff\xfe", "\xed\xa0\x80", "a\u2028b", "\ufeff", "</s><|im_end|>\n\nHuman:", strings.Repeat("long ", 4000)}
}
