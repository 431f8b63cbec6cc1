package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/door/api"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/gateway"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// faultyServer is a gateway with a simulated disk that fails on request and then loses unsynced
// data.
type faultyServer struct {
	t    *testing.T
	st   *filestore.Store
	http http.Handler
	stop func()
}

func openFaultyServer(t *testing.T, fs *faultfs.FS) *faultyServer {
	t.Helper()
	st, err := filestore.Open("home", filestore.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	model := scripted.New(scripted.Info(), scripted.Forever(scripted.Reply("A summary of what was said.")))
	g, err := gateway.New(gateway.Options{Store: st, Dialect: native.New(), Setup: gateway.Setup{
		Agents: map[string]*agent.Agent{"main": {Store: st, Model: model, NoTitles: true}}, Default: "main",
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := &faultyServer{t: t, st: st, http: api.Owner(api.Handler(g, api.Config{}))}
	s.stop = func() { g.Close(context.Background()); st.Close() }
	return s
}

// post sends a request with an idempotency key.
func (s *faultyServer) post(path, key, body string) (int, wire.Kind, []byte) {
	r := httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	data, err := io.ReadAll(w.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	var f wire.Failure
	_ = json.Unmarshal(data, &f)
	return w.Code, f.Error.Kind, data
}

// count counts the entries with a text in all sessions.
func (s *faultyServer) count(text string) (n, sessions int) {
	for info, err := range s.st.List(s.t.Context(), store.Query{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		sessions++
		for rec, err := range s.st.Read(s.t.Context(), info.ID, store.Start) {
			if err != nil {
				s.t.Fatal(err)
			}
			if e, err := rec.Entry(); err == nil {
				if m, ok := e.Body.(*firn.Message); ok && m.Text() == text {
					n++
				}
			}
		}
	}
	return n, sessions
}

// TestIdempotencyKey lets each sync fail in turn, once or several times, while a request is
// repeated with one key until it succeeds, with and without restarts in between. The entry
// must then exist once, even after a power failure, and must not exist after a 507
// response.
func TestIdempotencyKey(t *testing.T) {
	failed := 0
	for nth := 1; nth <= 4; nth++ {
		for _, kind := range []faultfs.Kind{faultfs.Sync, faultfs.SyncDir} {
			for round := range 8 {
				name := fmt.Sprintf("failure %d of %d, round %d", nth, kind, round)
				if tryOnce(t, name, nth, kind, uint64(round)) {
					failed++
				}
				if t.Failed() {
					return
				}
			}
		}
	}
	if failed < 16 {
		t.Errorf("only %d requests met a failure", failed)
	}
}

// tryOnce reports whether an attempt failed.
func tryOnce(t *testing.T, name string, nth int, kind faultfs.Kind, round uint64) (failed bool) {
	fs := faultfs.New()
	if err := fs.MkdirAll("home"); err != nil {
		t.Fatal(err)
	}
	fs.Seed(round)
	s := openFaultyServer(t, fs)
	const made = `{"agent":"main"}`
	status, _, data := s.post("/v1/sessions", "begin", made)
	var session wire.Session
	if err := json.Unmarshal(data, &session); err != nil || status != 200 {
		t.Fatalf("%s: %d %s", name, status, data)
	}
	restarts := round&1 != 0
	for range 1 + round>>1&1 {
		fs.FailNth(nth, faultfs.Fault{Of: kind, Err: syscall.EIO, Evict: round&4 != 0})
	}
	for _, path := range []string{"/v1/sessions/" + string(session.ID) + "/entries", "/v1/sessions"} {
		body := `{"user":"precious"}`
		if path == "/v1/sessions" {
			body = made
		}
		unknown := false
		for try := 0; ; try++ {
			status, problem, data := s.post(path, "k1", body)
			if status == 200 {
				break
			}
			failed = true
			if problem != wire.Unknown && problem != wire.NotSaved || try > 10 {
				t.Fatalf("%s: %d %s", name, status, data)
			}
			unknown = unknown || problem == wire.Unknown
			n, sessions := s.count("precious")
			if there := n > 0 && body != made || sessions > 1 && body == made; there && !unknown {
				t.Fatalf("%s: not saved, and there", name)
			}
			if restarts {
				s.stop()
				s = openFaultyServer(t, fs)
			}
		}
	}
	if n, sessions := s.count("precious"); n != 1 || sessions != 2 {
		t.Errorf("%s: it is stored %d times, in %d sessions", name, n, sessions)
	}
	for left := range fs.CrashStates(4) {
		after := openFaultyServer(t, left)
		if n, sessions := after.count("precious"); n != 1 || sessions != 2 {
			t.Errorf("%s: after a power cut it is stored %d times, in %d sessions", name, n, sessions)
		}
		after.stop()
	}
	s.stop()
	return failed
}
