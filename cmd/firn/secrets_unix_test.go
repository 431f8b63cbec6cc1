//go:build unix

package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"firn.dev/internal/term/line/linetest"
)

// outputCollector collects outputs by their source.
type outputCollector struct {
	mu      sync.Mutex
	outputs map[string]*bytes.Buffer
}

func newOutputCollector() *outputCollector {
	return &outputCollector{outputs: make(map[string]*bytes.Buffer)}
}

func (h *outputCollector) add(where string, data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.outputs[where] == nil {
		h.outputs[where] = &bytes.Buffer{}
	}
	h.outputs[where].Write(data)
	h.outputs[where].WriteByte('\n')
}

// without reports every source that contains a secret.
func (h *outputCollector) without(t *testing.T, what string, secrets ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for where, text := range h.outputs {
		for _, secret := range secrets {
			if at := bytes.Index(text.Bytes(), []byte(secret)); at >= 0 {
				t.Errorf("%s contains %s, %q: …%s…", where, what, secret, text.Bytes()[max(0, at-200):min(text.Len(), at+len(secret)+80)])
			}
		}
	}
}

// echoServer is a provider that fails in every way it can, and repeats the secrets it
// was sent.
func echoServer(t *testing.T) *httptest.Server {
	asked := make(chan int, 1)
	asked <- 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := <-asked
		asked <- n + 1
		sent := fmt.Sprintf("%s %s %s", r.Header.Get("Authorization"), r.Header.Get("X-Secret-Thing"), r.Header.Get("X-Api-Key"))
		switch n % 6 {
		case 0:
			http.Error(w, `{"error":{"message":"Incorrect key provided: `+sent+`"}}`, http.StatusUnauthorized)
		case 1:
			http.Error(w, "bad: "+sent, http.StatusBadRequest)
		case 2:
			w.Header().Set("Location", "http://elsewhere.invalid/?key="+strings.ReplaceAll(sent, " ", "+"))
			w.WriteHeader(http.StatusTemporaryRedirect)
		case 3:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"error\":{\"message\":%q,\"code\":400}}\n\n", "no: "+sent)
		case 4:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: this is not JSON but %s\n\n", sent)
		case 5:
			http.Error(w, sent, http.StatusForbidden)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestSecretsAreNotLeaked runs a gateway with secrets in all possible places and triggers
// errors. Afterwards no log, response, metric or span contains a secret, and clients with
// only a token do not see file paths.
func TestSecretsAreNotLeaked(t *testing.T) {
	const key, header, file, spans, basic, pushes = "sk-key-9f8e7d6c5b4a", "header-1a2b3c4d5e6f", "file-0f9e8d7c6b5a", "spans-77aa88bb99cc", "pass-word-5566778899", "pushes-2468ace02468"
	received, private := newOutputCollector(), newOutputCollector()
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		received.add("a span", data)
		w.Write([]byte("{}"))
	}))
	t.Cleanup(collector.Close)
	model := echoServer(t)
	home := filepath.Join(t.TempDir(), "the-home-of-it")
	write(t, filepath.Join(home, "key"), file)
	write(t, filepath.Join(home, "firn.toml"), fmt.Sprintf(`
[gateway]
listen = "127.0.0.1:0"
[defaults]
retries = 0
[providers.one]
kind = "openai-chat"
url = %q
key_env = "ONE_KEY"
headers_env = { "X-Secret-Thing" = "ONE_HEADER" }
models.m = { window = 100000 }
[providers.two]
kind = "anthropic"
url = %q
key_file = %q
models.m = { window = 100000 }
[hooks.deploy]
token = "ci"
key = "agent:main:deploys"
template = "{{.version}}"
[hooks.push]
secret_env = "PUSHES"
`, model.URL, model.URL, filepath.Join(home, "key")))
	out, log := linetest.NewRecorder(t), &bytes.Buffer{}
	cmd := firnCommand(home, "serve", "--json")
	cmd.Env = append(cmd.Env, "ONE_KEY="+key, "ONE_HEADER="+header, "PUSHES="+pushes, "OPENAI_API_KEY="+key, "OPENAI_BASE_URL="+strings.Replace(model.URL, "http://", "http://ann:"+basic+"@", 1), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=authorization="+spans, "OTEL_BSP_SCHEDULE_DELAY=50")
	cmd.Stdout, cmd.Stderr = out, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out.Await(`"address"`)
	tokens := make(map[string]string)
	for _, scope := range []string{"hook", "read", "write", "admin"} {
		name := map[string]string{"hook": "ci"}[scope]
		if name == "" {
			name = scope
		}
		tokens[scope] = firnIn(t, home, "token", "create", name, "--scope", scope)
	}
	id := firnIn(t, home, "new", "--title", "One")
	damaged := firnIn(t, home, "new", "--title", "Two")
	firnIn(t, home, "append", damaged, "--user", "hello")
	a := &asker{t: t, base: "http://" + tcpOf(t, home), tokens: tokens, received: received, private: private}
	a.fail(id, damaged, home)
	a.sign(pushes)
	for _, model := range []string{"one/m", "two/m", "openai/gpt-5"} {
		a.ask("write", "PATCH", "/v1/sessions/"+id, fmt.Sprintf(`{"model":%q}`, model))
		for range 6 {
			a.ask("write", "POST", "/v1/sessions/"+id+"/turns", `{"text":"Say something.","wait":true}`)
		}
	}
	breakFiles(t, home, damaged)
	for _, scope := range []string{"read", "write"} {
		for _, path := range []string{"/v1/sessions", "/v1/sessions/" + damaged, "/v1/sessions/" + damaged + "/entries", "/v1/sessions/" + damaged + "/window", "/v1/sessions/" + damaged + "/export?format=codex", "/v1/search?q=hello"} {
			a.ask(scope, "GET", path, "")
		}
	}
	a.ask("write", "POST", "/v1/sessions/"+damaged+"/entries", `{"user":"more"}`)
	a.ask("write", "POST", "/v1/sessions", `{"title":"Three"}`)
	for _, path := range []string{"/metrics", "/v1/ops", "/v1/status", "/v1/models", "/v1/me", "/readyz", "/healthz", "/openapi.json", "/v1/tokens", "/v1/verify"} {
		a.ask("admin", "GET", path, "")
		a.ask("read", "GET", path, "")
	}
	a.ask("admin", "POST", "/v1/verify", "{}")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // its exit after its files were broken is not checked here
	received.add("the log", log.Bytes())
	if log.Len() == 0 || a.failures < 60 || a.upstream < 12 || received.outputs["a span"] == nil {
		t.Errorf("only %d requests failed, %d of them by models; the spans are %v", a.failures, a.upstream, received.outputs["a span"])
	}
	secrets := []string{key, header, file, spans, basic, pushes, a.wrong}
	for _, secret := range tokens {
		secrets = append(secrets, secret)
	}
	received.without(t, "a secret", secrets...)
	private.without(t, "where files are", home)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tcpOf is where the gateway of a home listens.
func tcpOf(t *testing.T, home string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(home, "gateway", "address.json"))
	var at struct{ TCP string }
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	if err != nil {
		t.Fatal(err)
	}
	return at.TCP
}

