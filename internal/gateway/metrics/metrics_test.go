package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/store/storetest"
)

func TestTextFormat(t *testing.T) {
	var r metrics.Registry
	requests := r.Counter("b_total", "Requests.\nBy \\ route.", "route", "status")
	requests.Add(1, "/x", "200")
	requests.Add(2.5, "/x", "200")
	requests.Add(-7, "/x", "200")
	requests.Add(1, "a\"b\\c\nd\xff", "")
	r.Gauge("a", "Some.").Set(-3)
	r.GaugeFunc("c", "Asked.", func() float64 { return 12345678 })
	h := r.Histogram("d_seconds", "Times.", []float64{1, 0.1, 10})
	for _, n := range []float64{0.1, 0.05, 5, 100} {
		h.Observe(n)
	}
	r.Counter("e_total", "None yet.", "kind")
	r.Counter("f_total", "None yet.")
	want := `# HELP a Some.
# TYPE a gauge
a -3
# HELP b_total Requests.\nBy \\ route.
# TYPE b_total counter
b_total{route="/x",status="200"} 3.5
b_total{route="a\"b\\c\nd�",status=""} 1
# HELP c Asked.
# TYPE c gauge
c 12345678
# HELP d_seconds Times.
# TYPE d_seconds histogram
d_seconds_bucket{le="0.1"} 2
d_seconds_bucket{le="1"} 2
d_seconds_bucket{le="10"} 3
d_seconds_bucket{le="+Inf"} 4
d_seconds_sum 105.15
d_seconds_count 4
# HELP f_total None yet.
# TYPE f_total counter
f_total 0
`
	if got := string(r.Append(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if h.Count() != 4 || requests.Value("/x", "200") != 3.5 {
		t.Errorf("%d, %v", h.Count(), requests.Value("/x", "200"))
	}
}

// TestManyLabels: names that clients invent do not fill the memory.
func TestManyLabels(t *testing.T) {
	var r metrics.Registry
	c := r.Counter("x_total", "X.", "model")
	for i := range 5000 {
		c.Add(1, fmt.Sprint("m", i))
	}
	c.Add(1, "m0")
	text := string(r.Append(nil))
	if n := strings.Count(text, "\n"); n > 1010 {
		t.Errorf("%d lines", n)
	}
	if !strings.Contains(text, `x_total{model="m0"} 2`) || !strings.Contains(text, `x_total{model="other"} 4000`) {
		t.Errorf("%s", text[len(text)-200:])
	}
}

// lines matches a line of the text format.
var lines = regexp.MustCompile(`^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z_]+="([^"\\\n]|\\["\\n])*",?)+\})? ([-+0-9.e]+|\+Inf|NaN))$`)

// TestConcurrentRequests counts from many goroutines while others read: nothing is lost,
// and each reading makes sense.
func TestConcurrentRequests(t *testing.T) {
	s := metrics.New(time.Unix(1, 0))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range 500 {
				s.Usage("p", fmt.Sprint("m", j%3), firn.Usage{Input: 1})
				s.Error("not-found")
				done := s.StartRequest()
				leave := s.Stream()
				leave()
				done("GET", "/v1/x", "200", time.Millisecond, i == 0)
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			check(t, string(s.Append(nil)))
		}
	})
	wg.Wait()
	text := string(s.Append(nil))
	for _, want := range []string{
		`firn_errors_total{kind="not-found"} 2000`, `firn_http_requests_total{method="GET",route="/v1/x",status="200"} 2000`,
		`firn_http_request_seconds_count{route="/v1/x"} 1500`, "firn_http_requests_running 0", "firn_sse_clients 0", "firn_start_time_seconds 1",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// check checks a reading against the format: lines, and buckets that grow up to the count.
func check(t *testing.T, text string) {
	t.Helper()
	last := 0.0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !lines.MatchString(line) {
			t.Errorf("no line of the format: %s", line)
		}
		at := strings.LastIndexByte(line, ' ')
		n, _ := strconv.ParseFloat(line[at+1:], 64)
		switch {
		case strings.Contains(line, "_bucket{"):
			if n < last && !strings.Contains(line, `le="0.0001"`) && !strings.Contains(line, `le="0.005"`) {
				t.Errorf("a bucket with less than a smaller one: %s", line)
			}
			last = n
		case strings.Contains(line, "_count") && n != last:
			t.Errorf("the count is not the last bucket: %s", line)
		}
	}
}

func TestNilSet(t *testing.T) {
	var s *metrics.Set
	s.Usage("p", "m", firn.Usage{Input: 1})
	s.Error("x")
	s.Refused("x")
	s.Watch(nil)
	s.StartRequest()("GET", "/", "200", 0, false)
	s.Stream()()
	st := memstore.New(memstore.Options{})
	if s.Store(st) != store.Store(st) || s.Files(vfs.OS{}) != vfs.FS(vfs.OS{}) {
		t.Error("without a set nothing is wrapped")
	}
	s.ServeHTTP(httptest.NewRecorder(), nil)
}

// TestStoreConformance checks that the wrapper preserves the behavior of a store.
func TestStoreConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opened {
		st := metrics.New(time.Now()).Store(memstore.New(memstore.Options{}))
		return storetest.Opened{Store: st, Reopen: func() store.Store { return st }}
	})
}

