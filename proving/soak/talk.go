//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// patience is how long a client tries to get something through: longer than any
// fault takes.
const patience = 3 * time.Minute

// request sends JSON to the gateway over TCP, and returns the status and the body.
func (s *soak) request(ctx context.Context, method, path, token string, body any, headers ...string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	data, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, s.gateway.address()+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// again reports whether a refusal says that it can be tried again. That a session was
// moved to another branch while it was answered is one: what was said is kept on the
// branch that was left, and sent again it is not said again.
func again(status int) bool {
	return slices.Contains([]int{http.StatusServiceUnavailable, http.StatusInsufficientStorage, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusLocked, http.StatusPreconditionFailed}, status)
}

// insist sends a request that names itself until it is answered. It reports
// whether it was; what is refused for good is a complaint.
func (s *soak) insist(what, path, token string, body any, answer any, headers ...string) bool {
	for late := time.Now().Add(patience); ; {
		status, data, err := s.request(context.Background(), http.MethodPost, path, token, body, headers...)
		if err == nil && status == http.StatusOK {
			if err := json.Unmarshal(data, answer); err != nil {
				s.ledger.complain("%s was answered with %.200q: %v", what, data, err)
				return false
			}
			return true
		}
		if err == nil && !again(status) {
			s.ledger.complain("%s was refused: %d %s", what, status, data)
			return false
		}
		if time.Now().After(late) {
			s.ledger.complain("%s does not get through: %d %s %v", what, status, data, err)
			return false
		}
		s.ledger.count("sent again")
		time.Sleep(rand.N(200 * time.Millisecond))
	}
}

// pause waits for about the time that people think, and reports whether to go on.
func (s *soak) pause(times float64) bool {
	d := time.Duration(float64(s.Think) * times * (0.5 + rand.Float64()))
	select {
	case <-time.After(d):
		return true
	case <-s.ending:
		return false
	}
}

// talker says one thing after the other. What waits for a turn does so in one way
// for each client, so that its messages are in order.
func (s *soak) talker(client int) {
	mode := []string{"followup", "collect", "steer"}[client%3]
	name := fmt.Sprintf("talker%d", client)
	for i := 0; s.pause(1); i++ {
		session := s.plain[rand.IntN(len(s.plain))]
		if i%5 == 0 {
			session = s.trees[rand.IntN(len(s.trees))]
		}
		what := spoken{session, firn.NewEntryID(), fmt.Sprintf("%s says %d: %s", name, i, phrase()), name}
		wait := rand.IntN(3) > 0
		s.say(what, wire.Turn{Queue: mode, Wait: &wait})
	}
}

// say says something until it is acknowledged. However often it is sent, it is
// said once.
func (s *soak) say(what spoken, t wire.Turn) {
	t.ID, t.Text = what.id, what.text
	var a wire.Answer
	if s.insist(what.text, "/v1/sessions/"+string(what.session)+"/turns", s.token, t, &a) {
		s.ledger.acknowledge(&s.ledger.said, what)
	}
}

// phrase is a few words, some of them rare, so that there is something to find.
func phrase() string {
	words := []string{"the harbour", "a lantern", "our budget", "seven ships", "the old mill", "a letter from Ann", "rain in April", "the next release"}
	return fmt.Sprintf("it is about %s and %s, number %d", words[rand.IntN(len(words))], words[rand.IntN(len(words))], rand.IntN(1e6))
}

// noter appends entries without a name, each once.
func (s *soak) noter(client int) {
	name := fmt.Sprintf("noter%d", client)
	for i := 0; s.pause(1); i++ {
		session := s.plain[rand.IntN(len(s.plain))]
		what := spoken{session, "", fmt.Sprintf("%s notes %d", name, i), name}
		line := fmt.Sprintf(`{"type":"custom","customType":"note","data":{"text":%q}}`, what.text)
		status, data, err := s.request(context.Background(), http.MethodPost, "/v1/sessions/"+string(session)+"/entries", s.token, wire.NewEntries{Entries: []json.RawMessage{json.RawMessage(line)}})
		switch {
		case err == nil && status == http.StatusOK:
			s.ledger.acknowledge(&s.ledger.noted, what)
		case err == nil && !again(status):
			s.ledger.complain("%s was refused: %d %s", what.text, status, data)
		default:
			s.ledger.unknown(what)
		}
	}
}

// peer writes from outside, and now and then begins anew or takes that back.
func (s *soak) peer(n int) {
	name := fmt.Sprintf("peer%d", n)
	channel := []string{"sms", "telegram"}[n%2]
	for i := 0; s.pause(2); i++ {
		what := spoken{id: firn.NewEntryID(), text: fmt.Sprintf("%s writes %d: %s", name, i, phrase()), client: name}
		in := wire.Inbound{Channel: channel, PeerKind: "direct", PeerID: name, Sender: name, Text: what.text, ID: string(what.id), Wait: rand.IntN(2) == 0}
		var out wire.Routed
		if !s.insist(what.text, "/v1/inbound", s.token, in, &out) {
			continue
		}
		what.session = out.Session
		s.ledger.make(out.Session)
		s.ledger.acknowledge(&s.ledger.said, what)
		if i%10 == 9 && s.mayMake() {
			s.reset(out.Key)
		}
	}
}

// reset begins a new session for a key, and half the time takes that back.
func (s *soak) reset(key string) {
	if _, err := s.client.ResetKey(context.Background(), key); err != nil {
		s.tolerate("reset a key", err)
		return
	}
	s.ledger.count("keys reset")
	if rand.IntN(2) == 0 {
		_, err := s.client.ContinuePrevious(context.Background(), key)
		s.tolerate("continue with the session before", err)
	}
}

// hooks lets a program tell an agent something.
func (s *soak) hooks() {
	for i := 0; s.pause(5); i++ {
		text := fmt.Sprintf("version %d", i)
		var out wire.Routed
		if !s.insist("hook "+text, "/v1/hooks/deploy", s.hookToken, map[string]string{"text": text}, &out, "Idempotency-Key", "deploy-"+text) {
			continue
		}
		s.ledger.make(out.Session)
		s.ledger.acknowledge(&s.ledger.said, spoken{out.Session, out.Message, "Deployed " + text + ".", "ci"})
	}
}
