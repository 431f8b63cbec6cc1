//go:build unix

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/term/line/linetest"
	"firn.dev/wire"
)

// TestKilledGatewayAnswersQueue kills firn serve with SIGKILL while it answers one message and
// two more are queued, all acknowledged. The next gateway answers each of them once, in
// order, without any request.
func TestKilledGatewayAnswersQueue(t *testing.T) {
	home, server := t.TempDir(), newSlowServer(t)
	killed, out := firnCommand(home, "serve", "--json"), linetest.NewRecorder(t)
	killed.Env = append(killed.Env, "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY=x", "FIRN_MODEL=openai/slow")
	killed.Stdout, killed.Stderr = out, linetest.NewRecorder(t)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killed.Process.Kill() })
	out.Await(`"address"`)
	id := firn.ID(firnIn(t, home, "new"))
	c, err := client.New(client.Options{Address: "unix:" + filepath.Join(home, "gateway.sock")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var want []string
	for i := range 3 {
		text := saying('A', i)
		if _, err := c.Turn(t.Context(), id, wire.Turn{Text: text, Queue: "followup", Wait: new(false)}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			<-server.asked
		}
		want = append(want, "user: "+text, "assistant: "+answerTo(text))
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.Wait()

	serveHome(t, home)
	reported, tail := linetest.NewRecorder(t), firnCommand(home, "tail", "-f", string(id))
	tail.Stdout = reported
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	reported.Await(answerTo(saying('A', 2)))
	tail.Process.Signal(syscall.SIGINT)
	tail.Wait()
	got := slices.DeleteFunc(strings.Split(strings.TrimSpace(transcript(t, home, id)), "\n"), func(line string) bool {
		return strings.HasSuffix(line, "(aborted)") // the partial answer of the first gateway
	})
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("the session has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	verify(t, home)
}
