//go:build unix

package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/store"
)

// TestTwoChats lets two chats type into one session concurrently for 400 turns in total,
// once through a gateway and once without one on the same home. There is one order without
// branches; every message is stored exactly once, is answered before the next one, and its
// answer is sent to its author.
func TestTwoChats(t *testing.T) {
	each := 100
	if testing.Short() {
		each = 50
	}
	for name, served := range map[string]bool{"with a gateway": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			if served {
				serveHome(t, home)
			}
			firnIn(t, home, "chat", "--main", "-p", "Hello.")
			var wait sync.WaitGroup
			for who := range 2 {
				wait.Go(func() { typeInto(t, home, 'A'+rune(who), each) })
			}
			wait.Wait()
			oneOrder(t, home, each)
			if tree := firnIn(t, home, "tree", "-", "-n", "all"); !strings.Contains(tree, ", 1 branch") {
				t.Errorf("the session has forked")
			}
			verify(t, home)
		})
	}
}

// saying is the i-th message of a user, answer the offline model's answer.
func saying(who rune, i int) string { return fmt.Sprintf("I am %c%d.", who, i) }

func answerTo(message string) string { return "I have that now: “" + message + "”" }

// typeInto types lines into a chat and reads the answers: one for each line, in order, and
// none of another user's.
func typeInto(t *testing.T, home string, who rune, lines int) {
	var in strings.Builder
	for i := range lines {
		in.WriteString(saying(who, i) + "\n")
	}
	var out, talk bytes.Buffer
	cmd := firnCommand(home, "chat", "--main")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in.String()), &out, &talk
	if err := cmd.Run(); err != nil {
		t.Errorf("chat %c: %v\n%s", who, err, &talk)
		return
	}
	texts := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(texts) != lines {
		t.Errorf("chat %c received %d lines, want %d", who, len(texts), lines)
		return
	}
	for i, line := range texts {
		if !strings.HasPrefix(line, answerTo(saying(who, i))) {
			t.Errorf("chat %c sent %q and received %q", who, saying(who, i), line)
			return
		}
	}
}

// oneOrder compares the only session of a home with the typed lines: user and assistant
// alternate, each answer belongs to the preceding message, each user's messages are
// complete and in order, and every entry follows the preceding one.
func oneOrder(t *testing.T, home string, each int) {
	t.Helper()
	next := map[rune]int{'A': 0, 'B': 0}
	var before firn.EntryID
	waits := ""
	for rec, err := range openStore(t, home).Read(t.Context(), onlySession(t, home), store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := rec.Entry()
		if err != nil {
			t.Fatal(err)
		}
		if _, header := e.Body.(*firn.Header); header {
			continue
		}
		if e.Parent != before && before != "" {
			t.Fatalf("entry %s has the parent %s but is after %s", e.ID, e.Parent, before)
		}
		before = e.ID
		m, ok := e.Body.(*firn.Message)
		if !ok || strings.Contains(m.Text(), "Hello") {
			continue
		}
		switch text := m.Text(); {
		case m.Role == firn.RoleUser && waits == "":
			who := rune(text[len("I am ")])
			if text != saying(who, next[who]) {
				t.Fatalf("%q was said, want %q", text, saying(who, next[who]))
			}
			next[who]++
			waits = text
		case m.Role == firn.RoleAssistant && waits != "" && strings.HasPrefix(text, answerTo(waits)):
			waits = ""
		default:
			t.Fatalf("the %s sends %q while %q waits for an answer", m.Role, text, waits)
		}
	}
	if next['A'] != each || next['B'] != each || waits != "" {
		t.Errorf("A said %d things, B %d, want %d of each; %q was not answered", next['A'], next['B'], each, waits)
	}
}
