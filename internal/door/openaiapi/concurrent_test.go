package openaiapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"firn.dev/client"
	"firn.dev/provider/scripted"
	"firn.dev/wire"
)

// TestConcurrentRequests continues from one response many times concurrently. Each gets its own
// answer and none sees another, whether in the same session or in a new one.
func TestConcurrentRequests(t *testing.T) {
	s := open(t, t.TempDir())
	first := s.answer("POST", responses, object{"model": "main", "input": "start"})
	var group sync.WaitGroup
	const many = 8
	for i := range many {
		group.Go(func() {
			text := fmt.Sprintf("question %d", i)
			response, body := s.ask("POST", responses, object{"model": "main", "input": text, "previous_response_id": first["id"]})
			var out object
			if err := json.Unmarshal([]byte(body), &out); err != nil || response.StatusCode != http.StatusOK || spoken(out) != "re: "+text {
				t.Errorf("%s: %d %s", text, response.StatusCode, body)
			}
		})
	}
	group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) != many+1 {
		t.Errorf("the model was called %d times", len(s.asked))
	}
	for _, req := range s.asked[1:] {
		if sent := seen(req); !strings.HasPrefix(sent, "user: start\nassistant: re: start\nuser: question ") || strings.Count(sent, "\n") != 2 {
			t.Errorf("the model was sent\n%s", sent)
		}
	}
}

// TestClientLeaves disconnects during an answer: the turn is stopped, the partial answer is
// kept, and the session can be continued.
func TestClientLeaves(t *testing.T) {
	s := open(t, t.TempDir())
	s.play = func(last string) scripted.Step {
		if last == "hang" {
			return scripted.Hang(2, scripted.Reply("one two three four five six"))
		}
		return scripted.Reply("re: " + last)
	}
	ctx, leave := context.WithCancel(t.Context())
	body := `{"stream":true,"messages":[{"role":"user","content":"hang"}]}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.server.URL+"/v1/chat/completions", strings.NewReader(body))
	s.must(err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Firn-Session", "left")
	response, err := http.DefaultClient.Do(r)
	s.must(err)
	if _, err := io.ReadFull(response.Body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	id := response.Header.Get("X-Firn-Session")
	leave()
	response.Body.Close()
	s.stopped(id)
	text, same := s.chat(object{"messages": []object{says("user", "on")}}, "X-Firn-Session", "left")
	s.want(text, "re: hang\non") // the model receives both in a row
	s.want(same, id)
}

// stopped waits until the log of a session contains a stopped turn.
func (s *testServer) stopped(id string) {
	s.t.Helper()
	session, err := s.owner.Session(s.t.Context(), id)
	s.must(err)
	for e, err := range s.owner.Events(s.t.Context(), session.ID, 0) {
		s.must(err)
		var entry wire.Entry
		if json.Unmarshal(e.Data, &entry) == nil && strings.Contains(string(entry.Line), `"stopReason":"aborted"`) {
			return
		}
	}
}

// TestDeletedConversation checks that a conversation that is neither the latest of its
// session nor cached is found in the log, and similar ones are not.
func TestDeletedConversation(t *testing.T) {
	s := open(t, t.TempDir())
	messages := []object{says("user", "a")}
	var ids []string
	for i := range 3 {
		text, id := s.chat(object{"messages": messages})
		ids = append(ids, id)
		messages = append(messages, says("assistant", text), says("user", fmt.Sprint(i)))
	}
	s = s.reopen()
	_, id := s.chat(object{"messages": []object{messages[0], messages[1], says("user", "another way")}})
	s.want(id, ids[0])
	s.want(seen(s.last()), "user: a\nassistant: re: a\nuser: another way")
	_, id = s.chat(object{"messages": messages})
	s.want(id, ids[0])
	s.want(seen(s.last()), "user: a\nassistant: re: a\nuser: 0\nassistant: re: 0\nuser: 1\nassistant: re: 1\nuser: 2")
	page, err := s.owner.SessionsPage(t.Context(), client.Query{})
	s.must(err)
	if len(page.Items) != 1 || page.Items[0].Title != "a" {
		t.Errorf("the sessions are %+v", page.Items)
	}
}

// TestSharedConversation sends concurrent messages to one conversation: they are processed
// one after the other, each with its own answer.
func TestSharedConversation(t *testing.T) {
	s := open(t, t.TempDir())
	made := s.answer("POST", "/v1/conversations", object{})
	var group sync.WaitGroup
	const many = 6
	for i := range many {
		group.Go(func() {
			text := fmt.Sprintf("question %d", i)
			out := s.answer("POST", responses, object{"model": "main", "input": text, "conversation": made["id"]})
			if got := spoken(out); got != "re: "+text {
				t.Errorf("the answer to %s is %s", text, got)
			}
		})
	}
	group.Wait()
	id, _ := made["id"].(string)
	if log := s.log(strings.TrimPrefix(id, "conv_")); strings.Count(log, "\n") != 2*many-1 {
		t.Errorf("the session has\n%s", log)
	}
}
