package providertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/window"
)

func answerTests() []test {
	script := []Lack{NoScript}
	return []test{
		{name: "info stays the same", run: testInfo},
		{name: "every answer keeps the order of events", run: func(s *suite) { s.mustAnswer(s.request("Hello.")) }},
		{name: "no tools and no system prompt", run: testBare},
		{name: "every option of a request", run: testFull},
		{name: "content", run: testSaid, needs: script},
		{name: "stop reasons", run: testStops, needs: script},
		{name: "usage and cost", run: testUsage, needs: script},
		{name: "a byte at a time", run: testBytes, needs: []Lack{NoScript, NoHTTP}},
		{name: "truncated arguments", run: testCutArguments, needs: script},
		{name: "ranging twice sends two requests", run: testTwice, needs: script},
		{name: "concurrent requests", run: testTogether, needs: script},
	}
}

func testInfo(s *suite) {
	info := s.model.Info()
	if info.Provider == "" || info.API == "" || info.Name == "" || info.Window <= 0 || len(info.Profile.Rules) == 0 {
		s.Errorf("the info of the model is incomplete: %+v", info)
	}
	if s.can(NoPrice) && info.Price == (provider.Price{}) {
		s.Error("the model has no price, so its costs cannot be tested: give it one")
	}
	s.mustAnswer(s.request("Hello."))
	again := s.model.Info()
	if again.Ask() != info.Ask() || again.Spec != info.Spec || again.Profile.Name != info.Profile.Name {
		s.Errorf("the info was %+v and is now %+v", info, again)
	}
}

func testBare(s *suite) {
	path := window.Path{Entries: []firn.Entry{firn.UserText("Hello.")}}
	s.mustAnswer(provider.Request{Window: s.build(path, "")})
}

func testFull(s *suite) {
	for _, thinking := range []provider.Thinking{
		"", provider.ThinkOff, provider.ThinkMinimal, provider.ThinkLow, provider.ThinkMedium, provider.ThinkHigh, provider.ThinkMax, "very",
	} {
		for _, purpose := range []provider.Purpose{provider.ForTurn, provider.ForSummary, provider.ForTitle, provider.ForFlush} {
			req := s.request("Hello.")
			req.Thinking, req.Purpose, req.MaxTokens = thinking, purpose, 1
			req.Session = firn.NewID()
			s.mustAnswer(req)
		}
	}
}

// answers returns answers that are difficult to stream.
func answers() map[string]Answer {
	call := func(id, name, args string) firn.ToolCall {
		return firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}
	}
	usage := firn.Usage{Input: 100, Output: 20}
	return map[string]Answer{
		"text":            {Text: "Good morning, how are you?", Usage: usage, Stop: firn.StopEnd},
		"one letter":      {Text: "a", Usage: usage, Stop: firn.StopEnd},
		"nothing":         {Usage: usage, Stop: firn.StopEnd},
		"white space":     {Text: " \n\t", Usage: usage, Stop: firn.StopEnd},
		"lines":           {Text: "\n\ndata: a\r\n\r\nevent: b\r:\n", Usage: usage, Stop: firn.StopEnd},
		"foreign letters": {Text: "Grüße, 世界, 👩‍👩‍👧‍👦 \u2028\u2029 \u200b \\u0041 \"quoted\" <&>", Usage: usage, Stop: firn.StopEnd},
		"much":            {Text: strings.Repeat("all work and no play ", 5000), Usage: usage, Stop: firn.StopEnd},
		"a call":          {Calls: []firn.ToolCall{call("call_1", "read", `{"path":"/etc/hosts"}`)}, Usage: usage, Stop: firn.StopToolUse},
		"an empty call":   {Calls: []firn.ToolCall{call("call_1", "now", `{}`)}, Usage: usage, Stop: firn.StopToolUse},
		"hard arguments":  {Calls: []firn.ToolCall{call("call_1", "read", `{"path": "\ud83d\ude00\\\"\n{[", "n": 12345678901234567890.5e-3, "a": [null, {}]}`)}, Usage: usage, Stop: firn.StopToolUse},
		"text and calls": {
			Text:  "Let me look.",
			Calls: []firn.ToolCall{call("call_1", "read", `{"path":"a"}`), call("call_2", "now", `{}`), call("call_3", "read", `{"path":"b"}`)},
			Usage: usage, Stop: firn.StopToolUse,
		},
	}
}

func thoughtfulAnswers() map[string]Answer {
	usage := firn.Usage{Input: 100, Output: 20}
	return map[string]Answer{
		"thinking and text": {Thinking: "What would she like?\n\nTea, I think.", Text: "Tea?", Usage: usage, Stop: firn.StopEnd},
		"thinking and a call": {
			Thinking: "I had better look.", Text: "One moment.",
			Calls: []firn.ToolCall{{ID: "call_1", Name: "read", Arguments: json.RawMessage(`{"path":"tea.txt"}`)}},
			Usage: usage, Stop: firn.StopToolUse,
		},
	}
}

func testSaid(s *suite) {
	all := answers()
	if s.can(NoThinking) {
		for name, a := range thoughtfulAnswers() {
			all[name] = a
		}
	}
	for name, a := range all {
		s.play.set(Part{Answer: a})
		o := s.mustAnswer(s.request(name))
		if got, want := withoutIDs(partPieces(o.done.Parts)), withoutIDs(a.pieces()); !slices.Equal(got, want) {
			s.Errorf("%s: the message is\n%.300q\nwant\n%.300q", name, got, want)
		}
		if len(a.Text) > 20 && len(o.deltas) < 2 {
			s.Errorf("%s: %d deltas: nothing is streamed", name, len(o.deltas))
		}
		if err := distinct(o.done.Parts); err != nil {
			s.Errorf("%s: %v", name, err)
		}
	}
}

