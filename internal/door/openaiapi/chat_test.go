package openaiapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/internal/door/api"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/wire"
)

// TestChatGoesOn sends a growing conversation, as clients do. It must be one session, also
// after a restart, and the model must receive the client's messages.
func TestChatGoesOn(t *testing.T) {
	s := open(t, t.TempDir())
	messages := []object{says("system", "Be kind."), says("user", "hello")}
	text, first := s.chat(object{"model": "main", "messages": messages})
	s.want(text, "re: hello")
	if got := s.last().Window.System; got != "You are main.\n\nBe kind." {
		t.Errorf("the system prompt is %q", got)
	}
	messages = append(messages, says("assistant", text+"\n"), says("user", "and on"))
	text, second := s.chat(object{"model": "main", "messages": messages})
	s.want(second, first)
	s.want(seen(s.last()), "user: hello\nassistant: re: hello\nuser: and on")
	s = s.reopen()
	messages[0] = says("system", "It is Tuesday.") // does not start another conversation
	messages = append(messages, says("assistant", text), says("user", "further"))
	_, third := s.chat(object{"model": "main", "messages": messages})
	s.want(third, first)
	s.want(s.log(first), "user: hello\nassistant: re: hello\nuser: and on\nassistant: re: and on\nuser: further\nassistant: re: further")
	if n := s.sessions(); n != 1 {
		t.Errorf("there are %d sessions", n)
	}
}

// TestChatBranches edits and repeats a conversation: it becomes another branch of the same
// session, and nothing is lost. An unknown conversation is imported completely.
func TestChatBranches(t *testing.T) {
	s := open(t, t.TempDir())
	turns := []object{says("user", "a"), says("assistant", "re: a"), says("user", "b")}
	_, id := s.chat(object{"messages": turns[:1]})
	_, same := s.chat(object{"messages": turns})
	s.want(same, id)
	text, same := s.chat(object{"messages": append(turns[:2:2], says("user", "c"))})
	s.want(same, id)
	s.want(text, "re: c")
	s.want(seen(s.last()), "user: a\nassistant: re: a\nuser: c")
	tree, err := s.owner.Tree(t.Context(), firn.ID(id), 0, "")
	s.must(err)
	received := map[string]bool{}
	for _, n := range tree.Nodes {
		received[n.Preview] = true
	}
	if !received["b"] || !received["re: b"] || !received["c"] {
		t.Errorf("the tree has %v", received)
	}

	elsewhere := []object{says("user", "a"), says("assistant", "something else"), says("user", "d")}
	_, other := s.chat(object{"messages": elsewhere})
	if other == id {
		t.Error("a conversation from elsewhere continues one of ours")
	}
	s.want(seen(s.last()), "user: a\nassistant: something else\nuser: d")
	_, again := s.chat(object{"messages": turns[:1]})
	if again == id || again == other {
		t.Error("a new conversation continues another one")
	}
	_, theirs := s.chat(object{"user": "ada", "messages": turns})
	if theirs == id || theirs == again {
		t.Error("another user continues the conversation")
	}
}

// TestNamedSession names the session: then only new messages need to be sent.
func TestNamedSession(t *testing.T) {
	s := open(t, t.TempDir())
	_, id := s.chat(object{"messages": []object{says("user", "one")}, "metadata": object{"session": "My Trip"}})
	_, same := s.chat(object{"messages": []object{says("user", "two")}}, "X-Firn-Session", "My Trip")
	s.want(same, id)
	_, same = s.chat(object{"messages": []object{says("user", "x"), says("assistant", "y"), says("user", "three")}}, "X-Firn-Session", id)
	s.want(same, id)
	s.want(seen(s.last()), "user: one\nassistant: re: one\nuser: two\nassistant: re: two\nuser: three")
	_, other := s.chat(object{"messages": []object{says("user", "one")}, "metadata": object{"firn_session": "my trip"}})
	if other == id {
		t.Error("two names mean the same session")
	}
	_, keyed := s.chat(object{"messages": []object{says("user", "x"), says("assistant", "y"), says("user", "z")}}, "X-Firn-Session", "agent:work:trip")
	s.want(s.log(keyed), "user: x\nassistant: y\nuser: z\nassistant: re: z")
	session, err := s.owner.Session(t.Context(), "@agent:work:trip")
	s.must(err)
	s.want(string(session.ID), keyed)
	s.refused(http.StatusBadRequest, "POST", "/v1/chat/completions", object{"model": "main", "messages": []object{says("user", "x")}}, "X-Firn-Session", "agent:work:trip")
}

