package openaiapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/openaiapi"
	"firn.dev/internal/door/token"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/store/memstore"
	"firn.dev/tool"
	"firn.dev/wire"
)

// testServer is a gateway over HTTP with a model controlled by the test.
type testServer struct {
	t       *testing.T
	home    string
	st      store.Store
	g       *gateway.Gateway
	handler *api.HTTP
	server  *httptest.Server
	token   string
	owner   *client.Client

	mu sync.Mutex
	// asked holds the requests to the model.
	asked []provider.Request
	// play, if not nil, produces the next answers.
	play func(last string) scripted.Step
}

// open opens a home.
func open(t *testing.T, home string) *testServer {
	t.Helper()
	return openAgain(t, home, "")
}

// openAgain opens a home that already has a token.
func openAgain(t *testing.T, home, secret string) *testServer {
	t.Helper()
	return openWith(t, home, secret, scripted.Info())
}

// openWith opens a home with a model of this info.
func openWith(t *testing.T, home, secret string, about provider.Info) *testServer {
	t.Helper()
	s := &testServer{t: t, home: home}
	var err error
	s.st, err = filestore.Open(home, filestore.Options{})
	s.must(err)
	var model *scripted.Model
	model = scripted.Func(about, func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return model.Play(ctx, req, s.step(req))
	})
	models := func(name, id string) (provider.Model, error) {
		if info := model.Info(); name == info.Provider && id == info.Name {
			return model, nil
		}
		return nil, firn.ErrNotFound
	}
	info := model.Info()
	s.g, err = gateway.New(gateway.Options{Store: s.st, Dialect: native.New(), Home: home, Scratch: func() store.Store { return memstore.New(memstore.Options{}) }, Setup: gateway.Setup{
		Default: "main", Models: models, Known: func() []wire.Model { return []wire.Model{{ID: info.Provider + "/" + info.Name, Window: info.Window}} },
		Agents: map[string]*agent.Agent{
			"main": {Name: "main", Store: s.st, Model: model, Models: models, NoTitles: true, System: "You are main.", Tools: []tool.Tool{tool.Calc()}},
			"work": {Name: "work", Store: s.st, Model: model, Models: models, NoTitles: true},
		},
	}})
	s.must(err)
	tokens, err := token.Open(context.Background(), token.NewFile(vfs.OS{}, api.TokensPath(home)), nil)
	s.must(err)
	s.handler = api.Handler(s.g, api.Config{Tokens: tokens, OpenAI: openaiapi.New(nil).Handler})
	s.server = httptest.NewServer(s.handler)
	if s.token = secret; secret == "" {
		made, err := tokens.Create(context.Background(), wire.NewToken{Name: "client", Scope: wire.ScopeWrite})
		s.must(err)
		s.token = made.Secret
	}
	s.owner, err = client.New(client.Options{Transport: client.InProcess(api.Owner(s.handler))})
	s.must(err)
	t.Cleanup(func() { s.close() })
	return s
}

// step returns the answer to a request: from play, or an echo.
func (s *testServer) step(req provider.Request) scripted.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, req)
	last := ""
	for _, it := range req.Window.Items {
		if it.Message.Role == firn.RoleUser || it.Message.Role == firn.RoleToolResult {
			last = it.Message.Text()
			for _, p := range it.Message.Parts {
				if r, ok := p.(firn.ToolResult); ok {
					last = firn.JoinText(r.Content)
				}
			}
		}
	}
	if s.play != nil {
		return s.play(last)
	}
	return scripted.Reply("re: " + last)
}

func (s *testServer) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// close closes everything, once.
func (s *testServer) close() {
	if s.server == nil {
		return
	}
	s.server.Close()
	s.server = nil
	s.owner.Close()
	s.must(s.g.Close(context.Background()))
	s.must(s.st.Close())
}

// reopen returns the server after a restart.
func (s *testServer) reopen() *testServer {
	s.t.Helper()
	s.close()
	return openAgain(s.t, s.home, s.token)
}

// ask sends a request and returns the response and its body.
func (s *testServer) ask(method, path string, body any, header ...string) (*http.Response, string) {
	s.t.Helper()
	var in io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		s.must(err)
		in = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.server.URL+path, in)
	s.must(err)
	r.Header.Set("Authorization", "Bearer "+s.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	s.must(err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	s.must(err)
	return response, string(data)
}

// object is a JSON object.
type object = map[string]any

// answer sends a request that must succeed.
func (s *testServer) answer(method, path string, body any, header ...string) object {
	s.t.Helper()
	response, data := s.ask(method, path, body, header...)
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, data)
	}
	var out object
	s.must(json.Unmarshal([]byte(data), &out))
	return out
}

// refused sends a request that must be rejected.
func (s *testServer) refused(status int, method, path string, body any, header ...string) object {
	s.t.Helper()
	response, data := s.ask(method, path, body, header...)
	var out struct{ Error object }
	if err := json.Unmarshal([]byte(data), &out); err != nil || response.StatusCode != status || out.Error["message"] == "" || out.Error["type"] == "" {
		s.t.Errorf("%s %s: %d %s, want %d", method, path, response.StatusCode, data, status)
	}
	return out.Error
}

// at returns a nested JSON value.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(object)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return nil
			}
			v = l[step]
		}
	}
	return v
}

// says returns a message.
func says(role, text string) object { return object{"role": role, "content": text} }

// chat sends messages and returns the answer and the session.
func (s *testServer) chat(body object, header ...string) (text, session string) {
	s.t.Helper()
	out := s.answer("POST", "/v1/chat/completions", body, header...)
	text, _ = at(out, "choices", 0, "message", "content").(string)
	session, _ = at(out, "firn", "session").(string)
	return text, session
}

// log returns the messages of a session, branch by branch.
func (s *testServer) log(id string) string {
	s.t.Helper()
	var lines []string
	for e, err := range s.owner.Entries(s.t.Context(), firn.ID(id), client.EntryQuery{View: wire.ViewBranch}) {
		s.must(err)
		entry, err := native.New().Decode(e.Line)
		s.must(err)
		if m, ok := entry.Body.(*firn.Message); ok {
			lines = append(lines, string(m.Role)+": "+m.Text())
		}
	}
	return strings.Join(lines, "\n")
}

// sessions returns the number of sessions.
func (s *testServer) sessions() int {
	s.t.Helper()
	page, err := s.owner.SessionsPage(s.t.Context(), client.Query{})
	s.must(err)
	return len(page.Items)
}

// last returns the last request to the model.
func (s *testServer) last() provider.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[len(s.asked)-1]
}

// seen returns a request to the model in short form.
func seen(req provider.Request) string {
	var lines []string
	for _, it := range req.Window.Items {
		lines = append(lines, string(it.Message.Role)+": "+it.Message.Text())
	}
	return strings.Join(lines, "\n")
}

func (s *testServer) want(got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}