// withoutIDs removes the IDs of calls, which a provider may rewrite.
func withoutIDs(pieces []piece) []piece {
	pieces = slices.Clone(pieces)
	for i := range pieces {
		pieces[i].id = ""
	}
	return pieces
}

// distinct returns an error if call IDs are empty or repeated.
func distinct(parts []firn.Part) error {
	seen := make(map[string]bool)
	for _, p := range parts {
		call, ok := p.(firn.ToolCall)
		if ok && (call.ID == "" || seen[call.ID]) {
			return fmt.Errorf("the ID %q of a call is empty or repeated", call.ID)
		}
		seen[call.ID] = true
	}
	return nil
}

func testStops(s *suite) {
	for _, stop := range []firn.StopReason{firn.StopEnd, firn.StopLength, firn.StopToolUse} {
		a := Answer{Text: "So far", Usage: firn.Usage{Input: 5, Output: 2}, Stop: stop}
		if stop == firn.StopToolUse {
			a.Calls = []firn.ToolCall{{ID: "call_1", Name: "now", Arguments: json.RawMessage(`{}`)}}
		}
		s.play.set(Part{Answer: a})
		if o := s.mustAnswer(s.request("Go on.")); o.done.StopReason != stop {
			s.Errorf("stopped for %q, want %q", o.done.StopReason, stop)
		}
	}
}

func testUsage(s *suite) {
	want := firn.Usage{Input: 1234, Output: 567}
	if s.can(NoCacheReads) {
		want.CacheRead = 89_000
	}
	if s.can(NoCacheWrites) {
		want.CacheWrite = 4321
	}
	s.play.set(Part{Answer: Answer{Text: "That was expensive.", Usage: want, Stop: firn.StopEnd}})
	got := s.mustAnswer(s.request("What does it cost?")).done.Usage
	if got == nil {
		s.Fatal("the answer has no usage")
	}
	if got.Input != want.Input || got.Output != want.Output || got.CacheRead != want.CacheRead || got.CacheWrite != want.CacheWrite {
		s.Errorf("the usage is %+v, want %+v", got, want)
	}
	if got.Context() != want.Context() {
		s.Errorf("the conversation has %d tokens, want %d", got.Context(), want.Context())
	}
}

func testBytes(s *suite) {
	for name, a := range answers() {
		if len(a.Text) > 1000 {
			continue
		}
		s.play.set(Part{Answer: a, chunk: 1})
		o := s.mustAnswer(s.request(name))
		if got, want := withoutIDs(partPieces(o.done.Parts)), withoutIDs(a.pieces()); !slices.Equal(got, want) {
			s.Errorf("%s: the message is\n%q\nwant\n%q", name, got, want)
		}
	}
}

// testCutArguments checks an answer that hits the output limit within the arguments of a
// call. Every call in the result must have valid arguments.
func testCutArguments(s *suite) {
	for _, args := range []string{``, `{"path":"/etc/ho`, `{"path":`, `{`, `null`, `[1]`, `not JSON`} {
		s.play.set(Part{Answer: Answer{
			Text: "Let me", Stop: firn.StopLength, Usage: firn.Usage{Input: 5, Output: 2},
			Calls: []firn.ToolCall{{ID: "call_1", Name: "read", Arguments: json.RawMessage(args)}},
		}})
		var done *firn.Message
		for event, err := range s.model.Stream(s.ctx, s.request("Go on.")) {
			if err != nil && provider.KindOf(err) != provider.Temporary {
				s.Errorf("arguments %q: %v", args, err)
			}
			if d, ok := event.(provider.Done); ok {
				done = &d.Message
			}
		}
		if done == nil {
			continue
		}
		for _, p := range done.Parts {
			if call, ok := p.(firn.ToolCall); ok && !isObject(call.Arguments) {
				s.Errorf("arguments %q: the answer has a call with arguments %q", args, call.Arguments)
			}
		}
	}
}

func testTwice(s *suite) {
	s.play.set(
		Part{Answer: Answer{Text: "first", Usage: firn.Usage{Input: 1, Output: 1}, Stop: firn.StopEnd}},
		Part{Answer: Answer{Text: "second", Usage: firn.Usage{Input: 1, Output: 1}, Stop: firn.StopEnd}},
	)
	stream := s.model.Stream(s.ctx, s.request("Count."))
	if n := s.play.requests(); n != 0 {
		s.Errorf("%d requests were made before the stream was read", n)
	}
	for _, want := range []string{"first", "second"} {
		got := ""
		for event, err := range stream {
			if err != nil {
				s.Fatal(err)
			}
			if d, ok := event.(provider.Done); ok {
				got = d.Message.Text()
			}
		}
		if got != want {
			s.Errorf("got %q, want %q", got, want)
		}
	}
}

// testTogether checks that concurrent streams do not mix.
func testTogether(s *suite) {
	const n = 16
	want := make([]string, n)
	parts := make([]Part, n)
	for i := range n {
		want[i] = strings.Repeat(fmt.Sprintf("%c", 'a'+i), 2000)
		parts[i] = Part{Answer: Answer{Text: want[i], Usage: firn.Usage{Input: 1, Output: 1}, Stop: firn.StopEnd}, chunk: 777}
	}
	s.play.set(parts...)
	got := make([]string, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for event, err := range s.model.Stream(s.ctx, s.request("Sing.")) {
				if err != nil {
					s.Errorf("stream %d: %v", i, err)
				}
				if d, ok := event.(provider.Done); ok {
					got[i] = d.Message.Text()
				}
			}
		})
	}
	all.Wait()
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.Errorf("the answers are mixed up or lost: %.40q", got)
	}
}