// TestDirectory names working directories in the metadata of requests.
func TestDirectory(t *testing.T) {
	s := open(t, t.TempDir())
	wantDirectories := func(id, want string) {
		t.Helper()
		session, err := s.owner.Session(t.Context(), id)
		s.must(err)
		s.want(session.CWD+strings.Join(append([]string{""}, session.Directories...), " then "), want)
	}
	in := func(dir string, texts ...string) object {
		var messages []object
		for i, text := range texts {
			messages = append(messages, says([]string{"user", "assistant"}[i%2], text))
		}
		return object{"messages": messages, "metadata": object{"cwd": dir}}
	}
	text, id := s.chat(in("/home/ann/shop", "one"))
	wantDirectories(id, "/home/ann/shop")
	more, same := s.chat(in("/home/ann/shop", "one", text, "two"))
	s.want(same, id)
	wantDirectories(id, "/home/ann/shop")
	_, same = s.chat(in("/home/ann/other", "one", text, "two", more, "three"))
	s.want(same, id)
	wantDirectories(id, "/home/ann/shop then /home/ann/other")
	answer := s.answer("POST", "/v1/responses", object{"input": "hello", "metadata": object{"cwd": "/home/ann/shop"}})
	place, _ := answer["firn"].(map[string]any)
	other, _ := place["session"].(string)
	wantDirectories(other, "/home/ann/shop")
	s.refused(http.StatusBadRequest, "POST", "/v1/chat/completions", in("a\nb", "x"))
}

// weather is a tool of the client.
var weather = object{"type": "function", "function": object{"name": "weather", "parameters": object{"type": "object", "properties": object{"city": object{"type": "string"}}}}}

// TestChatTools offers the model a tool that the client runs.
func TestChatTools(t *testing.T) {
	s := open(t, t.TempDir())
	s.play = func(last string) scripted.Step {
		if last == "sunny" {
			return scripted.Reply("it is sunny")
		}
		return scripted.Join(scripted.Reply("I look."), scripted.Call("call_1", "weather", `{"city":"Graz"}`))
	}
	messages := []object{says("user", "the weather?")}
	body := object{"model": "main", "messages": messages, "tools": []object{weather}}
	out := s.answer("POST", "/v1/chat/completions", body)
	if at(out, "choices", 0, "finish_reason") != "tool_calls" || at(out, "choices", 0, "message", "content") != "I look." {
		t.Errorf("the answer is %v", out)
	}
	call := at(out, "choices", 0, "message", "tool_calls", 0)
	if at(call, "function", "name") != "weather" || at(call, "function", "arguments") != `{"city":"Graz"}` || at(call, "id") != "call_1" {
		t.Errorf("the call is %v", call)
	}
	if tools := s.last().Tools; len(tools) != 1 || tools[0].Name != "weather" {
		t.Errorf("the model has the tools %v", tools)
	}
	reply, _ := at(out, "choices", 0, "message").(object)
	body["messages"] = append(messages, reply, object{"role": "tool", "tool_call_id": "call_1", "content": "sunny"})
	text, id := s.chat(body)
	s.want(text, "it is sunny")
	if id != at(out, "firn", "session") {
		t.Error("the result went to another session")
	}
	s.want(s.log(id), "user: the weather?\nassistant: I look.\ntoolResult: \nassistant: it is sunny")
}

// TestAgentsTools checks that the agent can use its own tools, and that the client receives
// the text before and after.
func TestAgentsTools(t *testing.T) {
	s := open(t, t.TempDir())
	s.play = func(last string) scripted.Step {
		if last == "sum" {
			return scripted.Join(scripted.Reply("Let me see."), scripted.Call("c1", "calc", `{"expression":"6*7"}`))
		}
		return scripted.Reply("It is " + last)
	}
	messages := []object{says("user", "sum")}
	text, id := s.chat(object{"messages": messages})
	if !strings.HasPrefix(text, "Let me see.\n\nIt is ") || !strings.Contains(text, "42") {
		t.Errorf("the answer is %q", text)
	}
	s = s.reopen()
	_, same := s.chat(object{"messages": append(messages, says("assistant", text), says("user", "on"))})
	s.want(same, id)
}

