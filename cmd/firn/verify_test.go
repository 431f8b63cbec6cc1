package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerifyAccept accepts a fault: verify is green until there is another one, also one
// at the same place.
func TestVerifyAccept(t *testing.T) {
	home := t.TempDir()
	p := &pair{t: t}
	id := binTalk(t, p, home, "damaged")
	p.must(home, "", "append", id, "--user", "one more")
	path := filepath.Join(home, "agents", "main", "sessions", id+".jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damage := func(from, to string) {
		t.Helper()
		next := strings.Replace(string(data), from, to, 1)
		if next == string(data) || len(next) != len(data) {
			t.Fatalf("%q is not replaced by %q", from, to)
		}
		data = []byte(next)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	red := func(when string) {
		t.Helper()
		if r := p.run(home, "", "verify"); r.code != 8 || !strings.Contains(r.out, "fault") {
			t.Errorf("%s it ended with %d: %s%s", when, r.code, r.out, r.errs)
		}
		if r := p.run(home, "", "doctor"); r.code != 8 {
			t.Errorf("%s doctor ended with %d: %s%s", when, r.code, r.out, r.errs)
		}
	}
	damage("hello from", "hello\x00from")
	red("damaged,")
	if out := p.must(home, "", "verify", "--accept", "--note", "seen"); !strings.Contains(out, "accepted") {
		t.Errorf("got\n%s", out)
	}
	note, err := os.ReadFile(filepath.Join(home, "verify-accepted.jsonl"))
	if err != nil || !strings.Contains(string(note), `"note":"seen"`) || !strings.Contains(string(note), id) {
		t.Errorf("the note is %s, %v", note, err)
	}
	for range 2 {
		if out := p.must(home, "", "verify"); !strings.Contains(out, "faults accepted, 0 of them now") {
			t.Errorf("got\n%s", out)
		}
	}
	p.must(home, "", "append", id, "--user", "and it goes on")
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	p.must(home, "", "verify")
	damage("hello\x00from", "hell\x00\x00from")
	red("damaged otherwise at the same place,")
	p.must(home, "", "verify", "--accept")
	damage("one more", "one\x00more")
	red("damaged elsewhere,")
	p.must(home, "", "verify", id, "--accept")
	p.must(home, "", "verify")
	if r := p.run(home, "", "doctor"); r.code != 0 || strings.Contains(r.out, "stray") { // as verify
		t.Errorf("doctor exited with %d and printed\n%s", r.code, r.out)
	}
}

// TestVerifyNoTranscript names files that are no transcripts: one line each.
func TestVerifyNoTranscript(t *testing.T) {
	dir := t.TempDir()
	p := &pair{t: t}
	for name, text := range map[string]string{"passwd": strings.Repeat("root:x:0:0:root:/root:/bin/sh\n", 30), "notes.jsonl": "a\nb\nc\n", "pretty.json": "{\n  \"a\": 1\n}\n", "binary": "\x7fELF\x00\x00\n{\x00\n\x01"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := p.run(dir, "", "verify", path)
		if r.code == 0 || r.out != "" || !strings.Contains(r.errs, "is not a transcript") || strings.Count(r.errs, "\n") > 2 {
			t.Errorf("%s: it ended with %d: %s%s", name, r.code, r.out, r.errs)
		}
	}
	for name, text := range map[string]string{"nul.jsonl": strings.Repeat("\x00", 500), "torn.jsonl": `{"type":"session","version":3,"id":"`} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := p.run(dir, "", "verify", path); r.code != 8 {
			t.Errorf("%s: it ended with %d: %s%s", name, r.code, r.out, r.errs)
		}
	}
}
