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

// patience is how long clients retry: longer than any fault.
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

// isRetryable reports whether a request with this status can be retried. That includes a
// session whose head was moved during the answer: the message is kept on the old branch,
// and sending it again does not duplicate it.
func isRetryable(status int) bool {
	return slices.Contains([]int{http.StatusServiceUnavailable, http.StatusInsufficientStorage, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusLocked, http.StatusPreconditionFailed}, status)
}

// sendUntilAnswered sends an idempotent request until it is answered, and reports whether
// it was. A permanent rejection is recorded as an error.
func (s *soak) sendUntilAnswered(what, path, token string, body any, answer any, headers ...string) bool {
	for deadline := time.Now().Add(patience); ; {
		status, data, err := s.request(context.Background(), http.MethodPost, path, token, body, headers...)
		if err == nil && status == http.StatusOK {
			if err := json.Unmarshal(data, answer); err != nil {
				s.ledger.complain("%s was answered with %.200q: %v", what, data, err)
				return false
			}
			return true
		}
		if err == nil && !isRetryable(status) {
			s.ledger.complain("%s was refused: %d %s", what, status, data)
			return false
		}
		if time.Now().After(deadline) {
			s.ledger.complain("%s does not get through: %d %s %v", what, status, data, err)
			return false
		}
		s.ledger.count("sent again")
		time.Sleep(rand.N(200 * time.Millisecond))
	}
}

// pause waits for about the think time, and reports whether to continue.
func (s *soak) pause(times float64) bool {
	d := time.Duration(float64(s.Think) * times * (0.5 + rand.Float64()))
	select {
	case <-time.After(d):
		return true
	case <-s.ending:
		return false
	}
}

// talker sends messages. Each client uses one queue mode, so that its messages stay in
// order.
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
		s.sendMessage(what, wire.Turn{Queue: mode, Wait: &wait})
	}
}

// sendMessage sends a message until it is acknowledged. It must be stored once, regardless
// of retries.
func (s *soak) sendMessage(what spoken, t wire.Turn) {
	t.ID, t.Text = what.id, what.text
	var a wire.Answer
	if s.sendUntilAnswered(what.text, "/v1/sessions/"+string(what.session)+"/turns", s.token, t, &a) {
		s.ledger.acknowledge(&s.ledger.sent, what)
	}
}

// phrase returns a few words, some of them rare, for searches.
func phrase() string {
	words := []string{"the harbour", "a lantern", "our budget", "seven ships", "the old mill", "a letter from Ann", "rain in April", "the next release"}
	return fmt.Sprintf("it is about %s and %s, number %d", words[rand.IntN(len(words))], words[rand.IntN(len(words))], rand.IntN(1e6))
}

// noter appends entries without IDs, each once.
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
		case err == nil && !isRetryable(status):
			s.ledger.complain("%s was refused: %d %s", what.text, status, data)
		default:
			s.ledger.unknown(what)
		}
	}
}

// peer sends messages from a channel, and now and then resets its key or undoes that.
func (s *soak) peer(n int) {
	name := fmt.Sprintf("peer%d", n)
	channel := []string{"sms", "telegram"}[n%2]
	for i := 0; s.pause(2); i++ {
		what := spoken{id: firn.NewEntryID(), text: fmt.Sprintf("%s writes %d: %s", name, i, phrase()), client: name}
		in := wire.Inbound{Channel: channel, PeerKind: "direct", PeerID: name, Sender: name, Text: what.text, ID: string(what.id), Wait: rand.IntN(2) == 0}
		var out wire.Routed
		if !s.sendUntilAnswered(what.text, "/v1/inbound", s.token, in, &out) {
			continue
		}
		what.session = out.Session
		s.ledger.make(out.Session)
		s.ledger.acknowledge(&s.ledger.sent, what)
		if i%10 == 9 && s.mayMake() {
			s.reset(out.Key)
		}
	}
}

// reset starts a new session for a key, and undoes that half of the time.
func (s *soak) reset(key string) {
	if _, err := s.client.Keys.Reset(context.Background(), key); err != nil {
		s.tolerate("reset a key", err)
		return
	}
	s.ledger.count("keys reset")
	if rand.IntN(2) == 0 {
		_, err := s.client.Keys.ContinuePrevious(context.Background(), key)
		s.tolerate("continue with the session before", err)
	}
}

// hooks sends hook requests.
func (s *soak) hooks() {
	for i := 0; s.pause(5); i++ {
		text := fmt.Sprintf("version %d", i)
		var out wire.Routed
		if !s.sendUntilAnswered("hook "+text, "/v1/hooks/deploy", s.hookToken, map[string]string{"text": text}, &out, "Idempotency-Key", "deploy-"+text) {
			continue
		}
		s.ledger.make(out.Session)
		s.ledger.acknowledge(&s.ledger.sent, spoken{out.Session, out.Message, "Deployed " + text + ".", "ci"})
	}
}
