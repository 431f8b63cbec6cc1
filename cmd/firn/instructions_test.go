package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInstructionsReachTheProvider chats below a project and checks the request: the
// instructions of the directory and its parents, their includes, and nothing from outside.
// firn window shows the same.
func TestInstructionsReachTheProvider(t *testing.T) {
	top, home := t.TempDir(), t.TempDir()
	root := filepath.Join(top, "project")
	sub := filepath.Join(root, "sub")
	for path, text := range map[string]string{
		filepath.Join(top, "AGENTS.md"):        "ABOVE",
		filepath.Join(top, "secret.md"):        "SECRET",
		filepath.Join(root, ".git", "HEAD"):    "ref: refs/heads/main",
		filepath.Join(root, "AGENTS.md"):       "FROM-ROOT",
		filepath.Join(root, "docs", "rule.md"): "FROM-INCLUDE",
		filepath.Join(sub, "CLAUDE.md"):        "FROM-SUB\n@include ../docs/rule.md\n@include ../../secret.md",
		filepath.Join(sub, "FIRN.md"):          "FROM-FIRN",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := newFakeProvider(t, func(fakeRequest) (int, string) { return http.StatusOK, "Hello." })
	_, notes, code := server.firn(t, home, sub, "chat", "-p", "hi there")
	if code != 0 || strings.Count(notes, "secret.md, included by sub/CLAUDE.md, was not read: it is outside the project") != 1 {
		t.Fatalf("it ended with %d: %s", code, notes)
	}
	sent := server.all()[0].text()
	at := 0
	for _, want := range []string{"FROM-ROOT", "FROM-SUB", "Contents of docs/rule.md, included by sub/CLAUDE.md:", "FROM-INCLUDE", "FROM-FIRN", "hi there"} {
		i := strings.Index(sent[at:], want)
		if i < 0 {
			t.Fatalf("%s is not in its place in\n%s", want, sent)
		}
		at += i
	}
	if strings.Contains(sent, "SECRET") || strings.Contains(sent, "ABOVE") {
		t.Errorf("it was sent\n%s", sent)
	}
	shown, _, _ := server.firn(t, home, sub, "window", "-")
	if !strings.Contains(shown, "AGENTS.md, sub/CLAUDE.md, docs/rule.md, sub/FIRN.md") || !strings.Contains(shown, "hi there") || !strings.Contains(shown, "environment") {
		t.Errorf("firn window shows\n%s", shown)
	}
	request, _, _ := server.firn(t, home, sub, "window", "-", "--as", "anthropic")
	if !strings.Contains(request, "FROM-INCLUDE") || strings.Contains(request, "SECRET") {
		t.Errorf("the request is\n%s", request)
	}
	allowed := "[defaults.instructions]\noutside = [\"" + filepath.ToSlash(filepath.Join(top, "secret.md")) + "\"]\n"
	if err := os.WriteFile(filepath.Join(home, "firn.toml"), []byte(allowed), 0o600); err != nil {
		t.Fatal(err)
	}
	server.firn(t, home, sub, "chat", "-c", "-p", "again")
	all := server.all()
	if sent := all[len(all)-1].text(); !strings.Contains(sent, "SECRET") {
		t.Errorf("allowed instructions were not sent in\n%s", sent)
	}
}

// TestWindowShowsRecall stores a note and finds it both in the request and in the output of
// firn window.
func TestWindowShowsRecall(t *testing.T) {
	home := t.TempDir()
	server := newFakeProvider(t, func(fakeRequest) (int, string) { return http.StatusOK, "In Oslo." })
	server.firn(t, home, home, "memory", "add", "The office of the shop is in Oslo")
	if _, notes, code := server.firn(t, home, home, "chat", "-p", "Where is the office of the shop?"); code != 0 {
		t.Fatal(notes)
	}
	if sent := server.all()[0].text(); !strings.Contains(sent, "<recall>") || !strings.Contains(sent, "is in Oslo") {
		t.Fatalf("the provider was sent\n%s", sent)
	}
	shown, _, _ := server.firn(t, home, home, "window", "-")
	if !strings.Contains(shown, "recall") || !strings.Contains(shown, "Oslo") {
		t.Errorf("firn window shows\n%s", shown)
	}
}
