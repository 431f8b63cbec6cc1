package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// openProject starts firn in a directory, in a terminal.
func openProject(t *testing.T, home, dir string, args ...string) *window {
	t.Helper()
	cmd := exec.Command("firn", args...)
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=firn/offline", "TERM=xterm-256color", "NO_COLOR=1")
	return runInWindow(t, dir, cmd, 80, 24)
}

// TestTwoTerminals opens two chats in one project, with and without a gateway. Each shows the
// messages of the other, even if the other created the session in the meantime.
func TestTwoTerminals(t *testing.T) {
	for name, served := range map[string]bool{"with a gateway": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			home, dir := t.TempDir(), t.TempDir()
			if served {
				serveHome(t, home)
			}
			a, b := openProject(t, home, dir), openProject(t, home, dir)
			a.Await(t, "new session")
			b.Await(t, "new session")
			a.press("My name is Ada.\r")
			a.Await(t, "on disk")
			b.press("What is my name?\r")
			b.Await(t, "another client has started this session meanwhile:")
			b.Await(t, "you: My name is Ada.")
			b.Await(t, "Your name is Ada.")
			a.Await(t, "· another client: What is my name?")
			a.Await(t, "Your name is Ada.")
			b.AwaitThat(t, "the turn of B is over", func() bool { return strings.Contains(b.All(), "on disk") })
			a.press("/rewind 1\r")
			a.Await(t, "rewound to before")
			b.Await(t, "· another client rewound this session")
			if strings.Contains(a.All(), "another client rewound") || strings.Contains(b.All(), "another client: What") {
				t.Errorf("a terminal shows its own entries as another's:\n%s\n%s", a.All(), b.All())
			}
			for _, w := range []*window{a, b} {
				w.press("\x04")
				if err := w.cmd.Wait(); err != nil {
					t.Error(err)
				}
			}
			onlySession(t, home)
			verify(t, home)
		})
	}
}

// halvingServer answers as LM Studio does, and waits in the middle of each answer until goOn
// receives a value.
func halvingServer(t *testing.T, goOn <-chan struct{}) (url string) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":[{"id":"slow","object":"model"}],"object":"list"}`))
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		asked, _ := io.ReadAll(r.Body)
		turn := strings.Contains(string(asked), `"tools"`) // otherwise it requests a title
		w.Header().Set("Content-Type", "text/event-stream")
		for i, text := range []string{`{"role":"assistant","content":"The first half.\n\nThe "}`, `{"content":"second half."}`} {
			fmt.Fprintf(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"slow\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", text)
			w.(http.Flusher).Flush()
			if i > 0 || !turn {
				continue
			}
			select {
			case <-goOn:
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"slow","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// TestTwoTerminalsStream shows an answer in the other terminal while it is streamed, with and
// without a gateway, each part once.
func TestTwoTerminalsStream(t *testing.T) {
	for name, served := range map[string]bool{"with a gateway": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			home, dir, goOn := t.TempDir(), t.TempDir(), make(chan struct{})
			env := append(onlyLocal(t, home, halvingServer(t, goOn)), "FIRN_MODEL=lmstudio/slow")
			if served {
				serveWith(t, env)
			}
			open := func() *window {
				cmd := exec.Command("firn", "chat")
				cmd.Env = env
				return runInWindow(t, dir, cmd, 80, 24)
			}
			a := open()
			a.Await(t, "new session")
			a.press("Begin.\r")
			a.Await(t, "The first half.")
			goOn <- struct{}{}
			a.Await(t, "The second half.")
			b := open()
			b.Await(t, "Begin.")
			a.AwaitThat(t, "the turn is over", func() bool { return strings.Contains(a.All(), "on disk") })
			before := strings.Count(b.All(), "half.")
			a.press("Again.\r")
			b.Await(t, "· another client: Again.")
			b.AwaitThat(t, "the first half is shown before the answer is complete", func() bool { return strings.Count(b.All(), "half.") > before })
			if n := strings.Count(b.All(), "half.") - before; n != 1 {
				t.Errorf("%d halves are shown before the second one was sent", n)
			}
			goOn <- struct{}{}
			b.AwaitThat(t, "the second half is shown", func() bool { return strings.Count(b.All(), "half.") > before+1 })
			b.press("/status\r") // its output follows all of the answer
			b.Await(t, "tokens")
			if all := b.All(); strings.Count(all, "half.") != before+2 {
				t.Errorf("parts of the answer are repeated:\n%s", all)
			}
			a.AwaitThat(t, "the turn of A is over", func() bool { return strings.HasSuffix(strings.TrimSpace(a.String()), "›") })
			close(goOn) // for requests of the chat itself
			for _, w := range []*window{a, b} {
				w.press("\x04")
				w.ends(0)
			}
		})
	}
}

// TestResumePicker chooses a session by fuzzy matching and by content, first of the project and with Tab of all.
func TestResumePicker(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	for dir, text := range map[string]string{here: "My boat is called Nautilus.", there: "We fly to Oslo."} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := firnCommand(home, "chat", "-p", text)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	w := openProject(t, home, here, "chat", "-r")
	w.Await(t, "1, this project · Tab: all sessions")
	w.Await(t, "first: My boat is called Nautilus.")
	w.press("\t")
	w.Await(t, "2, all sessions · Tab: this project")
	w.press("nautls") // letters in order of the first message
	w.Await(t, "1, all sessions · Tab: this project")
	w.press("\x15quot") // the beginning of a word in the answer
	w.Await(t, "match: I have that now: “My boat is called Nautilus.”")
	w.press("\x15oslo")
	w.Await(t, "you: We fly to Oslo.")
	w.press("\r")
	w.Await(t, "Resumed: 1 previous turn")
	w.press("\x04")
	if err := w.cmd.Wait(); err != nil {
		t.Error(err)
	}
	w = openProject(t, home, here, "-r") // without chat
	w.Await(t, "first: My boat is called Nautilus.")
	w.press("\x1b")
	if err := w.cmd.Wait(); err != nil {
		t.Errorf("leaving the list: %v", err)
	}
	w = openProject(t, home, here, "-c")
	w.Await(t, "you: My boat is called Nautilus.")
	w.press("\x04")
	w.ends(0)
}
