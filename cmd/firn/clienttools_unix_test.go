//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/approve"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/wire"
)

// serveIn runs firn serve in a directory until the test ends.
func serveIn(t *testing.T, home, dir string) {
	t.Helper()
	cmd := firnCommand(home, "serve", "--json")
	cmd.Dir = dir
	runGateway(t, cmd)
}

// runGateway runs firn serve until the test ends.
func runGateway(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out := linetest.NewRecorder(t)
	cmd.Stdout, cmd.Stderr = out, linetest.NewRecorder(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Await(`"address"`)
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
}

// firnAt runs firn in a directory and returns its output.
func firnAt(t *testing.T, home, dir string, args ...string) string {
	t.Helper()
	cmd := firnCommand(home, args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "LC_CTYPE=mine")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("firn %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestToolsActAtTerminal serves in one directory and chats in another one. The tools act in
// the directory of the chat, with its environment, and their files rewind, also where the
// settings give the gateway a workspace of its own.
func TestToolsActAtTerminal(t *testing.T) {
	home, own := approvalHome(t, "")
	a, b := t.TempDir(), realDir(t)
	serveIn(t, home, a)
	id := firnIn(t, home, "new")
	write := []string{"chat", "-r", id, "--workspace", ".", "--allow-shell", "-p"}
	if got := firnAt(t, home, b, append(write, "write hello to hello.txt")...); !strings.Contains(got, "created hello.txt") {
		t.Fatalf("the answer is %s", got)
	}
	if got := firnAt(t, home, b, append(write, "run `pwd; echo $LC_CTYPE`")...); !strings.Contains(got, b+"\nmine") {
		t.Errorf("the shell printed %s", got)
	}
	if got := firnAt(t, home, b, append(write, "write changed to hello.txt")...); !strings.Contains(got, "hello.txt") {
		t.Errorf("the answer is %s", got)
	}
	for _, dir := range []string{a, own} {
		if found, err := os.ReadDir(dir); err != nil || len(found) > 0 {
			t.Errorf("%s has %v, %v", dir, found, err)
		}
	}
	file := filepath.Join(b, "hello.txt")
	expect := func(want string) {
		t.Helper()
		if data, err := os.ReadFile(file); err != nil || string(data) != want {
			t.Errorf("the file has %q, %v, want %q", data, err, want)
		}
	}
	expect("changed")
	if got := firnAt(t, home, b, "blame", "hello.txt"); !strings.Contains(got, id[:8]) {
		t.Errorf("blame printed %s", got)
	}
	undo := firnAt(t, home, b, "rewind", id, "--files")
	expect("hello")
	_, line, ok := strings.Cut(undo, "undo: firn ")
	if !ok {
		t.Fatalf("rewind printed %s", undo)
	}
	line, _, _ = strings.Cut(line, "\n")
	firnAt(t, home, b, strings.Fields(line)...)
	expect("changed")
	if got := firnAt(t, home, b, "chat", "-r", id, "--no-tools", "-p", "run `pwd`"); !strings.Contains(got, "not offered") {
		t.Errorf("without tools: %s", got)
	}
	// A read-only chat has no tool that writes, although the gateway has one.
	if got := firnAt(t, home, b, "chat", "-r", id, "-p", "write x to own.txt"); !strings.Contains(got, "not offered") {
		t.Errorf("read-only: %s", got)
	}
}

// realDir returns a temporary directory without symbolic links in its path.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestTerminalKilledDuringCall kills a chat with SIGKILL while its tool runs. The call has no
// result, as after a crash, the turn ends, and the next message is answered.
func TestTerminalKilledDuringCall(t *testing.T) {
	home, dir := t.TempDir(), realDir(t)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	serveIn(t, home, t.TempDir())
	id := firn.ID(firnIn(t, home, "new"))
	chat := firnCommand(home, "chat", "-r", string(id), "--allow-shell", "-p", "run `cat pipe`")
	chat.Dir = dir
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	end, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the command reads
	if err != nil {
		t.Fatal(err)
	}
	if err := chat.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	chat.Wait()
	end.Close()
	c := dialHome(t, home)
	for e, err := range c.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Name == wire.TurnFailed {
			if !strings.Contains(string(e.Data), "terminal that runs the tools is gone") {
				t.Errorf("the turn failed with %s", e.Data)
			}
			break
		}
	}
	got := transcript(t, home, id)
	if strings.Contains(got, "toolResult") || strings.Count(got, "assistant") != 1 {
		t.Errorf("the session has\n%s", got)
	}
	if got := firnAt(t, home, dir, "chat", "-r", string(id), "-p", "what did I say?"); got == "" {
		t.Errorf("the next answer is %s", got)
	}
}

// heldTool is a host with one tool, whose calls end when they are released.
type heldTool struct {
	secret  string
	calls   chan wire.ClientCall
	release chan string
}

func (h *heldTool) Offer() *wire.ClientTools {
	return &wire.ClientTools{Secret: h.secret, Directory: "/there", Tools: []wire.ClientTool{{ToolSpec: wire.ToolSpec{Name: "shell", Description: "runs", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`)}}}}
}

func (h *heldTool) Run(ctx context.Context, _ firn.ID, call wire.ClientCall, _ func(string)) wire.ClientResult {
	h.calls <- call
	r := wire.ClientResult{Secret: h.secret, Digest: call.Digest}
	select {
	case r.Text = <-h.release:
	case <-ctx.Done():
		r.Error = "canceled"
	}
	return r
}

// postTo sends JSON to the socket of a home and returns the status.
func postTo(t *testing.T, home, token, path string, body any) int {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(home, "gateway.sock"))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost"+path, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{DialContext: dial}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// TestOnlyTheClientAnswers checks that only the client that began a turn can give the
// result of a call, and only for the arguments of that call.
func TestOnlyTheClientAnswers(t *testing.T) {
	home := t.TempDir()
	serveIn(t, home, t.TempDir())
	id := firn.ID(firnIn(t, home, "new"))
	other := firnIn(t, home, "token", "create", "other", "--scope", "write")
	h := &heldTool{secret: strings.Repeat("s", 40), calls: make(chan wire.ClientCall, 1), release: make(chan string)}
	c := dialHome(t, home)
	var answer string
	done := make(chan error, 1)
	go func() {
		for e, err := range client.HostTools(c, h).StreamTurn(t.Context(), id, wire.Turn{Text: "run `pwd`"}) {
			if err != nil {
				done <- err
				return
			}
			if e.Name == wire.ToolCall {
				t.Error("the call was yielded")
			}
			if e.Name == wire.TurnCompleted {
				answer = wire.DataOf[wire.Answer](e).Text
			}
		}
		done <- nil
	}()
	call := <-h.calls
	if call.Digest != approve.Digest(call.Name, call.Arguments) || call.Entry == "" {
		t.Errorf("the call is %+v", call)
	}
	at := "/v1/sessions/" + string(id) + "/calls/" + call.Call
	good := wire.ClientResult{Secret: h.secret, Digest: call.Digest, Text: "forged"}
	with := func(change func(r *wire.ClientResult)) wire.ClientResult {
		r := good
		change(&r)
		return r
	}
	for _, x := range []struct {
		name, token, path string
		result            wire.ClientResult
		want              int
	}{
		{"another secret", "", at, with(func(r *wire.ClientResult) { r.Secret = strings.Repeat("x", 40) }), 404},
		{"no secret", "", at, with(func(r *wire.ClientResult) { r.Secret = "" }), 404},
		{"another user with the secret", other, at, good, 404},
		{"another call", "", at + "x", good, 404},
		{"other arguments", "", at, with(func(r *wire.ClientResult) { r.Digest = strings.Repeat("0", 64) }), 412},
		{"no digest", "", at, with(func(r *wire.ClientResult) { r.Digest = "" }), 400},
		{"no such preview", "", at, with(func(r *wire.ClientResult) { r.Preview = true }), 404},
		{"a bad hash", "", at, with(func(r *wire.ClientResult) { r.Files = []wire.ChangedFile{{Path: "/x", After: "y"}} }), 400},
		{"too much output", "", at, with(func(r *wire.ClientResult) { r.Text, r.Progress = "", strings.Repeat("x", 1<<20) }), 400},
		{"output with a result", "", at, with(func(r *wire.ClientResult) { r.Progress = "x" }), 400},
		{"too large", "", at, with(func(r *wire.ClientResult) { r.Text = strings.Repeat("x", 17<<20) }), 413},
	} {
		if got := postTo(t, home, x.token, x.path, x.result); got != x.want {
			t.Errorf("%s: status %d, want %d", x.name, got, x.want)
		}
	}
	h.release <- "the true result"
	if err := <-done; err != nil || !strings.Contains(answer, "the true result") {
		t.Errorf("the answer is %q, %v", answer, err)
	}
	if got := postTo(t, home, "", at, good); got != 404 {
		t.Errorf("after the turn: status %d", got)
	}
	// An offer is checked before anything is stored.
	for name, offer := range map[string]wire.ClientTools{
		"a short secret":     {Secret: "x"},
		"a relative path":    {Secret: h.secret, Directory: "there"},
		"two tools":          {Secret: h.secret, Tools: []wire.ClientTool{{ToolSpec: wire.ToolSpec{Name: "a"}}, {ToolSpec: wire.ToolSpec{Name: "a"}}}},
		"large instructions": {Secret: h.secret, Instructions: []string{strings.Repeat("x", 1<<20)}},
		"without a stream":   *h.Offer(),
	} {
		if got := postTo(t, home, "", "/v1/sessions/"+string(id)+"/turns", wire.Turn{Text: "hi", ClientTools: &offer}); got != 400 {
			t.Errorf("%s: status %d", name, got)
		}
	}
}
