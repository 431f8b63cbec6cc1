package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"firn.dev/wire"
)

// chatIn starts firn chat in a terminal, with a workspace that tools may write to.
func chatIn(t *testing.T, home, work string, args ...string) *window {
	t.Helper()
	cmd := exec.Command("firn", append([]string{"chat", "--workspace", work, "--allow-shell"}, args...)...)
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "TERM=xterm-256color", "NO_COLOR=")
	return runInWindow(t, work, cmd, 100, 40)
}

// TestTerminalApproves asks for approval in a terminal: the question shows the diff in
// color, y runs the call, n gives the model the reason, and a is for the session.
func TestTerminalApproves(t *testing.T) {
	home, work, other := t.TempDir(), t.TempDir(), realDir(t)
	if err := os.WriteFile(filepath.Join(other, "b.txt"), []byte("from outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := chatIn(t, home, work)
	w.sees("›")
	w.press("read " + filepath.Join(other, "b.txt") + "\r")
	w.sees("Allow read_file")
	w.sees("outside the workspace: " + filepath.Join(other, "b.txt"))
	w.press("y\r")
	w.sees("from outside")
	w.press("write hello to a.txt\r")
	w.sees("Allow write_file")
	w.sees("+hello")
	w.sees("y yes · n [REASON] no · a always in this session, p in this project: edit(a.txt)")
	if _, err := os.Stat(filepath.Join(work, "a.txt")); err == nil {
		t.Fatal("the file was written before the answer")
	}
	w.press("what?\r")
	w.sees("please answer y, n, a or p")
	w.press("y\r")
	w.sees("· allowed")
	w.sees("Done: created a.txt")
	w.press("replace hello with goodbye in a.txt\r")
	w.sees("-hello")
	w.sees("+goodbye")
	w.press("n use b.txt\r")
	w.sees("· denied")
	w.sees("the user denied it: use b.txt")
	w.press("run `echo one`\r")
	w.sees("shell(echo *)")
	w.press("a\r")
	w.sees("allowed, always in this session: shell(echo *)")
	w.sees("one")
	w.press("run `echo two`\r")
	w.sees("two\n")
	w.press("/quit\r")
	w.ends(0)
	if data, err := os.ReadFile(filepath.Join(work, "a.txt")); err != nil || string(data) != "hello" {
		t.Errorf("the file has %q, %v", data, err)
	}
}

// TestTerminalAsksAgain kills the chat with SIGKILL while it asks. The next chat asks the
// same question without a new message, and the call runs once.
func TestTerminalAsksAgain(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	w := chatIn(t, home, work)
	w.sees("›")
	w.press("write hello to a.txt\r")
	w.sees("p in this project: edit(a.txt)")
	if err := w.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.cmd.Wait()
	again := chatIn(t, home, work, "-c")
	again.sees("a call still waits for your approval")
	again.sees("+hello")
	again.press("y\r")
	again.sees("Done: created a.txt")
	again.press("/quit\r")
	again.ends(0)
	got := transcript(t, home, onlySession(t, home))
	if strings.Count(got, "toolResult") != 1 || strings.Count(got, "user: ") != 1 {
		t.Errorf("the session has\n%s", got)
	}
	verify(t, home)
}

// TestTerminalAsksAgainServed kills a chat without a gateway while it asks, and starts firn serve.
// That does not have the tools of the terminal: it lists the question, and does not continue the
// turn. The next chat asks again, and the call runs once.
func TestTerminalAsksAgainServed(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	w := chatIn(t, home, work)
	w.sees("›")
	w.press("write hello to a.txt\r")
	w.sees("p in this project: edit(a.txt)")
	if err := w.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.cmd.Wait()
	serveHome(t, home)
	id := onlySession(t, home)
	if text := firnIn(t, home, "approvals", string(id)); !strings.Contains(text, "write_file a.txt") {
		t.Errorf("firn approvals printed %q", text)
	}
	c := dialHome(t, home)
	all, err := c.Approvals.List(t.Context(), id)
	if err != nil || len(all) != 1 {
		t.Fatalf("waiting: %+v, %v", all, err)
	}
	if _, err := c.Approvals.Answer(t.Context(), id, all[0].Call, wire.ApprovalAnswer{Decision: wire.ApprovalAllow, Digest: all[0].Digest}); wire.KindOf(err) != wire.Unavailable {
		t.Errorf("an answer without the terminal: %v", err)
	}
	again := chatIn(t, home, work, "-c")
	again.sees("a call still waits for your approval")
	again.sees("+hello")
	again.sees("· write_file a.txt …") // the turn runs: an answer before that is refused
	again.press("y\r")
	again.sees("Done: created a.txt")
	again.press("/quit\r")
	again.ends(0)
	if got := transcript(t, home, id); strings.Count(got, "toolResult") != 1 || strings.Count(got, "user: ") != 1 {
		t.Errorf("the session has\n%s", got)
	}
}

// TestTerminalDiff shows edits that need no approval as a colored diff, folded when long.
func TestTerminalDiff(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	var long strings.Builder
	for i := range 60 {
		fmt.Fprintf(&long, "old %d\n", i)
	}
	if err := os.WriteFile(filepath.Join(work, "long.txt"), []byte(long.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w := chatIn(t, home, work, "--approve", "accept-edits")
	w.sees("›")
	w.press("write new to long.txt\r")
	w.sees("--- a/long.txt")
	w.sees("-old 0")
	w.sees("more lines")
	w.sees("Done: wrote long.txt")
	if strings.Contains(w.All(), "-old 40") {
		t.Errorf("the diff is not folded:\n%s", w.All())
	}
	w.press("/quit\r")
	w.ends(0)
}

// TestApproveWithoutTerminal checks firn chat -p: everything is allowed as before unless a
// mode is set, and without a user to ask the call is refused.
func TestApproveWithoutTerminal(t *testing.T) {
	home, work := t.TempDir(), t.TempDir()
	text := func(args ...string) string {
		t.Helper()
		cmd := firnCommand(home, append([]string{"chat", "--workspace", work, "-p"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if got := text("write one to a.txt"); !strings.Contains(got, "Done: created a.txt") {
		t.Errorf("without a mode: %s", got)
	}
	if got := text("--approve", "ask", "write two to b.txt"); !strings.Contains(got, "there is no terminal to ask") {
		t.Errorf("ask: %s", got)
	}
	if got := text("--approve", "read-only", "write three to c.txt"); !strings.Contains(got, "read-only") {
		t.Errorf("read-only: %s", got)
	}
	if got := text("--approve", "accept-edits", "write four to d.txt"); !strings.Contains(got, "Done: created d.txt") {
		t.Errorf("accept-edits: %s", got)
	}
	names, err := filepath.Glob(filepath.Join(work, "*"))
	if err != nil || len(names) != 2 {
		t.Errorf("the files are %v, %v", names, err)
	}
	cmd := firnCommand(home, "chat", "-p", "--approve", "sometimes", "hello")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "accept-edits") {
		t.Errorf("an unknown mode: %s, %v", out, err)
	}
}
