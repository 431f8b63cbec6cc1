package api

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev/store"
	"firn.dev/store/memstore"
)

// asking sends a request as the owner and returns the response.
func asking(t *testing.T, h http.Handler, path, body string, head ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "http://localhost"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	Owner(h).ServeHTTP(w, r)
	got, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(got)
}

// TestRepeatedCreateHasOneEffect checks that a repeated creating request has an effect once.
func TestRepeatedCreateHasOneEffect(t *testing.T) {
	d := open(t, memstore.New(memstore.Options{}))
	defer d.shut()
	d.startSession("s")
	h := Handler(d.Gateway, Config{})
	const key = "Idempotency-Key"
	for name, c := range map[string]struct{ path, body, again string }{
		"a session":                      {"/v1/sessions", `{"title":"One"}`, `{"title":"Other"}`},
		"an entry":                       {"/v1/sessions/s/entries", `{"user":"hello"}`, `{"user":"goodbye"}`},
		"a fork":                         {"/v1/sessions/s/fork", `{"title":"Two"}`, ``},
		"a fork by verb, without a body": {"/v1/sessions/s:fork", ``, `{"title":"x"}`},
	} {
		id := strings.ReplaceAll(name, " ", "-")
		var first string
		for i := range 3 {
			answer, got := asking(t, h, c.path, c.body, key, id)
			if answer.StatusCode != 200 || i > 0 && (got != first || answer.Header.Get("Idempotent-Replayed") != "true") {
				t.Errorf("%s: time %d gave %d %s, before %s", name, i+1, answer.StatusCode, got, first)
			}
			first = got
		}
		if answer, got := asking(t, h, c.path, c.again, key, id); answer.StatusCode != 400 || !strings.Contains(got, "the Idempotency-Key was used by another request") {
			t.Errorf("%s: another request gave %d %s", name, answer.StatusCode, got)
		}
		if answer, got := asking(t, h, c.path, c.body, key, id+"-2"); answer.StatusCode != 200 || got == first {
			t.Errorf("%s: another key gave %d %s", name, answer.StatusCode, got)
		}
	}
	if text := d.userTexts("s"); strings.Count(text, "hello") != 2 {
		t.Errorf("the log is\n%s", text)
	}
	n := 0
	for _, err := range d.List(t.Context(), store.Query{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 1+2+2+2 {
		t.Errorf("there are %d sessions", n)
	}
	if answer, _ := asking(t, h, "/v1/sessions", "", key, strings.Repeat("x", 200)); answer.StatusCode != 400 {
		t.Errorf("an invalid key gave %d", answer.StatusCode)
	}
}

// TestFailedIsNotRemembered checks that a failed request can be repeated with the same key,
// and that a successful one keeps its ETag.
func TestFailedIsNotRemembered(t *testing.T) {
	d := open(t, memstore.New(memstore.Options{}))
	defer d.shut()
	d.startSession("s")
	h := Handler(d.Gateway, Config{})
	say := func(at string) (int, string) {
		answer, _ := asking(t, h, "/v1/sessions/s/entries", `{"user":"hello"}`, "Idempotency-Key", "one", "If-Match", at)
		return answer.StatusCode, answer.Header.Get("ETag")
	}
	if code, _ := say(`"99999"`); code != 412 {
		t.Errorf("a conflict gave %d", code)
	}
	if code, tag := say(`*`); code != 200 || tag == "" {
		t.Errorf("then it gave %d %s", code, tag)
	}
	first, tag := say(`*`)
	if again, same := say(`*`); first != 200 || again != 200 || tag != same || tag == "" {
		t.Errorf("then %d %s and %d %s", first, tag, again, same)
	}
}

// TestConcurrentIdempotentRequests checks that of concurrent requests with the same key one
// is executed and all are answered.
func TestConcurrentIdempotentRequests(t *testing.T) {
	d := open(t, memstore.New(memstore.Options{}))
	defer d.shut()
	h := Handler(d.Gateway, Config{})
	var all sync.Map
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() {
			_, got := asking(t, h, "/v1/sessions", "{}", "Idempotency-Key", "one")
			all.Store(got, true)
		})
	}
	work.Wait()
	n := 0
	all.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("there are %d answers", n)
	}
}

// TestRemembered checks the limits on the number and age of cached responses.
func TestRemembered(t *testing.T) {
	var r replies
	now := time.Unix(1e9, 0)
	claim := func(name string) bool {
		one, mine := r.claim(name, [sha256.Size]byte{}, now)
		if mine {
			one.status = 200
			r.finish(name, one)
		}
		return mine
	}
	busy, _ := r.claim("busy", [sha256.Size]byte{}, now)
	for i := range mostRemembered - 1 {
		claim(fmt.Sprint(i))
	}
	if claim("0") || claim("998") {
		t.Error("one of as many as are remembered was forgotten")
	}
	if !claim("one more") || !claim("0") || claim("998") || len(r.named) != mostRemembered || len(r.order) != len(r.named) {
		t.Errorf("%d are remembered", len(r.named))
	}
	if one, mine := r.claim("busy", [sha256.Size]byte{}, now); mine || one != busy {
		t.Error("the oldest was forgotten while its answer is being found")
	}
	now = now.Add(rememberedFor + 1)
	if !claim("998") || len(r.named) != 1 {
		t.Errorf("%d are remembered", len(r.named))
	}
}
