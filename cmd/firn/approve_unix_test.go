//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/wire"
)

// approvalHome creates a home whose agent may write in a workspace, and returns both.
func approvalHome(t *testing.T, settings string) (home, work string) {
	t.Helper()
	home, work = t.TempDir(), t.TempDir()
	text := "[defaults]\nworkspace = '" + work + "'\nworkspace_write = true\n[defaults.shell]\nenabled = true\n" + settings
	if err := os.WriteFile(filepath.Join(home, "firn.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return home, work
}

// dialHome returns a client of the gateway of a home.
func dialHome(t *testing.T, home string) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Address: "unix:" + filepath.Join(home, "gateway.sock")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestApprovalSurvivesKill kills firn serve with SIGKILL while a call waits for approval.
// The next gateway asks the same question; only an answer with its digest counts, and the
// call runs once.
func TestApprovalSurvivesKill(t *testing.T) {
	home, work := approvalHome(t, "")
	killed, out := firnCommand(home, "serve", "--json"), linetest.NewRecorder(t)
	killed.Stdout, killed.Stderr = out, linetest.NewRecorder(t)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killed.Process.Kill() })
	out.Await(`"address"`)
	id := firn.ID(firnIn(t, home, "new"))
	c := dialHome(t, home)
	if _, err := c.Turn(t.Context(), id, wire.Turn{Text: "write hello to hello.txt", Approve: "ask", Wait: new(false)}); err != nil {
		t.Fatal(err)
	}
	first := awaitPending(t, c, id)
	if first.Name != "write_file" || !strings.Contains(first.Diff, "+hello") || first.Rule != "edit(hello.txt)" || first.Effect != "edit" {
		t.Errorf("the question is %+v", first)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.Wait()

	// Without a gateway the question is in the log.
	if text := firnIn(t, home, "approvals", string(id)); !strings.Contains(text, "write_file") || !strings.Contains(text, "hello.txt") {
		t.Errorf("firn approvals printed %q", text)
	}
	serveHome(t, home)
	c = dialHome(t, home)
	again := awaitPending(t, c, id)
	if again.Call != first.Call || again.Digest != first.Digest {
		t.Errorf("asked %+v, then %+v", first, again)
	}
	var problem *wire.Problem
	forged := wire.ApprovalAnswer{Decision: wire.ApprovalAllow, Digest: strings.Repeat("0", 64)}
	if _, err := c.Approvals.Answer(t.Context(), id, again.Call, forged); !errors.As(err, &problem) || problem.Kind != wire.Conflict {
		t.Errorf("another digest: %v", err)
	}
	if _, err := c.Approvals.Answer(t.Context(), id, "other", wire.ApprovalAnswer{Decision: wire.ApprovalAllow, Digest: again.Digest}); !errors.As(err, &problem) || problem.Kind != wire.NotFound {
		t.Errorf("another call: %v", err)
	}
	if _, err := os.Stat(filepath.Join(work, "hello.txt")); err == nil {
		t.Fatal("the file was written before the answer")
	}
	if _, err := c.Approvals.Answer(t.Context(), id, again.Call, wire.ApprovalAnswer{Decision: wire.ApprovalAllow, Digest: again.Digest}); err != nil {
		t.Fatal(err)
	}
	awaitAnswer(t, c, id, "Done: created hello.txt")
	if data, err := os.ReadFile(filepath.Join(work, "hello.txt")); err != nil || string(data) != "hello" {
		t.Errorf("the file has %q, %v", data, err)
	}
	got := transcript(t, home, id)
	if strings.Count(got, "toolResult") != 1 {
		t.Errorf("the session has\n%s", got)
	}
}

// TestApprovalSurvivesStop stops firn serve with SIGTERM while a call waits for approval. It
// does not wait for the answer, and the next gateway asks again.
func TestApprovalSurvivesStop(t *testing.T) {
	home, work := approvalHome(t, "[defaults.approvals]\nmode = 'ask'\n")
	stopped, out := firnCommand(home, "serve", "--json"), linetest.NewRecorder(t)
	stopped.Stdout, stopped.Stderr = out, linetest.NewRecorder(t)
	if err := stopped.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped.Process.Kill() })
	out.Await(`"address"`)
	id := firn.ID(firnIn(t, home, "new"))
	c := dialHome(t, home)
	if _, err := c.Turn(t.Context(), id, wire.Turn{Text: "run `touch made`", Wait: new(false)}); err != nil {
		t.Fatal(err)
	}
	first := awaitPending(t, c, id)
	stopped.Process.Signal(syscall.SIGTERM)
	if err := stopped.Wait(); err != nil {
		t.Errorf("the gateway ended with %v", err)
	}
	serveHome(t, home)
	c = dialHome(t, home)
	if again := awaitPending(t, c, id); again.Digest != first.Digest || again.Call != first.Call {
		t.Errorf("asked %+v, then %+v", first, again)
	}
	if text := firnIn(t, home, "approvals", "allow", string(id), "--for", "session"); !strings.Contains(text, "allowed shell; always in this session: shell(touch *)") {
		t.Errorf("firn approvals allow printed %q", text)
	}
	awaitAnswer(t, c, id, "shell answered")
	if _, err := os.Stat(filepath.Join(work, "made")); err != nil {
		t.Error(err)
	}
	if text := firnIn(t, home, "approvals", string(id)); !strings.Contains(text, "nothing waits") {
		t.Errorf("firn approvals printed %q", text)
	}
	for _, command := range []string{"deny", "refuse"} { // the name and the alias
		if _, err := c.Turn(t.Context(), id, wire.Turn{Text: "write x to x.txt", Wait: new(false)}); err != nil {
			t.Fatal(err)
		}
		awaitPending(t, c, id)
		if text := firnIn(t, home, "approvals", command, string(id), "--reason", "not with "+command); !strings.Contains(text, "denied") {
			t.Errorf("firn approvals %s printed %q", command, text)
		}
		awaitAnswer(t, c, id, "not with "+command)
	}
	if _, err := os.Stat(filepath.Join(work, "x.txt")); err == nil {
		t.Error("a denied write was made")
	}
}

