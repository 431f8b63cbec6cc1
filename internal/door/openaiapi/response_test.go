package openaiapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/base/sse"
	"firn.dev/provider/scripted"
)

const responses = "/v1/responses"

// spoken returns the text of a response.
func spoken(out object) string {
	var b strings.Builder
	output, _ := out["output"].([]any)
	for _, it := range output {
		if at(it, "type") == "message" {
			text, _ := at(it, "content", 0, "text").(string)
			b.WriteString(text)
		}
	}
	return b.String()
}

// TestPreviousResponse continues from a response, also after a restart, and twice from the
// same one, which creates another branch.
func TestPreviousResponse(t *testing.T) {
	s := open(t, t.TempDir())
	first := s.answer("POST", responses, object{"model": "main", "instructions": "Be kind.", "input": []object{says("developer", "Speak English."), says("user", "one")}})
	s.want(spoken(first), "re: Speak English.\none") // the model receives both as one message
	if first["status"] != "completed" || first["object"] != "response" || at(first, "usage", "output_tokens") == 0.0 {
		t.Errorf("the response is %v", first)
	}
	if got := s.last().Window.System; got != "You are main.\n\nBe kind." {
		t.Errorf("the system prompt is %q", got)
	}
	second := s.answer("POST", responses, object{"model": "main", "input": "two", "previous_response_id": first["id"]})
	s.want(at(second, "firn", "session").(string), at(first, "firn", "session").(string))
	if sent := seen(s.last()); sent != "user: Speak English.\none\nassistant: re: Speak English.\none\nuser: two" {
		t.Errorf("the model was sent\n%s", sent)
	}
	if got := s.last().Window.System; got != "You are main." {
		t.Errorf("instructions are for one response: %q", got)
	}
	s = s.reopen()
	other := s.answer("POST", responses, object{"model": "main", "input": "another two", "previous_response_id": first["id"]})
	s.want(spoken(other), "re: another two")
	if sent := seen(s.last()); strings.Contains(sent, "re: two") {
		t.Errorf("the model received later messages\n%s", sent)
	}
	third := s.answer("POST", responses, object{"model": "main", "input": "three", "previous_response_id": second["id"]})
	if sent := seen(s.last()); !strings.HasSuffix(sent, "user: two\nassistant: re: two\nuser: three") {
		t.Errorf("the model was sent\n%s", sent)
	}
	id, _ := third["id"].(string)
	reported := s.answer("GET", responses+"/"+id, nil)
	if reported["id"] != id || spoken(reported) != "re: three" || reported["status"] != "completed" {
		t.Errorf("the repeated response is %v", reported)
	}
	s.answer("DELETE", responses+"/"+id, nil)
	s.refused(http.StatusNotFound, "GET", responses+"/"+id, nil)
	s.refused(http.StatusNotFound, "POST", responses, object{"input": "four", "previous_response_id": id})
	s.refused(http.StatusNotFound, "POST", responses, object{"input": "x", "previous_response_id": "resp_nobody_0"})
}

