package openai

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/provider"
)

func FuzzChatAnswer(f *testing.F)      { fuzzAnswer(f, apis()[0]) }
func FuzzResponsesAnswer(f *testing.F) { fuzzAnswer(f, apis()[1]) }

// fuzzAnswer reads any input. An accepted answer must be valid, and the same when read one
// byte at a time.
func fuzzAnswer(f *testing.F, a api) {
	files, err := filepath.Glob(filepath.Join("testdata", a.name, "*.sse"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		o := a.read(t, bytes.NewReader(body))
		if again := a.read(t, iotest.OneByteReader(bytes.NewReader(body))); again.notation() != o.notation() {
			t.Errorf("a byte at a time:\n%s\nat once:\n%s", again.notation(), o.notation())
		}
		checkDeltas(t, o)
		if o.done == nil {
			if provider.KindOf(o.err) == "" {
				t.Errorf("an error without a kind: %v", o.err)
			}
			return
		}
		checkMessage(t, o.done)
		if a.name == "chat" {
			checkDeltaSum(t, o)
		}
	})
}

// checkDeltas checks that only the first delta of a call has a name.
func checkDeltas(t failer, o outcome) {
	seen := make(map[string]bool)
	for _, d := range o.deltas {
		if call, ok := d.(provider.CallDelta); ok {
			if call.ID == "" || (call.Name != "") == seen[call.ID] {
				t.Fatalf("a delta of call %q with name %q, seen before: %v", call.ID, call.Name, seen[call.ID])
			}
			seen[call.ID] = true
		}
	}
}

// checkMessage checks that a message can be logged.
func checkMessage(t failer, m *firn.Message) {
	ids := make(map[string]bool)
	calls := false
	clean := func(s string) {
		if _, changed := firn.CleanText(s); changed {
			t.Fatalf("not clean: %q", s)
		}
	}
	for _, part := range m.Parts {
		switch p := part.(type) {
		case firn.Text:
			clean(p.Text)
			clean(p.Signature)
		case firn.Thinking:
			clean(p.Text)
			clean(p.Signature)
		case firn.ToolCall:
			calls = true
			clean(p.ID + p.Name + p.Signature)
			if p.ID == "" || ids[p.ID] || p.Name == "" {
				t.Fatalf("a call %q of %q, seen before: %v", p.ID, p.Name, ids[p.ID])
			}
			ids[p.ID] = true
			if err := rawjson.Valid(p.Arguments); err != nil {
				t.Fatalf("arguments %q: %v", p.Arguments, err)
			}
			if _, changed := rawjson.Clean(p.Arguments); changed {
				t.Fatalf("arguments %q are not clean", p.Arguments)
			}
		case firn.OpaquePart:
			if err := rawjson.Valid(p.Raw); err != nil || p.Type == "" {
				t.Fatalf("opaque %q %q: %v", p.Type, p.Raw, err)
			}
		default:
			t.Fatalf("a part of type %T", part)
		}
	}
	if m.StopReason == firn.StopEnd && calls || m.StopReason == firn.StopToolUse && !calls {
		t.Fatalf("stopped for %s, with calls: %v", m.StopReason, calls)
	}
	if u := m.Usage; u != nil && (u.Input < 0 || u.Output < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Total != u.Input+u.Output+u.CacheRead+u.CacheWrite) {
		t.Fatalf("usage %+v", u)
	}
}

// checkDeltaSum checks that the deltas add up to the message.
func checkDeltaSum(t *testing.T, o outcome) {
	var text, thinking, saidText, saidThinking string
	for _, d := range o.deltas {
		switch d := d.(type) {
		case provider.TextDelta:
			text += d.Text
		case provider.ThinkingDelta:
			thinking += d.Text
		}
	}
	for _, part := range o.done.Parts {
		switch p := part.(type) {
		case firn.Text:
			saidText += p.Text
		case firn.Thinking:
			saidThinking += p.Text
		}
	}
	if text != saidText || thinking != saidThinking {
		t.Errorf("streamed %q and %q, the message has %q and %q", text, thinking, saidText, saidThinking)
	}
}
