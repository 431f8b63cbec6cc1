package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/door/token"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/internal/gateway/timer"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// fuzzServer is a real gateway for fuzzing. It is replaced after a number of requests, so that
// it does not grow without limit.
type fuzzServer struct {
	*gateway.Gateway
	http   *HTTP
	secret string
	asked  int
}

// hidden is a text in the session that error responses must not contain.
const hidden = "the password is tulip"

func newFuzzServer(t testing.TB) *fuzzServer {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	st := memstore.New(memstore.Options{})
	var model *scripted.Model
	model = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return model.Play(ctx, req, scripted.Reply("Fine."))
	})
	agents := make(map[string]*agent.Agent)
	for _, name := range []string{"main", "work"} {
		agents[name] = &agent.Agent{Name: name, Store: st, Model: model, NoTitles: true}
	}
	a := &fuzzServer{}
	var err error
	a.Gateway, err = gateway.New(gateway.Options{Store: st, Dialect: native.New(), Setup: gateway.Setup{
		Default: "main", Agents: agents, Queue: route.Queue{Mode: route.QueueFollowup, Debounce: new(time.Duration)},
		Jobs:  []timer.Job{{ID: "daily", Schedule: "0 4 * * *", Message: "look around", Enabled: true}},
		Hooks: map[string]gateway.Hook{"deploy": {Token: "fuzz", Enabled: true}, "talk": {Token: "fuzz", Enabled: true, Key: "agent:main:main", Template: "{{.a}} {{range .b}}{{.}}{{end}}"}},
	}})
	must(err)
	tokens, err := token.Open(context.Background(), token.NewFile(faultfs.New(), "/tokens.json"), nil)
	must(err)
	made, err := tokens.Create(context.Background(), wire.NewToken{Name: "fuzz", Scope: wire.ScopeAdmin})
	must(err)
	a.secret = made.Secret
	a.http = Handler(a.Gateway, Config{
		Tokens: tokens, Metrics: metrics.New(time.Now()), MaxBody: 64 << 10, Heartbeat: time.Hour,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	s, err := a.NewSession(context.Background(), wire.NewSession{Key: "agent:main:main", Title: "a plan"})
	must(err)
	_, err = a.Turn(context.Background(), s.ID, wire.Turn{Text: hidden, ID: "m1"})
	must(err)
	return a
}

func (a *fuzzServer) close(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // running work is not awaited
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// sample fills a body with plausible values.
func sample(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		sample(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type() != reflect.TypeFor[time.Time]() {
				sample(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"type":"message","id":"e1","message":{"role":"user","content":"x"}}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		sample(v.Index(0))
	case reflect.String:
		v.SetString("main")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	}
}

// seeds adds valid and invalid requests for every route.
func seeds(f *testing.F) {
	names := []string{"@agent:main:main", "a plan", "..", "../../etc/passwd", "\x00", "daily", "deploy", "agent:main:main", "m1", strings.Repeat("ä", 300), ""}
	for i, op := range operations() {
		body := []byte("{}")
		if op.in != nil {
			v := reflect.New(op.in).Elem()
			sample(v)
			data, err := json.Marshal(v.Interface())
			if err != nil {
				f.Fatal(err)
			}
			body = data
		}
		var query []string
		for _, p := range op.query {
			if !p.header {
				query = append(query, p.name+"=1")
			}
		}
		f.Add(uint16(i), names[i%len(names)], "m1", strings.Join(query, "&"), "", "application/json", body)
		f.Add(uint16(i), "@agent:main:main", "daily", "", "Accept: text/event-stream", "application/json", body)
		f.Add(uint16(i), "deploy", "x", "limit=-1&limit=2", "Idempotency-Key: m1", "text/plain", []byte(`{"a":{"b":[1,2,{}]},"b":null}`))
		f.Add(uint16(i), names[(i+3)%len(names)], "..", "cursor=%ff&after=99999999999999999999", `If-Match: "7"`, "", []byte("\xff\x00{"))
	}
}

// FuzzRoutes sends arbitrary requests to all routes of a real gateway as an administrator.
// Every error must be in firn's format, nothing may panic, and errors must not contain message
// content.
func FuzzRoutes(f *testing.F) {
	seeds(f)
	table := operations()
	a := newFuzzServer(f)
	f.Fuzz(func(t *testing.T, which uint16, name, second, query, header, kind string, body []byte) {
		if a.asked++; a.asked%500 == 0 {
			a.close(t)
			a = newFuzzServer(t)
		}
		op := table[int(which)%len(table)]
		r, ok := fuzzed(op, name, second, query, header, kind, body)
		if !ok {
			return // a server does not pass these on
		}
		r.Header.Set("Authorization", "Bearer "+a.secret)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := &hangup{ResponseRecorder: httptest.NewRecorder(), cancel: cancel}
		a.http.ServeHTTP(w, r.WithContext(ctx))
		switch {
		case w.Code >= 500 && w.Code != http.StatusNotImplemented && w.Code != http.StatusBadGateway, w.Code < 200:
			t.Errorf("%s %s: %d %s", r.Method, r.URL, w.Code, w.Body)
		case w.Code >= 400 && !inOurWords(w.Body.Bytes()):
			t.Errorf("%s %s: %d in other words: %s", r.Method, r.URL, w.Code, w.Body)
		case w.Code >= 400 && (strings.Contains(w.Body.String(), "tulip") || strings.Contains(w.Body.String(), a.secret)):
			t.Errorf("%s %s: %d contains %s", r.Method, r.URL, w.Code, w.Body)
		}
		if w := httptest.NewRecorder(); true {
			a.http.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/healthz", nil))
			if w.Code != http.StatusOK {
				t.Fatalf("afterwards it is not well: %d", w.Code)
			}
		}
	})
}

// inOurWords reports whether a body is an error in firn's format or in that of another
// supported protocol.
func inOurWords(body []byte) bool {
	var f wire.Failure
	return json.Unmarshal(body, &f) == nil && f.Error.Kind != "" && f.Error.Message != "" && f.Error.Request != ""
}

// hangup disconnects when a stream begins.
type hangup struct {
	*httptest.ResponseRecorder
	cancel context.CancelFunc
}

func (h *hangup) Write(b []byte) (int, error) {
	if h.Header().Get("Content-Type") == typeStream {
		h.cancel()
	}
	return h.ResponseRecorder.Write(b)
}

// Unwrap supports [http.ResponseController].
func (h *hangup) Unwrap() http.ResponseWriter { return h.ResponseRecorder }

// fuzzed creates a request to a route.
func fuzzed(op *operation, name, second, query, header, kind string, body []byte) (*http.Request, bool) {
	path := op.path
	for _, value := range []string{name, second} {
		begin, end := strings.IndexByte(path, '{'), strings.IndexByte(path, '}')
		if begin < 0 || end < begin {
			break
		}
		path = path[:begin] + url.PathEscape(value) + path[end+1:]
	}
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return nil, false
	}
	u.RawQuery = query
	r := &http.Request{
		Method: op.method, URL: u, Host: "localhost", Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	r.Header.Set("Content-Type", kind)
	if name, value, ok := strings.Cut(header, ": "); ok && !strings.EqualFold(name, "Authorization") && !strings.EqualFold(name, "Origin") {
		r.Header.Set(name, value)
	}
	return r, true
}
