package metrics

import (
	"context"
	"net/http"
	"time"

	"firn.dev"
)

// Set holds the metrics of a gateway. Its methods are safe for concurrent use. They do
// nothing on a nil set.
type Set struct {
	Registry
	started time.Time

	appends, entries, errors         Counter
	redacted                         Counter
	append, sync                     Histogram
	turns, tokens, cost, compactions Counter
	answer                           Histogram
	modelErrors                      Counter
	requests, refused, damaged       Counter
	request                          Histogram
	running, streams                 Gauge
	appendTimes, syncTimes           times
}

// The bounds of histograms in seconds, for disks and for conversations.
var (
	diskBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
	talkBounds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
)

// New returns an empty set.
func New(now time.Time) *Set {
	s := &Set{started: now}
	s.appends = s.Counter("firn_appends_total", "Appends to sessions, by outcome.", "outcome")
	s.entries = s.Counter("firn_entries_total", "Appended entries, by kind.", "kind")
	s.redacted = s.Counter("firn_secrets_redacted_total", "Secrets replaced before entries were stored.")
	s.append = s.Histogram("firn_append_seconds", "Time until an append was durable.", diskBounds)
	s.sync = s.Histogram("firn_fsync_seconds", "Time of a sync to disk, by operation.", diskBounds, "what")
	s.errors = s.Counter("firn_errors_total", "Problems reported, by kind.", "kind")
	s.turns = s.Counter("firn_turns_total", "Turns, by outcome.", "outcome")
	s.tokens = s.Counter("firn_tokens_total", "Tokens, as reported by providers.", "provider", "model", "kind")
	s.cost = s.Counter("firn_cost_dollars_total", "Cost of answers by the price list.", "provider", "model")
	s.answer = s.Histogram("firn_answer_seconds", "Time a model took to answer.", talkBounds, "provider", "model")
	s.modelErrors = s.Counter("firn_model_errors_total", "Failed answers, by kind.", "provider", "model", "kind")
	s.compactions = s.Counter("firn_compactions_total", "Compactions.")
	s.requests = s.Counter("firn_http_requests_total", "HTTP requests, by route and status.", "method", "route", "status")
	s.refused = s.Counter("firn_http_refused_total", "Rejected HTTP requests, by reason.", "reason")
	s.damaged = s.Counter("firn_replica_faults_total", "Messages known to be missing on a server of the cluster, by server.", "server")
	s.request = s.Histogram("firn_http_request_seconds", "Duration of requests, without streams.", talkBounds, "route")
	s.running = s.Gauge("firn_http_requests_running", "HTTP requests in progress.")
	s.streams = s.Gauge("firn_sse_clients", "Clients subscribed to events.")
	s.Gauge("firn_start_time_seconds", "Start time of the gateway, in seconds since 1970.").Set(float64(now.UnixMilli()) / 1000)
	return s
}

// Watch registers gauges for the load of a gateway: the number of sessions with a lane, and
// the number of queued messages.
func (s *Set) Watch(load func() (lanes, queued int)) {
	if s == nil {
		return
	}
	s.GaugeFunc("firn_lanes", "Sessions with a lane.", func() float64 { lanes, _ := load(); return float64(lanes) })
	s.GaugeFunc("firn_queue_length", "Queued messages.", func() float64 { _, queued := load(); return float64(queued) })
}

// Usage records the tokens of one answer.
func (s *Set) Usage(provider, model string, u firn.Usage) {
	if s == nil {
		return
	}
	for _, t := range [...]struct {
		kind string
		n    int64
	}{{"input", u.Input}, {"output", u.Output}, {"cache_read", u.CacheRead}, {"cache_write", u.CacheWrite}} {
		s.tokens.Add(float64(t.n), provider, model, t.kind)
	}
	s.cost.Add(u.Cost.Total, provider, model)
}

// Error counts a reported problem.
func (s *Set) Error(kind string) {
	if s != nil {
		s.errors.Add(1, kind)
	}
}

// Damaged counts a fault in the replica of a server of the cluster.
func (s *Set) Damaged(server string) {
	if s != nil {
		s.damaged.Add(1, server)
	}
}

// Refused counts a rejected request, such as one without a token or with a foreign origin.
func (s *Set) Refused(reason string) {
	if s != nil {
		s.refused.Add(1, reason)
	}
}

// StartRequest counts the start of a request. The returned function counts its end, with the
// outcome. The route is a pattern, never a path.
func (s *Set) StartRequest() func(method, route string, status string, took time.Duration, stream bool) {
	if s == nil {
		return func(string, string, string, time.Duration, bool) {}
	}
	s.running.Add(1)
	return func(method, route, status string, took time.Duration, stream bool) {
		s.running.Add(-1)
		s.requests.Add(1, method, route, status)
		if !stream {
			s.request.Observe(took.Seconds(), route)
		}
	}
}

// Stream counts a new listener. The returned function counts its end.
func (s *Set) Stream() func() {
	if s == nil {
		return func() {}
	}
	s.streams.Add(1)
	return func() { s.streams.Add(-1) }
}

// ServeHTTP writes all metrics in the text format.
func (s *Set) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if s != nil {
		w.Write(s.Append(nil)) // errors mean that the client has disconnected
	}
}

// outcome returns how an operation ended, as a label.
func outcome(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return "ok"
	case ctx.Err() != nil:
		return "cancelled"
	}
	return "failed"
}
