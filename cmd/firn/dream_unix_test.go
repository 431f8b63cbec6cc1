//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev/internal/term/line/linetest"
)

// dreamServer is a Chat Completions server that extracts facts and gives advice. It reports
// every request and answers on command.
type dreamServer struct {
	*httptest.Server
	asked chan string
	may   chan struct{}
}

func newDreamServer(t *testing.T) *dreamServer {
	s := &dreamServer{asked: make(chan string), may: make(chan struct{})}
	over := make(chan struct{})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		phase, answer := "gather", "MEMORY: decision | 9 | The shop uses Postgres | 1"
		if strings.Contains(string(body), "You tidy up notes") {
			phase, answer = "consolidate", "NONE"
		}
		select {
		case s.asked <- phase:
		case <-over:
			return
		}
		select {
		case <-s.may:
		case <-r.Context().Done():
			return
		case <-over:
			return
		}
		text, _ := json.Marshal(answer)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
	}))
	t.Cleanup(func() {
		close(over)
		s.Close()
	})
	return s
}

// dreamsHome creates a home with a note and a session with facts.
func dreamsHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	begin := firnCommand(home, "new")
	begin.Dir = home // not a project, which would have notes of its own
	id, err := begin.Output()
	if err != nil {
		t.Fatal(err)
	}
	firnIn(t, home, "append", strings.TrimSpace(string(id)), "--user", "The shop uses Postgres from today on.")
	firnIn(t, home, "memory", "add", "The office is in Oslo")
	return home
}

// with returns a command on a home that uses the server.
func (s *dreamServer) with(home string, args ...string) *exec.Cmd {
	cmd := firnCommand(home, args...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+s.URL, "OPENAI_API_KEY=x", "FIRN_MODEL=openai/gpt-4o")
	return cmd
}

// notesIn returns the notes of a home as on disk, without state files.
func notesIn(t *testing.T, home string) string {
	t.Helper()
	dir := filepath.Join(home, "agents", "main", "workspace")
	files, err := filepath.Glob(filepath.Join(dir, "memory", "[0-9a-z]*.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, file := range append(files, filepath.Join(dir, "MEMORY.md")) {
		data, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all += filepath.Base(file) + "\n" + string(data)
	}
	return all
}

// TestTwoDreamAtOnce starts two consolidations of one home: one runs, the other names the
// owner of the lock.
func TestTwoDreamAtOnce(t *testing.T) {
	server, home := newDreamServer(t), dreamsHome(t)
	first, out := server.with(home, "memory", "dream"), linetest.NewRecorder(t)
	first.Stdout, first.Stderr = out, out
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { first.Process.Kill() })
	<-server.asked
	second, err := server.with(home, "memory", "dream").CombinedOutput()
	if want := fmt.Sprintf("firn, process %d on ", first.Process.Pid); err != nil || !strings.Contains(string(second), "agent: not due (lock)") || !strings.Contains(string(second), want) {
		t.Errorf("the second returned %s, %v, not %s", second, err, want)
	}
	server.may <- struct{}{}
	<-server.asked // for advice
	server.may <- struct{}{}
	if err := first.Wait(); err != nil || !strings.Contains(out.String(), "agent: consolidated") {
		t.Errorf("the first returned %s, %v", out, err)
	}
	if notes := notesIn(t, home); !strings.Contains(notes, "The shop uses Postgres") {
		t.Errorf("the notes are\n%s", notes)
	}
}

// TestKilledGatewayDreams kills a gateway with SIGKILL in each phase of a consolidation that
// calls a model. The notes are unchanged, others are locked out for an hour and no longer, and
// then the consolidation runs.
func TestKilledGatewayDreams(t *testing.T) {
	for _, phase := range []string{"gather", "consolidate"} {
		t.Run(phase, func(t *testing.T) {
			server, home := newDreamServer(t), dreamsHome(t)
			old := notesIn(t, home)
			gateway, out := server.with(home, "serve", "--json"), linetest.NewRecorder(t)
			gateway.Stdout, gateway.Stderr = out, linetest.NewRecorder(t)
			if err := gateway.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { gateway.Process.Kill() })
			out.Await(`"address"`)
			dream := firnCommand(home, "memory", "dream")
			if err := dream.Start(); err != nil {
				t.Fatal(err)
			}
			for asked := range server.asked {
				if asked == phase {
					break
				}
				server.may <- struct{}{}
			}
			if err := gateway.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			gateway.Wait()
			if dream.Wait() == nil {
				t.Error("the dream succeeded")
			}
			if got := notesIn(t, home); got != old {
				t.Errorf("the notes are\n%s\nwant\n%s", got, old)
			}
			if text := firnIn(t, home, "memory", "dream"); !strings.Contains(text, fmt.Sprintf("(lock): consolidate the notes in %s: firn, process %d on ", filepath.Join(home, "agents", "main", "workspace"), gateway.Process.Pid)) {
				t.Errorf("the next dream prints %s", text)
			}
			lock := filepath.Join(home, "agents", "main", "workspace", "memory", ".consolidation_lock")
			stale := fmt.Sprintf(`{"owner":"the dead one","token":"x","since":%q}`, time.Now().Add(-61*time.Minute).Format(time.RFC3339))
			if err := os.WriteFile(lock, []byte(stale), 0o600); err != nil {
				t.Fatal(err)
			}
			if text := firnIn(t, home, "memory", "dream"); !strings.Contains(text, "agent: consolidated") {
				t.Errorf("an hour later: %s", text)
			}
		})
	}
}