// TestResponseTools offers the model a tool and returns the result by way of the previous
// response.
func TestResponseTools(t *testing.T) {
	s := open(t, t.TempDir())
	s.play = func(last string) scripted.Step {
		if last == "sunny" {
			return scripted.Reply("it is sunny")
		}
		return scripted.Call("call_1", "weather", `{"city":"Graz"}`)
	}
	tools := []object{{"type": "function", "name": "weather", "parameters": object{"type": "object"}}}
	first := s.answer("POST", responses, object{"model": "main", "input": "the weather?", "tools": tools})
	call := at(first, "output", 0)
	if at(call, "type") != "function_call" || at(call, "call_id") != "call_1" || at(call, "arguments") != `{"city":"Graz"}` {
		t.Errorf("the output is %v", first["output"])
	}
	second := s.answer("POST", responses, object{"model": "main", "tools": tools, "previous_response_id": first["id"], "input": []object{
		{"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
	}})
	s.want(spoken(second), "it is sunny")

	// The same with the complete input in each request.
	call.(object)["id"] = nil
	again := s.answer("POST", responses, object{"model": "main", "tools": tools, "input": []any{
		says("user", "the weather?"), call, object{"type": "function_call_output", "call_id": "call_1", "output": "sunny"},
	}})
	s.want(spoken(again), "it is sunny")
	s.want(at(again, "firn", "session").(string), at(first, "firn", "session").(string))
}

// TestResponseStream checks a streamed response event by event.
func TestResponseStream(t *testing.T) {
	s := open(t, t.TempDir())
	s.play = func(string) scripted.Step { return scripted.Think("hm", "one two") }
	_, body := s.ask("POST", responses, object{"model": "main", "stream": true, "input": "count"})
	var names []string
	text := ""
	var last object
	for e, err := range sse.Read(strings.NewReader(body)) {
		s.must(err)
		last = nil
		s.must(json.Unmarshal(e.Data, &last))
		if last["type"] != e.Name || last["sequence_number"] != float64(len(names)) {
			t.Errorf("event %d is %s: %v", len(names), e.Name, last)
		}
		names = append(names, e.Name)
		if e.Name == "response.output_text.delta" {
			text += last["delta"].(string)
		}
	}
	var short []string
	for _, n := range names {
		if len(short) == 0 || short[len(short)-1] != n {
			short = append(short, n)
		}
	}
	want := `response.created response.in_progress
response.output_item.added response.reasoning_summary_part.added response.reasoning_summary_text.delta response.reasoning_summary_text.done response.reasoning_summary_part.done response.output_item.done
response.output_item.added response.content_part.added response.output_text.delta response.output_text.done response.content_part.done response.output_item.done
response.completed`
	s.want(strings.Join(short, " "), strings.ReplaceAll(want, "\n", " "))
	response, _ := last["response"].(object)
	if text != "one two" || spoken(response) != "one two" || at(response, "output", 0, "summary", 0, "text") != "hm" || at(response, "usage", "total_tokens") == nil {
		t.Errorf("the text is %q, the response %v", text, response)
	}
}

// TestConversation creates a conversation with items, continues it, lists it in pages, and
// deletes it.
func TestConversation(t *testing.T) {
	s := open(t, t.TempDir())
	made := s.answer("POST", "/v1/conversations", object{"metadata": object{"topic": "trip"}, "items": []object{{"type": "message", "role": "user", "content": "I am Ada."}}})
	id, _ := made["id"].(string)
	if made["object"] != "conversation" || !strings.HasPrefix(id, "conv_") {
		t.Errorf("it is %v", made)
	}
	if got := s.answer("GET", "/v1/conversations/"+id, nil); at(got, "metadata", "topic") != "trip" || got["created_at"] == 0.0 {
		t.Errorf("it is %v", got)
	}
	out := s.answer("POST", responses, object{"model": "main", "conversation": object{"id": id}, "input": "who am I?"})
	s.want(seen(s.last()), "user: I am Ada.\nwho am I?")
	if at(out, "conversation", "id") != id {
		t.Errorf("the response is %v", out)
	}
	s.answer("POST", responses, object{"model": "main", "conversation": id, "input": "and now?"})
	added := s.answer("POST", "/v1/conversations/"+id+"/items", object{"items": []object{{"role": "user", "content": "by the way"}, {"role": "assistant", "content": []object{{"type": "output_text", "text": "yes"}}}}})
	if at(added, "data", 1, "role") != "assistant" || at(added, "data", 0, "content", 0, "text") != "by the way" {
		t.Errorf("added was %v", added)
	}
	var texts []string
	after := ""
	for page := 0; ; page++ {
		list := s.answer("GET", "/v1/conversations/"+id+"/items?order=asc&limit=3"+after, nil)
		data, _ := list["data"].([]any)
		for _, it := range data {
			text, _ := at(it, "content", 0, "text").(string)
			texts = append(texts, text)
		}
		if list["has_more"] != true {
			break
		}
		after = "&after=" + list["last_id"].(string)
	}
	s.want(strings.Join(texts, " | "), "I am Ada. | who am I? | re: I am Ada.\nwho am I? | and now? | re: and now? | by the way | yes")
	if newest := s.answer("GET", "/v1/conversations/"+id+"/items?limit=1", nil); at(newest, "data", 0, "content", 0, "text") != "yes" {
		t.Errorf("the newest is %v", newest)
	}
	s.refused(http.StatusBadRequest, "GET", "/v1/conversations/"+id+"/items?limit=500", nil)
	s.refused(http.StatusBadRequest, "GET", "/v1/conversations/"+id+"/items?after=nobody", nil)

	if gone := s.answer("DELETE", "/v1/conversations/"+id, nil); gone["deleted"] != true {
		t.Errorf("it is %v", gone)
	}
	s.refused(http.StatusNotFound, "GET", "/v1/conversations/"+id, nil)
	s.refused(http.StatusNotFound, "POST", responses, object{"conversation": id, "input": "x"})
	if _, err := s.owner.Restore(t.Context(), firn.ID(strings.TrimPrefix(id, "conv_"))); err != nil {
		t.Errorf("it cannot be had back: %v", err)
	}
	s.answer("GET", "/v1/conversations/"+id, nil)
}

// TestResponseRefusals checks the message and the parameter of errors.
func TestResponseRefusals(t *testing.T) {
	s := open(t, t.TempDir())
	for param, body := range map[string]object{
		"input":                {"input": ""},
		"background":           {"input": "x", "background": true},
		"text.format":          {"input": "x", "text": object{"format": object{"type": "json_schema"}}},
		"tools":                {"input": "x", "tools": []object{{"type": "web_search"}}},
		"previous_response_id": {"input": "x", "previous_response_id": "resp_a_b", "conversation": "conv_a"},
	} {
		if got := s.refused(http.StatusBadRequest, "POST", responses, body); got["param"] != param {
			t.Errorf("%s: got %v", param, got)
		}
	}
	s.refused(http.StatusBadRequest, "POST", responses, object{"input": []object{{"type": "item_reference", "id": "x"}}})
}
