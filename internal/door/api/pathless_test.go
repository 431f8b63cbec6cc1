package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/gateway"
	"firn.dev/wire"
)

// TestStripDirs checks that stripDirs removes directories and nothing else.
func TestStripDirs(t *testing.T) {
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
		if got := stripDirs(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestErrorPathsAreForAdmins checks that administrators see file paths in errors, and others
// only the error.
func TestErrorPathsAreForAdmins(t *testing.T) {
	const dir = "/home/ann smith/it"
	err := fmt.Errorf("append to session x: %w: %w", firn.ErrNotSaved, errors.Join(&fs.PathError{Op: "write", Path: dir + "/x.jsonl", Err: syscall.ENOSPC}))
	p := problemWithoutPaths(gateway.ProblemOf(err), err)
	if p.Kind != wire.NotSaved || strings.Contains(p.Message, "ann") || !strings.Contains(p.Message, "…/x.jsonl: no space left") {
		t.Errorf("it is reported as %+v", p)
	}
	for who, knows := range map[*identity]bool{{owner: true}: true, {scope: wire.ScopeAdmin}: true, {scope: wire.ScopeWrite}: false, {}: false} {
		if who.seesPaths() != knows {
			t.Errorf("%+v has it: %v", who, !knows)
		}
	}
	event := func(name string, data any) wire.Event {
		t.Helper()
		encoded, err := wire.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		return wire.Event{Name: name, Session: "s", Data: encoded}
	}
	for name, data := range map[string]any{
		wire.SessionUpdated: wire.Session{ID: "s", Files: []string{"/a/b/c.jsonl"}, Fault: "read /a/b/c.jsonl: torn"},
		wire.TurnFailed:     wire.Problem{Message: "write /a/b/c: full"}, wire.NoticeEvent: wire.Notice{Text: "see /a/b/c"}, wire.CompactionCompleted: wire.Compaction{Error: "write /a/b/c: full"},
	} {
		if e := eventWithoutPaths(event(name, data)); strings.Contains(string(e.Data), "/a/b") || !json.Valid(e.Data) {
			t.Errorf("%s reveals %s", name, e.Data)
		}
	}
	if e := eventWithoutPaths(event(wire.CompactionCompleted, wire.Compaction{Summary: "they wrote /a/b/c"})); !strings.Contains(string(e.Data), "/a/b/c") {
		t.Errorf("the message became %s", e.Data)
	}
}

// TestResponsesContainNoPaths checks that the sessions in all responses contain no file paths
// for callers that may not see them.
func TestResponsesContainNoPaths(t *testing.T) {
	const place = "/home/of/ann"
	sessions := 0
	for _, op := range operations() {
		if op.out == nil {
			continue
		}
		answer := reflect.New(op.out).Elem()
		n := withSessions(answer, place)
		sessions += n
		reported, err := json.Marshal(answerWithoutPaths(answer.Interface()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(reported), place) {
			t.Errorf("%s reveals file paths: %s", op.name, reported)
		}
		if n > 0 && !strings.Contains(string(reported), "x.jsonl") {
			t.Errorf("%s does not name the files: %s", op.name, reported)
		}
	}
	if sessions < 5 {
		t.Errorf("only %d answers have sessions in them", sessions)
	}
}

// withSessions puts a session with a file wherever a response can contain one, and returns
// the number of sessions.
func withSessions(v reflect.Value, place string) (n int) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[wire.Session]() {
			v.Set(reflect.ValueOf(wire.Session{Files: []string{place + "/x.jsonl"}, Fault: "read " + place + "/x.jsonl: torn"}))
			return 1
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				n += withSessions(v.Field(i), place)
			}
		}
	case reflect.Slice:
		one := reflect.New(v.Type().Elem()).Elem()
		if n = withSessions(one, place); n > 0 {
			v.Set(reflect.Append(v, one))
		}
	case reflect.Pointer:
		one := reflect.New(v.Type().Elem())
		if n = withSessions(one.Elem(), place); n > 0 {
			v.Set(one)
		}
	}
	return n
}