// TestBareModel uses a model without an agent.
func TestBareModel(t *testing.T) {
	s := open(t, t.TempDir())
	info := scripted.Info()
	name := info.Provider + "/" + info.Name
	for _, model := range []string{name, info.Name} {
		s.chat(object{"model": model, "max_tokens": 77, "messages": []object{says("developer", "Be brief."), says("user", "hi")}})
		if got := s.last(); got.Window.System != "Be brief." || len(got.Tools) != 0 || got.MaxTokens != 77 {
			t.Errorf("%s: the model received %q, and has %v", model, got.Window.System, got.Tools)
		}
	}
	s.chat(object{"model": "main", "tool_choice": "none", "messages": []object{says("user", "hi")}})
	if got := s.last(); len(got.Tools) != 0 {
		t.Errorf("the model has %v", got.Tools)
	}
}

// TestRefusals checks that errors have OpenAI's format, including authentication errors.
func TestRefusals(t *testing.T) {
	s := open(t, t.TempDir())
	hello := []object{says("user", "hi")}
	const path = "/v1/chat/completions"
	code := s.refused(http.StatusNotFound, "POST", path, object{"model": "gpt-17", "messages": hello})
	if code["code"] != "model_not_found" || code["param"] != "model" || code["type"] != "invalid_request_error" {
		t.Errorf("got %v", code)
	}
	s.refused(http.StatusNotFound, "POST", path, object{"model": "no/such", "messages": hello})
	if n := s.sessions(); n != 0 {
		t.Errorf("a rejected request left %d sessions", n)
	}
	for param, body := range map[string]object{
		"n":               {"n": 2, "messages": hello},
		"stop":            {"stop": []string{"a", "b", "c", "d", "e"}, "messages": hello},
		"response_format": {"response_format": object{"type": "json_schema", "json_schema": object{"name": "x", "schema": "y"}}, "messages": hello},
		"messages":        {"messages": []object{says("user", "x"), says("assistant", "y")}},
		"tool_choice":     {"tool_choice": "required", "messages": hello},
		"tools":           {"tools": []object{{"type": "web_search"}}, "messages": hello},
	} {
		if got := s.refused(http.StatusBadRequest, "POST", path, body); got["param"] != param {
			t.Errorf("%s: got %v", param, got)
		}
	}
	s.refused(http.StatusBadRequest, "POST", path, object{"messages": []object{{"role": "user", "content": []object{{"type": "image_url", "image_url": object{"url": "http://example.org/x.png"}}}}}})
	s.refused(http.StatusBadRequest, "POST", path, object{"messages": "x"})
	if got := s.refused(http.StatusUnauthorized, "POST", path, object{"messages": hello}, "Authorization", "Bearer nobody"); got["code"] != "invalid_api_key" {
		t.Errorf("got %v", got)
	}
	s.refused(http.StatusForbidden, "POST", path, object{"messages": hello}, "Origin", "http://evil.example")
}

// TestStream checks the chunks, finish reason, usage and end of a streamed chat.
func TestStream(t *testing.T) {
	s := open(t, t.TempDir())
	s.play = func(string) scripted.Step { return scripted.Think("hm", "one two three") }
	response, body := s.ask("POST", "/v1/chat/completions", object{
		"model": "main", "stream": true, "stream_options": object{"include_usage": true}, "messages": []object{says("user", "count")},
	})
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" || response.Header.Get("X-Firn-Session") == "" {
		t.Errorf("the header is %v", response.Header)
	}
	var text, thought, finish string
	var usage, last any
	n := 0
	for e, err := range sse.Read(strings.NewReader(body)) {
		s.must(err)
		n++
		if string(e.Data) == "[DONE]" {
			last = "done"
			continue
		}
		last = nil
		var chunk object
		s.must(json.Unmarshal(e.Data, &chunk))
		piece, _ := at(chunk, "choices", 0, "delta", "content").(string)
		text += piece
		piece, _ = at(chunk, "choices", 0, "delta", "reasoning_content").(string)
		thought += piece
		if reason, ok := at(chunk, "choices", 0, "finish_reason").(string); ok {
			finish = reason
		}
		if u := chunk["usage"]; u != nil {
			usage = at(u, "total_tokens")
		}
	}
	if text != "one two three" || thought != "hm" || finish != "stop" || usage == nil || last != "done" || n < 6 {
		t.Errorf("%d events: %q, %q, %q, %v, %v", n, text, thought, finish, usage, last)
	}
}