// awaitPending waits until a call of a session waits for approval.
func awaitPending(t *testing.T, c *client.Client, id firn.ID) wire.Approval {
	t.Helper()
	for e, err := range c.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == wire.ApprovalRequested || e.Name == wire.TurnPartial || e.Name == wire.TurnStarted || e.Name == wire.EntryAppended {
			all, err := c.Approvals.List(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) > 0 {
				return all[0]
			}
		}
	}
	t.Fatal("nothing waits for approval")
	return wire.Approval{}
}

// awaitAnswer waits until the log of a session has a text.
func awaitAnswer(t *testing.T, c *client.Client, id firn.ID, text string) {
	t.Helper()
	for e, err := range c.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == wire.EntryAppended && strings.Contains(string(e.Data), text) {
			return
		}
	}
}

// TestApprovalOverAPI refuses a call with a reason, allows one for the session and one for
// the project, and checks what is asked afterwards.
func TestApprovalOverAPI(t *testing.T) {
	home, work := approvalHome(t, "")
	serveHome(t, home)
	c := dialHome(t, home)
	say := func(id firn.ID, text string, answers ...wire.ApprovalAnswer) (asked int, answer string) {
		t.Helper()
		for e, err := range c.StreamTurn(t.Context(), id, wire.Turn{Text: text, Approve: "ask"}) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Name {
			case wire.ApprovalRequested:
				var q wire.Approval
				if err := json.Unmarshal(e.Data, &q); err != nil || asked >= len(answers) {
					t.Fatalf("got %s, %v", e.Data, err)
				}
				a := answers[asked]
				asked++
				a.Digest = q.Digest
				if _, err := c.Approvals.Answer(t.Context(), id, q.Call, a); err != nil {
					t.Fatal(err)
				}
			case wire.TurnCompleted:
				var a wire.Answer
				if err := json.Unmarshal(e.Data, &a); err != nil {
					t.Fatal(err)
				}
				answer = a.Text
			}
		}
		return asked, answer
	}
	one, two := firn.ID(firnIn(t, home, "new")), firn.ID(firnIn(t, home, "new"))
	if n, content := say(one, "write a to a.txt", wire.ApprovalAnswer{Decision: "refuse", Reason: "not this file"}); n != 1 || !strings.Contains(content, "not this file") {
		t.Errorf("asked %d times, %q", n, content)
	}
	if _, err := os.Stat(filepath.Join(work, "a.txt")); err == nil {
		t.Error("a refused write was made")
	}
	if n, content := say(one, "run `echo one`", wire.ApprovalAnswer{Decision: "allow", Scope: "session"}); n != 1 || !strings.Contains(content, "one") {
		t.Errorf("asked %d times, %q", n, content)
	}
	if n, content := say(one, "run `echo two`"); n != 0 || !strings.Contains(content, "two") {
		t.Errorf("asked %d times, %q", n, content)
	}
	if n, _ := say(one, "run `echo two; touch x`", wire.ApprovalAnswer{Decision: "refuse"}); n != 1 {
		t.Errorf("a compound command was asked about %d times", n)
	}
	if n, _ := say(two, "run `echo three`", wire.ApprovalAnswer{Decision: "allow", Scope: "project"}); n != 1 {
		t.Errorf("another session was asked about %d times", n)
	}
	three := firn.ID(firnIn(t, home, "new"))
	if n, content := say(three, "run `echo four`"); n != 0 || !strings.Contains(content, "four") {
		t.Errorf("the project was asked about %d times, %q", n, content)
	}
}
