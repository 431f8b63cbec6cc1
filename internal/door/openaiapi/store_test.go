package openaiapi_test

import (
	"bytes"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev/provider/scripted"
)

// stored reports whether a file of the home has a text.
func (s *testServer) stored(text string) (found bool) {
	s.t.Helper()
	s.must(filepath.WalkDir(s.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	}))
	return found
}

// TestUnstored checks that a request with store: false is answered like another one, that
// nothing of it is on disk, and that its response cannot be retrieved or continued.
func TestUnstored(t *testing.T) {
	s := open(t, t.TempDir())
	chat := object{"model": "main", "store": false, "messages": []object{says("system", "be brief"), says("user", "a walrus")}}
	response, body := s.ask("POST", "/v1/chat/completions", chat)
	if response.StatusCode != http.StatusOK || !strings.Contains(body, "re: a walrus") || response.Header.Get("X-Firn-Session") != "" || strings.Contains(body, `"firn"`) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	if asked := s.asked[0]; !strings.Contains(asked.Window.System, "You are main.") || !strings.Contains(asked.Window.System, "be brief") || len(asked.Tools) != 0 {
		t.Errorf("the model was sent %q and %d tools", asked.Window.System, len(asked.Tools))
	}
	chat["stream"], chat["model"] = true, "scripted/scripted"
	if _, body := s.ask("POST", "/v1/chat/completions", chat); !strings.Contains(body, "re: a walrus") || !strings.Contains(body, "[DONE]") {
		t.Errorf("the stream is %s", body)
	}
	got := s.answer("POST", responses, object{"input": "a walrus", "store": false, "instructions": "be brief"})
	if got["store"] != false || got["status"] != "completed" || got["firn"] != nil {
		t.Errorf("the response is %v", got)
	}
	if s.sessions() != 0 || s.stored("walrus") {
		t.Errorf("there are %d sessions; on disk: %v", s.sessions(), s.stored("walrus"))
	}
	id, _ := got["id"].(string)
	s.refused(http.StatusNotFound, "GET", responses+"/"+id, nil)
	if failure := s.refused(http.StatusNotFound, "POST", responses, object{"input": "more", "previous_response_id": id}); failure["param"] != "previous_response_id" {
		t.Errorf("it is continued: %v", failure)
	}
}

// TestUnstoredContinues continues a stored response without storing it, and without changing
// what is stored.
func TestUnstoredContinues(t *testing.T) {
	s := open(t, t.TempDir())
	first := s.answer("POST", responses, object{"model": "main", "input": "one"})
	second := s.answer("POST", responses, object{"model": "main", "input": "a walrus", "previous_response_id": first["id"], "store": false})
	if asked := s.asked[1].Window.Items; len(asked) != 3 || asked[0].Message.Text() != "one" || second["previous_response_id"] != first["id"] {
		t.Errorf("the model was sent %v; the response is %v", asked, second)
	}
	if s.sessions() != 1 || s.stored("walrus") {
		t.Errorf("there are %d sessions; on disk: %v", s.sessions(), s.stored("walrus"))
	}
	conversation := s.answer("POST", "/v1/conversations", object{})
	for _, body := range []object{
		{"input": "x", "store": false, "conversation": conversation["id"]}, {"input": "x", "store": false, "metadata": object{"session": "notes"}},
	} {
		if failure := s.refused(http.StatusBadRequest, "POST", responses, body); failure["param"] != "store" {
			t.Errorf("%v: %v", body, failure)
		}
	}
	s.play = func(string) scripted.Step { return scripted.Call("call_1", "weather", `{"city":"Graz"}`) }
	called := s.answer("POST", "/v1/chat/completions", object{
		"model": "main", "store": false, "messages": []object{says("user", "the weather?")},
		"tools": []object{{"type": "function", "function": object{"name": "weather", "parameters": object{"type": "object"}}}},
	})
	if choice := called["choices"].([]any)[0].(map[string]any); choice["finish_reason"] != "tool_calls" {
		t.Errorf("the answer is %v", called)
	}
}