func TestStoreCounts(t *testing.T) {
	s := metrics.New(time.Now())
	inner := memstore.New(memstore.Options{})
	st := s.Store(inner)
	ctx := t.Context()
	if _, err := st.Append(ctx, "s", store.Start, firn.UserText("a"), firn.UserText("b")); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(ctx, "s", store.Start, firn.UserText("c")); !errors.Is(err, firn.ErrConflict) {
		t.Fatal(err)
	}
	if _, err := st.Append(ctx, "../s", store.Any, firn.UserText("c")); err == nil {
		t.Fatal("a strange id")
	}
	tool := firn.Entry{Body: &firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse}}
	end := firn.Entry{Body: &firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopEnd}}
	if _, err := st.Append(ctx, "s", store.Any, tool, end, firn.Entry{Body: &firn.Compaction{Summary: "short"}}); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	st.Append(gone, "s", store.Any, firn.UserText("c"))
	s.Redacted(3)
	text := string(s.Append(nil))
	for _, want := range []string{
		"firn_secrets_redacted_total 3", `firn_appends_total{outcome="ok"} 2`, `firn_appends_total{outcome="conflict"} 1`, `firn_appends_total{outcome="failed"} 1`, `firn_entries_total{kind="message"} 4`,
		`firn_turns_total{outcome="` + string(firn.StopEnd) + `"} 1`, "firn_compactions_total 1", "firn_append_seconds_count 5",
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if _, ok := store.As[store.Keyed](st); !ok {
		t.Error("other capabilities of the store are lost")
	}
	if w, ok := st.(interface{ Unwrap() store.Store }); !ok || w.Unwrap() != store.Store(inner) {
		t.Error("it does not unwrap")
	}
}

func TestFilesAreTimed(t *testing.T) {
	s := metrics.New(time.Now())
	fs := s.Files(faultfs.New())
	if err := fs.MkdirAll("/d"); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFile(fs, "/d/f", []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := fs.(vfs.SyncerFS).SyncFS("/d"); err != nil {
		t.Fatal(err)
	}
	text := string(s.Append(nil))
	for _, want := range []string{`firn_fsync_seconds_count{what="file"} 1`, `firn_fsync_seconds_count{what="directory"} 1`, `firn_fsync_seconds_count{what="filesystem"} 1`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	plain := s.Files(struct{ vfs.FS }{faultfs.New()})
	if err := plain.(vfs.SyncerFS).SyncFS("/"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a file system that cannot: %v", err)
	}
}

// counting is a model that can count.
type counting struct{ *scripted.Model }

func (counting) CountTokens(context.Context, provider.Request) (int64, error) { return 7, nil }

func TestModelIsCounted(t *testing.T) {
	s := metrics.New(time.Now())
	content := scripted.Reply("hello there")
	content.Usage = &firn.Usage{Input: 100, Output: 20, CacheRead: 5, Cost: firn.Cost{Total: 0.25}}
	inner := scripted.New(scripted.Info(), content, scripted.Fail(&provider.Error{Kind: provider.Temporary}))
	m := s.Model(inner)
	for range 2 {
		drain(m.Stream(t.Context(), provider.Request{}))
	}
	text := string(s.Append(nil))
	for _, want := range []string{
		`firn_tokens_total{provider="scripted",model="scripted",kind="input"} 100`, `firn_tokens_total{provider="scripted",model="scripted",kind="output"} 20`,
		`firn_tokens_total{provider="scripted",model="scripted",kind="cache_read"} 5`, `firn_answer_seconds_count{provider="scripted",model="scripted"} 1`,
		`firn_model_errors_total{provider="scripted",model="scripted",kind="` + string(provider.Temporary) + `"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if _, ok := m.(provider.Counter); ok {
		t.Error("it counts tokens, and cannot")
	}
	if c, ok := s.Model(counting{inner}).(provider.Counter); !ok {
		t.Error("a model that counts tokens no longer does")
	} else if n, err := c.CountTokens(t.Context(), provider.Request{}); n != 7 || err != nil {
		t.Error(n, err)
	}
}

func drain(events iter.Seq2[provider.Event, error]) {
	for range events {
	}
}

func TestServed(t *testing.T) {
	s := metrics.New(time.Now())
	s.Watch(func() (lanes, queued int) { return 3, 4 })
	w := httptest.NewRecorder()
	s.ServeHTTP(w, nil)
	if w.Header().Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Error(w.Header())
	}
	for _, want := range []string{"firn_lanes 3", "firn_queue_length 4"} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("no %s in\n%s", want, w.Body)
		}
	}
}