// breakFiles damages a session and removes the directory of the others.
func breakFiles(t *testing.T, home, id string) {
	t.Helper()
	dir := filepath.Join(home, "agents", "main", "sessions")
	file, err := os.OpenFile(filepath.Join(dir, id+".jsonl"), os.O_WRONLY, 0)
	if err == nil {
		_, err = file.WriteAt(bytes.Repeat([]byte("#"), 300), 20)
		file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bin", "archive", "receipts"} {
		if err := os.RemoveAll(filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(home, name), "in the way")
	}
}

// asker asks a gateway, with tokens.
type asker struct {
	t                 *testing.T
	base, wrong       string
	tokens            map[string]string
	received, private *outputCollector
	// failures is how many requests failed, upstream how many because of a model.
	failures, upstream int
}

// ask sends a request with the token of a scope and records the response.
func (a *asker) ask(scope, method, path, body string) {
	a.t.Helper()
	a.send(scope, method, path, body, func(r *http.Request) {
		if scope != "" {
			r.Header.Set("Authorization", "Bearer "+a.tokens[scope])
		}
	})
}

func (a *asker) send(scope, method, path, body string, change func(*http.Request)) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.base+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	change(r)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	reported := fmt.Appendf(nil, "%s %v %s", answer.Status, answer.Header, data)
	a.received.add("the answer to "+scope+" "+method+" "+path, reported)
	if answer.StatusCode >= 400 {
		a.failures++
	}
	if strings.Contains(string(data), `"upstream"`) {
		a.upstream++
	}
	if scope != "admin" && (answer.StatusCode >= 400 || path == "/v1/sessions") {
		a.private.add("the answer to "+scope+" "+method+" "+path, reported)
	}
}