// TestFailingModel checks that errors have a status if nothing was sent, and are part of
// the stream otherwise.
func TestFailingModel(t *testing.T) {
	s := open(t, t.TempDir())
	s.play = func(string) scripted.Step { return scripted.Fail(firn.ErrUnsupported) }
	s.refused(http.StatusConflict, "POST", "/v1/chat/completions", object{"stream": true, "messages": []object{says("user", "x")}})
	first := true
	s.play = func(string) scripted.Step {
		if step := scripted.Cut(2, scripted.Reply("one two three four")); first {
			first = false
			return step
		}
		return scripted.Fail(firn.ErrUnsupported)
	}
	_, body := s.ask("POST", "/v1/chat/completions", object{"stream": true, "messages": []object{says("user", "x")}})
	if !strings.Contains(body, `data: {"error":{`) || strings.Contains(body, "[DONE]") {
		t.Errorf("the stream is %s", body)
	}
}

// TestModels lists models and agents in both formats.
func TestModels(t *testing.T) {
	s := open(t, t.TempDir())
	out := s.answer("GET", "/v1/models", nil)
	names := map[any]bool{}
	data, _ := out["data"].([]any)
	for _, m := range data {
		names[at(m, "id")] = at(m, "object") == "model"
	}
	info := scripted.Info()
	name := info.Provider + "/" + info.Name
	if !names["main"] || !names["work"] || !names[name] || out["object"] != "list" || at(out, "items", 0, "id") != name {
		t.Errorf("the models are %v", out)
	}
	if got := s.answer("GET", "/v1/models/main", nil); got["owned_by"] != "firn" {
		t.Errorf("main is %v", got)
	}
	s.refused(http.StatusNotFound, "GET", "/v1/models/nobody", nil)
	models, err := s.owner.Models(t.Context())
	if err != nil || len(models) != 1 {
		t.Errorf("the client reads %v, %v", models, err)
	}
}

// TestScopes checks that read-only tokens and tokens bound elsewhere cannot send messages.
func TestScopes(t *testing.T) {
	s := open(t, t.TempDir())
	hello := object{"messages": []object{says("user", "hi")}}
	reader, err := s.owner.Access.CreateToken(t.Context(), wire.NewToken{Name: "reader", Scope: wire.ScopeRead})
	s.must(err)
	s.refused(http.StatusForbidden, "POST", "/v1/chat/completions", hello, "Authorization", "Bearer "+reader.Secret)
	bound, err := s.owner.Access.CreateToken(t.Context(), wire.NewToken{Name: "bound", Scope: wire.ScopeWrite, Agents: []string{"work"}})
	s.must(err)
	s.refused(http.StatusForbidden, "POST", "/v1/chat/completions", hello, "Authorization", "Bearer "+bound.Secret)
	hello["model"] = "work"
	_, id := s.chat(hello, "Authorization", "Bearer "+bound.Secret)
	hello["model"] = "main"
	_, secret := s.chat(hello)
	s.refused(http.StatusNotFound, "GET", "/v1/conversations/conv_"+secret, nil, "Authorization", "Bearer "+bound.Secret)
	s.answer("GET", "/v1/conversations/conv_"+id, nil, "Authorization", "Bearer "+bound.Secret)
}

