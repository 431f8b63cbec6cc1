package api_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/wire"
)

// made counts the listed sessions and their compactions, and holds the target of the key.
type made struct {
	sessions, compactions int
	key                   firn.ID
}

func (s *faultyServer) made(key string) (m made) {
	for info, err := range s.st.List(s.t.Context(), store.Query{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		m.sessions++
		for rec, err := range s.st.Read(s.t.Context(), info.ID, store.Start) {
			if err != nil {
				s.t.Fatal(err)
			}
			if e, err := rec.Entry(); err == nil {
				if _, ok := e.Body.(*firn.Compaction); ok {
					m.compactions++
				}
			}
		}
	}
	m.key, _ = s.st.Lookup(s.t.Context(), key)
	return m
}

const onceKey = "agent:main:main"

// deeds are requests other than messages and entries, with the number of sessions and
// compactions after one is executed in a home with one session.
var deeds = []struct {
	name, path, body      string
	sessions, compactions int
	keyed                 bool
}{
	{"fork", "/v1/sessions/ID/fork", `{"title":"Two"}`, 2, 0, false},
	{"fork under a key", "/v1/sessions/ID/fork", `{"key":"` + onceKey + `"}`, 2, 0, true},
	{"compaction", "/v1/sessions/ID/compactions", `{"keepRecent":1}`, 1, 1, false},
	{"session of a key", "/v1/sessions", `{"key":"agent:main:other"}`, 2, 0, false},
	{"fresh session of a key", "/v1/sessions", `{"key":"` + onceKey + `","fresh":true,"title":"Two"}`, 2, 0, true},
}

// TestIdempotencyKeyOfChanges lets each write and sync fail in turn while a request is
// repeated with one key until it succeeds, with a restart of the gateway after each attempt
// and after the success. The request must take effect once, even after a power failure, and
// all responses must name the same object.
func TestIdempotencyKeyOfChanges(t *testing.T) {
	for i := range deeds {
		t.Run(deeds[i].name, func(t *testing.T) {
			failed, unknown := 0, 0
			for nth := 1; nth <= 12; nth++ {
				for _, kind := range []faultfs.Kind{faultfs.Write, faultfs.Sync, faultfs.SyncDir, faultfs.Rename} {
					f, u := tryChange(t, i, nth, kind)
					failed, unknown = failed+f, unknown+u
				}
			}
			if failed < 4 || unknown < 2 {
				t.Errorf("only %d tries failed, %d with an unknown outcome", failed, unknown)
			}
		})
	}
}

func tryChange(t *testing.T, i, nth int, kind faultfs.Kind) (failed, unknown int) {
	deed := &deeds[i]
	name := fmt.Sprintf("%s, failure %d of kind %d", deed.name, nth, kind)
	fs := faultfs.New()
	if err := fs.MkdirAll("home"); err != nil {
		t.Fatal(err)
	}
	s := openFaultyServer(t, fs)
	defer func() { s.stop() }()
	_, _, data := s.post("/v1/sessions", "begin", `{"key":"`+onceKey+`"}`)
	var session wire.Session
	if err := json.Unmarshal(data, &session); err != nil || session.ID == "" {
		t.Fatalf("%s: %s", name, data)
	}
	for n := range 6 {
		body := fmt.Sprintf(`{"user":"%d %s"}`, n, strings.Repeat("many words ", 800))
		if status, _, data := s.post("/v1/sessions/"+string(session.ID)+"/entries", fmt.Sprint("said-", n), body); status != 200 {
			t.Fatalf("%s: %d %s", name, status, data)
		}
	}
	path := strings.Replace(deed.path, "ID", string(session.ID), 1)
	fs.FailNth(nth, faultfs.Fault{Of: kind, Err: syscall.EIO})
	var first string
	for try, done := 0, 0; done < 3; try++ { // repeated after its success
		status, problem, data := s.post(path, "k1", deed.body)
		switch {
		case status == 200 && (first == "" || first == idIn(data)):
			first = idIn(data)
			done++
		case status == 200 || try > 10:
			t.Fatalf("%s: attempt %d gave %d %s, before %s", name, try, status, data, first)
		case problem == wire.Unknown:
			failed, unknown = failed+1, unknown+1
		default:
			failed++
			if m := s.made(onceKey); problem == wire.NotSaved && unknown == 0 && first == "" && (m.compactions != 0 || m.sessions != 1 || m.key != session.ID) {
				t.Fatalf("%s: not saved, and there", name)
			}
		}
		s.stop()
		s = openFaultyServer(t, fs)
	}
	s.mustHave(name, i, session.ID, first)
	for left := range fs.CrashStates(2) {
		after := openFaultyServer(t, left)
		after.mustHave(name+", after a power cut", i, session.ID, first)
		after.stop()
	}
	return failed, unknown
}

// mustHave checks that a request took effect once.
func (s *faultyServer) mustHave(name string, i int, old firn.ID, answered string) {
	s.t.Helper()
	m, key := s.made(onceKey), old
	if deeds[i].keyed {
		key = firn.ID(answered)
	}
	if m.sessions != deeds[i].sessions || m.compactions != deeds[i].compactions || m.key != key {
		s.t.Fatalf("%s: there are %+v; the answer was %s", name, m, answered)
	}
}

// idIn returns the ID of the session or compaction in a response.
func idIn(data []byte) string {
	var out struct {
		ID firn.ID `json:"id"`
	}
	_ = json.Unmarshal(data, &out)
	return string(out.ID)
}

// TestIdempotencyKeyAfterReset repeats a fork after its key was pointed to another session: the
// response is the same, and the key is not changed.
func TestIdempotencyKeyAfterReset(t *testing.T) {
	for _, i := range []int{1, 4} {
		fs := faultfs.New()
		if err := fs.MkdirAll("home"); err != nil {
			t.Fatal(err)
		}
		s := openFaultyServer(t, fs)
		_, _, data := s.post("/v1/sessions", "begin", `{"key":"`+onceKey+`"}`)
		path := strings.Replace(deeds[i].path, "ID", idIn(data), 1)
		_, _, data = s.post(path, "k1", deeds[i].body)
		first := idIn(data)
		_, _, data = s.post("/v1/sessions", "later", `{"key":"`+onceKey+`","fresh":true}`)
		later := idIn(data)
		s.stop()
		s = openFaultyServer(t, fs)
		if status, _, data := s.post(path, "k1", deeds[i].body); status != 200 || idIn(data) != first {
			t.Errorf("%s: a repetition gave %d %s", deeds[i].name, status, data)
		}
		if m := s.made(onceKey); string(m.key) != later || later == first {
			t.Errorf("%s: the key points at %s, not at %s", deeds[i].name, m.key, later)
		}
		s.stop()
	}
}

// TestIdempotencyKeyOfALongFork interrupts a copy that takes several appends. The incomplete
// session is hidden, and the repeated request creates a complete one.
func TestIdempotencyKeyOfALongFork(t *testing.T) {
	for nth := 1; nth <= 4; nth++ {
		for _, kind := range []faultfs.Kind{faultfs.Write, faultfs.Sync} {
			name := fmt.Sprintf("failure %d of kind %d", nth, kind)
			fs := faultfs.New()
			if err := fs.MkdirAll("home"); err != nil {
				t.Fatal(err)
			}
			s := openFaultyServer(t, fs)
			_, _, data := s.post("/v1/sessions", "begin", `{}`)
			source := firn.ID(idIn(data))
			text := make([]firn.Entry, 4500)
			for i := range text {
				text[i] = firn.UserText(fmt.Sprint("entry ", i))
			}
			if _, err := s.st.Append(t.Context(), source, store.Any, text...); err != nil {
				t.Fatal(err)
			}
			fs.FailNth(nth, faultfs.Fault{Of: kind, Err: syscall.EIO})
			var first string
			for try, done := 0, 0; done < 2; try++ {
				status, _, data := s.post("/v1/sessions/"+string(source)+"/fork", "k1", `{"title":"Two"}`)
				if status == 200 {
					done++
					if first == "" {
						first = idIn(data)
					}
				}
				if status == 200 && idIn(data) != first || try > 5 {
					t.Fatalf("%s: %d %s, before %s", name, status, data, first)
				}
				s.stop()
				s = openFaultyServer(t, fs)
			}
			n := 0
			for rec, err := range s.st.Read(t.Context(), firn.ID(first), store.Start) {
				if err != nil {
					t.Fatal(err)
				}
				if e, err := rec.Entry(); err == nil {
					if _, ok := e.Body.(*firn.Message); ok {
						n++
					}
				}
			}
			if m := s.made(onceKey); m.sessions != 2 || n != len(text) {
				t.Errorf("%s: there are %d sessions, and %d of %d messages in the fork", name, m.sessions, n, len(text))
			}
			s.stop()
		}
	}
}
