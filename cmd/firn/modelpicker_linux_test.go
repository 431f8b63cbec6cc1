package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"firn.dev/internal/term/line/linetest"
)

// modelServer answers as LM Studio does: a list of models with names of different lengths,
// and chat completions.
func modelServer(t *testing.T) (url string) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"data":[{"id":"zz-small","object":"model","owned_by":"organization_owner"},` +
			`{"id":"zz-an-instruct-model-of-a-family-with-a-very-long-name-2026-11-15-preview","object":"model","owned_by":"organization_owner"},` +
			`{"id":"zz-middle-32b","object":"model","owned_by":"organization_owner"}],"object":"list"}`))
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range []string{
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"zz-small","choices":[{"index":0,"delta":{"role":"assistant","content":"an answer of zz"},"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"zz-small","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			"[DONE]",
		} {
			_, _ = w.Write([]byte("data: " + chunk + "\n\n"))
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// onlyLocal returns an environment in which only the server of modelServer is found.
func onlyLocal(t *testing.T, home, url string) []string {
	closed := httptest.NewServer(nil)
	closed.Close()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "FIRN_HOME=" + home, testDetectLimit + "=1m",
		"FIRN_PROVIDERS__OLLAMA__URL=" + closed.URL + "/v1", "FIRN_PROVIDERS__LMSTUDIO__URL=" + url,
		"TERM=xterm-256color", "NO_COLOR=1", "LC_ALL=C.UTF-8",
	}
}

// TestModelPicker chooses a model with firn model and with /model, at three widths. Names that
// do not fit are cut, and the columns after them stay aligned.
func TestModelPicker(t *testing.T) {
	url := modelServer(t)
	for _, width := range []int{40, 80, 120} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			home := t.TempDir()
			run := func(args ...string) *window {
				cmd := exec.Command("firn", args...)
				cmd.Env = onlyLocal(t, home, url)
				return runInWindow(t, t.TempDir(), cmd, width, 12)
			}
			w := run("model", "zz")
			w.visible("3 of 3")
			goldenScreen(t, fmt.Sprintf("model-%d", width), w)
			w.press("zmdl\r") // letters in order
			w.reads("model of all chats: lmstudio/zz-middle-32b")
			w.ends(0)
			w = run("chat")
			w.reads("lmstudio/zz-middle-32b (from the settings)")
			w.press("/model\r")
			w.visible("type to filter", "type · Enter")
			w.press("zz")
			w.visible("3 of ")
			if width > 40 { // the greeting above it names the home
				for _, text := range []string{"❯ lmstudio/zz-small", "MODEL", "KEY"} {
					w.visible(text)
				}
			}
			w.press(" small\r")
			w.reads("model for this session: lmstudio/zz-small")
			w.press("hello\r")
			w.Await(t, "an answer of zz")
			w.AwaitThat(t, "the turn is over", func() bool { return strings.HasSuffix(strings.TrimSpace(w.String()), "›") })
			w.press("\x04")
			w.ends(0)
		})
	}
}

// reads waits until the terminal has a text, which may be wrapped.
func (w *window) reads(text string) {
	w.t.Helper()
	w.AwaitThat(w.t, "it reads "+text, func() bool { return strings.Contains(strings.Join(strings.Fields(w.All()), " "), text) })
}

// TestGatewayDetectsModel starts a gateway without settings. It uses the model that is found,
// also for clients that have no key.
func TestGatewayDetectsModel(t *testing.T) {
	url, ollama := modelServer(t), localServer(t)
	for name, c := range map[string]struct {
		env  []string
		want string
	}{
		"LM Studio":       {nil, "an answer of zz"},
		"Ollama":          {[]string{"FIRN_PROVIDERS__OLLAMA__URL=" + ollama}, "a local answer"},
		"OPENAI_BASE_URL": {[]string{"FIRN_PROVIDERS__LMSTUDIO__URL=http://127.0.0.1:1/v1", "OPENAI_BASE_URL=" + url}, "an answer of zz"},
		"a key":           {[]string{"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + ollama}, "a local answer"},
		"nothing":         {[]string{"FIRN_PROVIDERS__LMSTUDIO__URL=http://127.0.0.1:1/v1"}, "6*7 = 42"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			serve := exec.Command("firn", "serve", "--json")
			serve.Env = append(onlyLocal(t, home, url), c.env...)
			out := linetest.NewRecorder(t)
			serve.Stdout, serve.Stderr = out, linetest.NewRecorder(t)
			if err := serve.Start(); err != nil {
				t.Fatal(err)
			}
			out.Await(`"address"`)
			defer func() {
				serve.Process.Signal(syscall.SIGTERM)
				if err := serve.Wait(); err != nil {
					t.Error(err)
				}
			}()
			ask := exec.Command("firn", "chat", "-p", "what is 6*7")
			ask.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "FIRN_HOME=" + home}
			ask.Dir = t.TempDir()
			got, err := ask.CombinedOutput()
			if err != nil || !strings.Contains(string(got), c.want) {
				t.Errorf("%v\n%s\nwant %q", err, got, c.want)
			}
		})
	}
}
