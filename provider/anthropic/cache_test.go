package anthropic

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

// cacheOf simulates a provider's cache: the prefixes of requests up to their marks.
type cacheOf map[[32]byte]bool

// blocksOf returns the blocks of a request in the order in which the provider reads them,
// and which of them are marked.
func blocksOf(t *testing.T, body []byte) (blocks []string, marked []bool) {
	t.Helper()
	var req struct {
		Tools, System []json.RawMessage
		Messages      []struct {
			Role    string
			Content []json.RawMessage
		}
		Thinking, Output json.RawMessage
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Fatal(err)
	}
	add := func(role string, raw json.RawMessage) {
		plain := unmarked(raw)
		blocks = append(blocks, role+string(plain))
		marked = append(marked, len(plain) != len(raw))
	}
	for _, raw := range req.Tools {
		add("tool", raw)
	}
	for _, raw := range req.System {
		add("system", raw)
	}
	for _, m := range req.Messages {
		for _, raw := range m.Content {
			add(m.Role, raw)
		}
	}
	return blocks, marked
}

// unmarked removes the marks from a request or a block.
func unmarked(raw []byte) []byte {
	raw = bytes.ReplaceAll(raw, []byte(CacheShort.mark()), nil)
	return bytes.ReplaceAll(raw, []byte(CacheHour.mark()), nil)
}

// read processes a request as the provider does: it searches the cache at every mark and at
// the 20 blocks before it, and caches the marked prefixes. It returns the number of blocks
// found in the cache.
func (c cacheOf) read(blocks []string, marked []bool) (hit int) {
	hash := sha256.New()
	sums := make([][32]byte, len(blocks))
	for i, b := range blocks {
		fmt.Fprintf(hash, "%d:%s", len(b), b)
		sums[i] = [32]byte(hash.Sum(nil))
	}
	for i := range blocks {
		for j := i; marked[i] && j >= 0 && j > i-20; j-- {
			if c[sums[j]] {
				hit = max(hit, j+1)
			}
		}
	}
	for i := range blocks {
		if marked[i] {
			c[sums[i]] = true
		}
	}
	return hit
}

// session is a conversation that grows by runs, with or without injections.
type session struct {
	t        *testing.T
	settings settings
	inject   bool
	messages []*firn.Message
	cache    cacheOf
	body     []byte
	blocks   []string
	run      int
}

// request sends the conversation. kept is the number of blocks of the previous request that
// must be found in the cache.
func (s *session) request(kept int) {
	s.t.Helper()
	var injected []window.Injection
	if s.inject {
		injected = inject(fmt.Sprintf("It is day %d.", s.run), "You are at home.")
	}
	req := provider.Request{Window: build(s.settings.name, "Be kind.", injected, s.messages...), Tools: tools, Thinking: provider.ThinkHigh}
	body, err := encode(s.settings, req, answering)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.run%10 == 9 {
		if err := validate(body, s.settings.generation); err != nil {
			s.t.Fatal(err)
		}
	}
	blocks, marked := blocksOf(s.t, body)
	hit := s.cache.read(blocks, marked)
	if hit < kept {
		s.t.Fatalf("run %d, %d messages: %d blocks are found in the cache, want %d of %d", s.run, len(s.messages), hit, kept, len(blocks))
	}
	s.body, s.blocks = unmarked(body), blocks
}

// before returns the number of blocks before the injections.
func (s *session) before() int {
	for i, b := range s.blocks {
		if strings.Contains(b, "It is day") {
			return i
		}
	}
	return len(s.blocks)
}

// upToMessages returns the part of a request up to its messages.
func upToMessages(t *testing.T, body []byte) []byte {
	t.Helper()
	i := bytes.LastIndex(body, []byte(`],"max_tokens":`))
	if i < 0 {
		t.Fatalf("no messages in %.200s", body)
	}
	return body[:i]
}

// step adds an answer with calls, and their results.
func (s *session) step(calls int) {
	first := len(s.messages)
	answer := byModel(s.settings.name, think(fmt.Sprint("Hm, ", s.run)), textPart("Let me look."))
	var found []*firn.Message
	for i := range calls {
		name := fmt.Sprintf("t%d-%d-%d", s.run, first, i)
		answer.Parts = append(answer.Parts, call(name, "read", fmt.Sprintf(`{"path":"%s"}`, name)))
		found = append(found, byTool(name, "read", textPart("Found it.")))
	}
	s.messages = append(append(s.messages, answer), found...)
}

// TestPrefixIsStable checks that over 50 runs the request stays the same, byte for byte, up
// to the injections of the previous run, and that the provider finds all of that in its
// cache, even after steps with many calls.
func TestPrefixIsStable(t *testing.T) {
	for _, name := range []string{old, bound} {
		for _, injecting := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, injections %v", name, injecting), func(t *testing.T) {
				s := &session{t: t, settings: settingsOf(name), inject: injecting, cache: cacheOf{}}
				for s.run = range 50 {
					s.grow()
				}
			})
		}
	}
}

// grow adds one run.
func (s *session) grow() {
	s.messages = append(s.messages, byUser(textPart(fmt.Sprint("Question ", s.run))))
	body, kept := s.body, s.before()
	s.request(kept)
	if body != nil {
		stable := upToMessages(s.t, body)
		if s.inject {
			stable = stable[:bytes.Index(stable, []byte(`{"type":"text","text":"It is day`))]
			stable = bytes.TrimSuffix(stable, []byte(`{"role":"user","content":[`))
		}
		if !bytes.HasPrefix(s.body, stable) {
			s.t.Fatalf("run %d changes the earlier part of the request:\n%s\nwas\n%s", s.run, s.body, stable)
		}
	}
	for i := range s.run % 3 {
		calls := 1 + (s.run+i)%3
		if s.run%8 == 2+i {
			calls = 30 // more than the provider's lookback
		}
		s.step(calls)
		body, kept := s.body, len(s.blocks)
		s.request(kept)
		if !bytes.HasPrefix(s.body, upToMessages(s.t, body)) {
			s.t.Fatalf("run %d, step %d changes the earlier part of the request:\n%s\nwas\n%s", s.run, i, s.body, body)
		}
	}
	s.messages = append(s.messages, byModel(s.settings.name, think("So."), textPart(fmt.Sprint("Answer ", s.run))))
}

func TestMarks(t *testing.T) {
	for name, r := range requests() {
		body, err := encode(r.settings, r.req, answering)
		if err != nil {
			t.Fatal(err)
		}
		_, marked := blocksOf(t, body)
		if last := marked[len(marked)-1]; last == (r.settings.ttl == CacheOff) {
			t.Errorf("%s: the last block has a mark: %v", name, last)
		}
		r.settings.ttl = CacheOff
		plain, err := encode(r.settings, r.req, answering)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(plain, unmarked(body)) {
			t.Errorf("%s: marks change more than they add:\n%s\nwithout\n%s", name, body, plain)
		}
	}
}
