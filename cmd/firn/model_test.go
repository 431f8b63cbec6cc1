package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// localServer answers as Ollama does: a list of models, and chat completions.
func localServer(t *testing.T) (url string) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"models":[{"name":"nomic-embed-text:latest","model":"nomic-embed-text:latest"},{"name":"qwen3:8b","model":"qwen3:8b","size":5225388164,"details":{"family":"qwen3"}}]}`))
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range []string{
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","choices":[{"index":0,"delta":{"role":"assistant","content":"a local answer"},"finish_reason":null}]}`,
			`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"qwen3:8b","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}`,
			"[DONE]",
		} {
			_, _ = w.Write([]byte("data: " + chunk + "\n\n"))
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// TestModelIsDetected checks which model answers if nothing is configured.
func TestModelIsDetected(t *testing.T) {
	url := localServer(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	base := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), testDetectLimit + "=1m",
		"FIRN_PROVIDERS__OLLAMA__URL=" + closed.URL + "/v1", "FIRN_PROVIDERS__LMSTUDIO__URL=" + closed.URL + "/v1",
	}
	ollama := "FIRN_PROVIDERS__OLLAMA__URL=" + url
	for name, c := range map[string]struct {
		env  []string
		args []string
		want string
	}{
		"Ollama answers":          {[]string{ollama}, []string{"chat", "-p", "hello"}, "a local answer"},
		"Ollama is said":          {[]string{ollama}, []string{"chat"}, "ollama/qwen3:8b (Ollama runs on this machine); /model changes it"},
		"Ollama is listed":        {[]string{ollama}, []string{"model"}, "* ollama/qwen3:8b"},
		"a bare name":             {[]string{ollama}, []string{"chat", "-p", "-m", "qwen3:8b", "hello"}, "a local answer"},
		"nothing":                 {nil, []string{"chat"}, "firn/offline is built in and only matches words; /model picks a real model"},
		"nothing answers":         {nil, []string{"chat", "-p", "what is 6*7"}, "6*7 = 42"},
		"a key":                   {[]string{ollama, "OPENAI_API_KEY=sk-x"}, []string{"chat"}, "openai/gpt-5 (OPENAI_API_KEY is set); /model changes it"},
		"the first key":           {[]string{"OPENAI_API_KEY=sk-x", "ANTHROPIC_API_KEY=sk-y"}, []string{"chat"}, "anthropic/claude-sonnet-5 (ANTHROPIC_API_KEY is set)"},
		"configured":              {[]string{ollama, "FIRN_MODEL=firn/offline"}, []string{"chat", "-p", "what is 6*7"}, "6*7 = 42"},
		"configured without key":  {[]string{ollama, "FIRN_MODEL=mistral/mistral-large-latest"}, []string{"chat"}, "mistral/mistral-large-latest needs an API key in MISTRAL_API_KEY; /model picks another model"},
		"a chosen model and line": {[]string{ollama, "FIRN_MODEL=firn/offline"}, []string{"model"}, "use firn/offline (FIRN_MODEL is set)"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("firn", c.args...)
			cmd.Env = append(append(append([]string{}, base...), c.env...), "FIRN_HOME="+t.TempDir())
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("firn %s: %v\n%s\nwant %q", strings.Join(c.args, " "), err, firstLines(string(out), 30), c.want)
			}
		})
	}
}

func firstLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[:min(n, len(lines))], "")
}

// TestModelOfASession checks that firn show names the detected model, that a new session has
// the configured one though /model chose another one before, and that a chat does not
// resume an archived session.
func TestModelOfASession(t *testing.T) {
	home, dir, url := t.TempDir(), t.TempDir(), localServer(t)
	run := func(input string, args ...string) string {
		t.Helper()
		cmd := exec.Command("firn", args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), testDetectLimit + "=1m", "FIRN_HOME=" + home, "FIRN_PROVIDERS__OLLAMA__URL=" + url}
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("firn %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("hello\n", "chat")
	if out := run("", "show", "-"); !strings.Contains(out, "ollama/qwen3:8b") {
		t.Errorf("show printed %s", out)
	}
	if out := run("/model firn/offline\nwhat is 6*7\n/new\nwhat is 7*7\n", "chat"); !strings.Contains(out, "6*7 = 42") || !strings.Contains(out, "7*7 = 49") {
		t.Errorf("/new did not keep the model: %s", out)
	}
	if out := run("hello\n", "chat", "--new"); !strings.Contains(out, "a local answer") || strings.Contains(out, "firn/offline") {
		t.Errorf("--new printed %s", out)
	}
	run("", "archive", "-")
	if out := run("", "chat"); !strings.Contains(out, " is archived; to resume it: firn chat -r ") || !strings.Contains(out, "new session") {
		t.Errorf("a chat in a project with an archived session printed %s", out)
	}
}
