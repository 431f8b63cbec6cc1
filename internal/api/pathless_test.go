package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"firn"
	"firn/internal/gateway"
	"firn/wire"
)

// TestPathless takes the directories out of sentences, and leaves the rest.
func TestPathless(t *testing.T) {
	for text, want := range map[string]string{
		"open /home/ann/.firn/agents/main/x.jsonl: no space left": "open …/x.jsonl: no space left",
		`read "/var/lib/firn/a b": is a directory`:                `read "…/a b": is a directory`,
		`open C:\Users\ann\.firn\x.jsonl: denied`:                 `open …/x.jsonl: denied`,
		"rename /a/b/c /d/e/f: cross-device link":                 "rename …/c …/f: cross-device link",
		"in /tmp/x/y/": "in …/",
		"use POST /v1/sessions/x, or https://a.example/b/c": "use POST /v1/sessions/x, or https://a.example/b/c",
		"ask openai/gpt-5: refused, and/or more":            "ask openai/gpt-5: refused, and/or more",
		"/ is full, a / b, //":                              "/ is full, a / b, //",
		"nothing":                                           "nothing",
	} {
		if got := pathless(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestWhoKnowsPlaces: who may do everything is told where files are, others are
// told what went wrong.
func TestWhoKnowsPlaces(t *testing.T) {
	const dir = "/home/ann smith/it"
	err := fmt.Errorf("append to session x: %w: %w", firn.ErrNotSaved, errors.Join(&fs.PathError{Op: "write", Path: dir + "/x.jsonl", Err: syscall.ENOSPC}))
	p := withoutPlaces(gateway.ProblemOf(err), err)
	if p.Kind != wire.NotSaved || strings.Contains(p.Message, "ann") || !strings.Contains(p.Message, "…/x.jsonl: no space left") {
		t.Errorf("it is told as %+v", p)
	}
	for who, knows := range map[*identity]bool{{owner: true}: true, {scope: wire.ScopeAdmin}: true, {scope: wire.ScopeWrite}: false, {}: false} {
		if who.knowsPlaces() != knows {
			t.Errorf("%+v knows: %v", who, !knows)
		}
	}
	event := func(name string, data any) wire.Event {
		t.Helper()
		spelt, err := spell(data)
		if err != nil {
			t.Fatal(err)
		}
		return wire.Event{Name: name, Session: "s", Data: spelt}
	}
	for name, data := range map[string]any{
		wire.TurnFailed: wire.Problem{Message: "write /a/b/c: full"}, wire.NoticeGiven: wire.Notice{Text: "see /a/b/c"}, wire.CompactionCompleted: wire.Compaction{Error: "write /a/b/c: full"},
	} {
		if e := withoutPlacesIn(event(name, data)); strings.Contains(string(e.Data), "/a/b") || !json.Valid(e.Data) {
			t.Errorf("%s tells %s", name, e.Data)
		}
	}
	if e := withoutPlacesIn(event(wire.CompactionCompleted, wire.Compaction{Summary: "they wrote /a/b/c"})); !strings.Contains(string(e.Data), "/a/b/c") {
		t.Errorf("what was said became %s", e.Data)
	}
}
