package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestMessage checks which events are messages for the agent, and their text.
func TestMessage(t *testing.T) {
	for data, want := range map[string]string{
		`{"type":"m.room.message","content":{"msgtype":"m.text","body":"hello"}}`:                                                                          "hello",
		`{"type":"m.room.message","content":{"msgtype":"m.text","body":"> <@a:h> old\n> more\n\nnew","m.relates_to":{"m.in_reply_to":{"event_id":"$1"}}}}`: "new",
		`{"type":"m.room.message","content":{"msgtype":"m.text","body":"> quoted\n\nnew"}}`:                                                                "> quoted\n\nnew",
		`{"type":"m.room.message","content":{"msgtype":"m.notice","body":"from a bot"}}`:                                                                   "",
		`{"type":"m.room.message","content":{"msgtype":"m.text","body":"* edited","m.relates_to":{"rel_type":"m.replace","event_id":"$1"}}}`:               "",
		`{"type":"m.room.message","content":{}}`:                                                                                                           "",
		`{"type":"m.room.message","content":{"msgtype":5}}`:                                                                                                "",
		`{"type":"m.reaction","content":{"m.relates_to":{"rel_type":"m.annotation","event_id":"$1","key":"+"}}}`:                                           "",
	} {
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		c, ok := e.message()
		if ok != (want != "") || ok && c.text() != want {
			t.Errorf("%s is a message: %v, with the text %q", data, ok, c.text())
		}
	}
}

// TestProgress checks that the token of a sync is saved only when it and all before it are
// handled.
func TestProgress(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	p, since, err := openProgress(dir, "@firn:h")
	if err != nil || since != "" {
		t.Fatal(since, err)
	}
	first, second, third := p.begin("s1"), p.begin("s2"), p.begin("s3")
	p.add(second)
	step := func(b *batch, want string) {
		t.Helper()
		if err := p.done(b); err != nil {
			t.Fatal(err)
		}
		if _, since, err := openProgress(dir, "@firn:h"); err != nil || since != want {
			t.Errorf("it continues with %q, want %q: %v", since, want, err)
		}
	}
	step(third, "")
	step(second, "")
	step(first, "s1")
	step(second, "s3")
	if _, _, err := openProgress(dir, "@other:h"); err == nil {
		t.Error("another user continues with it")
	}
	if err := os.WriteFile(filepath.Join(dir, "since.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openProgress(dir, "@firn:h"); err == nil {
		t.Error("a damaged file is accepted")
	}
}