// fail makes requests that fail, with secrets where they do not belong.
func (a *asker) fail(id, damaged, home string) {
	a.wrong = "firn_" + strings.Repeat("wRoNg123", 6)[:43]
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+a.wrong) },
		func(r *http.Request) { r.SetBasicAuth("ann", a.wrong) },
		func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "firn", Value: a.wrong}) },
		func(r *http.Request) { r.URL.RawQuery = "token=" + a.tokens["admin"] },
		func(r *http.Request) { r.Header.Set("Authorization", a.tokens["admin"]+" x") },
		func(r *http.Request) { r.Header.Set("X-Token", a.tokens["admin"]); r.Host = "evil.example" },
	} {
		a.send("", "GET", "/v1/sessions", "", change)
		a.send("", "POST", "/v1/hooks/deploy", `{"version":"1"}`, change)
	}
	a.send("", "POST", "/v1/login", `{"code":"`+a.wrong+`"}`, func(*http.Request) {})
	for _, scope := range []string{"", "hook", "read", "write"} {
		for _, q := range [][3]string{
			{"GET", "/v1/sessions/nobody", ""}, {"GET", "/v1/nothing", ""}, {"POST", "/v1/sessions", "{"}, {"POST", "/v1/sessions", `{"odd":1}`}, {"DELETE", "/v1/tokens/" + a.tokens[scope], ""},
			{"POST", "/v1/tokens", `{"name":"x","scope":"god"}`}, {"POST", "/v1/hooks/nothing", "{}"}, {"POST", "/v1/hooks/deploy", "["}, {"POST", "/v1/sessions/" + id + "/purge", `{"sure":"x"}`},
			{"GET", "/v1/sessions/" + id + "/export?format=nothing", ""}, {"GET", "/v1/sessions/" + damaged + "/entries?cursor=" + home, ""}, {"POST", "/v1/chat/completions", `{"model":"one/m","messages":[{"role":"user","content":"x"}]}`},
		} {
			a.ask(scope, q[0], q[1], q[2])
		}
	}
}

// sign calls a hook as a service that signs its calls, and as one that does not know the
// secret.
func (a *asker) sign(secret string) {
	a.t.Helper()
	for try, right := range map[string]bool{secret: true, "a guess": false} {
		mac := hmac.New(sha256.New, []byte(try))
		io.WriteString(mac, `{"text":"pushed"}`)
		failures := a.failures
		a.send("", "POST", "/v1/hooks/push", `{"text":"pushed"}`, func(r *http.Request) {
			r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		})
		if right != (failures == a.failures) {
			a.t.Errorf("a call that is signed rightly: %t, failed: %t", right, failures < a.failures)
		}
	}
}