// TestOwner checks that the owner needs no token, that a header cannot claim to be the
// owner, and that inner requests have the identity of the outer one.
func TestOwner(t *testing.T) {
	s := open(t, t.TempDir())
	ask := func(handler http.Handler, token string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/chat/completions", strings.NewReader(`{"messages":[{"role":"user","content":"hi"}]}`))
		r.Header.Set("Content-Type", "application/json")
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	if got := ask(api.Owner(s.handler), ""); got != http.StatusOK {
		t.Errorf("the owner gets %d", got)
	}
	if got := ask(s.handler, ""); got != http.StatusUnauthorized {
		t.Errorf("an unauthenticated request gets %d", got)
	}
	reader, err := s.owner.Access.CreateToken(t.Context(), wire.NewToken{Name: "reader", Scope: wire.ScopeRead})
	s.must(err)
	if got := ask(api.Owner(s.handler), reader.Secret); got != http.StatusForbidden {
		t.Errorf("the owner with a token that may only read gets %d", got)
	}
}

// TestStop checks that an answer ends before a stop sequence, in the stream and in the log.
func TestStop(t *testing.T) {
	s := open(t, t.TempDir())
	s.play = func(string) scripted.Step { return scripted.Reply("one two three") }
	for _, stop := range []any{" three", []string{"four", " three"}} {
		got := s.answer("POST", "/v1/chat/completions", object{"model": "scripted/scripted", "stop": stop, "messages": []object{says("user", "count")}})
		if text, _ := json.Marshal(got["choices"]); !strings.Contains(string(text), `"content":"one two"`) || !strings.Contains(string(text), `"finish_reason":"stop"`) {
			t.Errorf("stop at %v: %s", stop, text)
		}
	}
	_, streamed := s.ask("POST", "/v1/chat/completions", object{"model": "scripted/scripted", "stream": true, "stop": "two", "messages": []object{says("user", "count")}})
	if strings.Contains(streamed, "tw") || !strings.Contains(streamed, "one") {
		t.Errorf("the stream is %s", streamed)
	}
	if asked := s.asked[len(s.asked)-1]; len(asked.Stop) != 1 || asked.Stop[0] != "two" {
		t.Errorf("the model was sent %q", asked.Stop)
	}
	for _, stop := range []any{"", 1, []string{"x", ""}} {
		if got := s.refused(http.StatusBadRequest, "POST", "/v1/chat/completions", object{"stop": stop, "messages": []object{says("user", "hi")}}); got["param"] != "stop" {
			t.Errorf("stop %v: %v", stop, got)
		}
	}
}

// TestSchema checks that a schema is sent to the model, and that a model that cannot answer
// in JSON is named.
func TestSchema(t *testing.T) {
	schema := object{"type": "object", "properties": object{"n": object{"type": "integer"}}}
	chat := func(format object) object {
		return object{"model": "scripted/scripted", "response_format": format, "messages": []object{says("user", "count")}}
	}
	plain := open(t, t.TempDir())
	for _, body := range []object{chat(object{"type": "json_object"}), chat(object{"type": "json_schema", "json_schema": object{"name": "count", "schema": schema}})} {
		for _, stream := range []bool{false, true} {
			body["stream"] = stream
			got := plain.refused(http.StatusBadRequest, "POST", "/v1/chat/completions", body)
			if got["param"] != "response_format" || !strings.Contains(got["message"].(string), "scripted/scripted") {
				t.Errorf("got %v", got)
			}
		}
	}
	s := openWith(t, t.TempDir(), "", provider.Info{Formats: true})
	s.play = func(string) scripted.Step { return scripted.Reply(`{"n":1}`) }
	s.answer("POST", "/v1/chat/completions", chat(object{"type": "json_schema", "json_schema": object{"name": "count", "strict": true, "schema": schema}}))
	got := s.answer("POST", "/v1/responses", object{"model": "scripted/scripted", "input": "count", "text": object{"format": object{"type": "json_schema", "name": "count", "strict": true, "schema": schema}}})
	if text, _ := json.Marshal(got["text"]); !strings.Contains(string(text), `"name":"count"`) {
		t.Errorf("the response has %s", text)
	}
	for _, asked := range s.asked {
		if f := asked.Format; f == nil || f.Name != "count" || f.Strict == nil || !*f.Strict || !strings.Contains(string(f.Schema), `"integer"`) {
			t.Errorf("the model was sent %+v", f)
		}
	}
	for _, format := range []object{{"type": "json_schema", "name": "a b", "schema": schema}, {"type": "json_schema", "name": "x"}, {"type": "xml"}} {
		if got := s.refused(http.StatusBadRequest, "POST", "/v1/responses", object{"input": "x", "text": object{"format": format}}); got["param"] != "text.format" {
			t.Errorf("%v: %v", format, got)
		}
	}
}
