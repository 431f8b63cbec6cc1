package serve

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/wire"
)

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// fetch sends an HTTP request to an instance as its owner and returns the status.
func fetch(t *testing.T, h *Instance, method, path, body string, head ...string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	h.Own().ServeHTTP(w, r)
	return w.Code
}

// TestReload changes agents, jobs, hooks, resets and maintenance of a running gateway. A
// running turn ends with its old settings, and no session is lost.
func TestReload(t *testing.T) {
	began, gate := make(chan struct{}, 10), make(chan struct{}, 10)
	s := speak(t, func(w http.ResponseWriter, asked []message) {
		if last := asked[len(asked)-1].text(); strings.Contains(last, "slowly") {
			began <- struct{}{}
			<-gate
		}
		says(w, "Yes.")
	})
	var now clock
	before := load(t, s.settings("system = \"You are brief.\"\n"))
	after := load(t, s.settings(`system = "You are long-winded."
[session]
time_zone = "UTC"
[session.reset]
mode = "idle"
idle = "10m"
[[cron]]
id = "report"
schedule = "0 7 * * *"
message = "Write the report."
keep = 1
[hooks.push]
token = "ci"
template = "Pushed: {{.ref}}"
[maintenance]
prune_after = "1m"
subagent_idle = "1h"
`))
	d := serving(t, before, func(o *Options) { o.Clock = now.now }, after)
	chat, err := d.NewSession(t.Context(), wire.NewSession{Key: "agent:main:main"})
	if err != nil {
		t.Fatal(err)
	}
	mail := write(t, d.Client, "mail", "direct", "ada", "Hello.")
	if system, _ := s.last(); !strings.Contains(system, "You are brief.") {
		t.Errorf("the output is %q", system)
	}
	if jobs, err := d.Jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("the jobs are %v, %v", jobs, err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := d.Turn(t.Context(), chat.ID, wire.Turn{Text: "Talk slowly."})
		answered <- err
	}()
	<-began

	d.hangups <- os.Interrupt
	waitFor(t, func() bool { jobs, err := d.Jobs(t.Context()); return err == nil && len(jobs) == 1 })
	gate <- struct{}{}
	if err := <-answered; err != nil {
		t.Errorf("the turn that ran ended with %v", err)
	}
	if _, err := d.Turn(t.Context(), chat.ID, wire.Turn{Text: "And now?"}); err != nil {
		t.Fatal(err)
	}
	system, received := s.last()
	if !strings.Contains(system, "You are long-winded.") || len(only(received)) != 3 {
		t.Errorf("the system prompt is %q, the messages are %q", system, received)
	}
	run, err := d.RunJob(t.Context(), "report")
	if err != nil || run.Key != "agent:main:cron:report" {
		t.Errorf("the job gave %+v, %v", run, err)
	}
	if call, err := d.CallHook(t.Context(), "push", map[string]string{"ref": "main"}); err != nil || !strings.HasPrefix(call.Key, "agent:main:hook:") {
		t.Errorf("the hook gave %+v, %v", call, err)
	}
	now.advance(time.Hour)
	again := write(t, d.Client, "mail", "direct", "ada", "Hello again.")
	if again.Reset != "idle" || again.Session == mail.Session {
		t.Errorf("after an hour the result is %+v", again)
	}
	report, err := d.Maintain(t.Context(), wire.Maintain{})
	if err != nil || len(report.Actions) == 0 {
		t.Errorf("maintenance would do %+v, %v", report, err)
	}
	for _, id := range []string{string(chat.ID), string(mail.Session), string(run.Session)} {
		if _, err := d.Session(t.Context(), id); err != nil {
			t.Errorf("session %s is lost: %v", id, err)
		}
	}
}

// waitFor waits until a condition is true or the test times out.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it never was")
		}
	}
}

// TestJobsRun checks that a gateway runs due jobs and archives old runs.
func TestJobsRun(t *testing.T) {
	reports := make(chan string, 10)
	s := speak(t, func(w http.ResponseWriter, asked []message) {
		reports <- asked[len(asked)-1].text()
		says(w, "Done.")
	})
	var started atomic.Pointer[time.Time] // when the clock started
	almost := time.Date(2026, 3, 2, 6, 59, 59, 500e6, time.UTC)
	d := serving(t, load(t, s.settings(`
[[cron]]
id = "report"
zone = "UTC"
schedule = "0 7 * * *"
message = "Write the report."
keep = 1
[[cron]]
id = "never"
schedule = "* * * * *"
message = "Do nothing."
enabled = false
`)), func(o *Options) {
		o.Clock = func() time.Time {
			if at := started.Load(); at != nil {
				return almost.Add(time.Since(*at))
			}
			return almost
		}
	})
	started.Store(new(time.Now()))
	select {
	case text := <-reports:
		if !strings.Contains(text, "Write the report.") {
			t.Errorf("the output is %q", text)
		}
	case <-time.After(basetest.Limit):
		t.Fatal("the job does not run")
	}
	if _, err := d.RunJob(t.Context(), "report"); err != nil && wire.KindOf(err) != wire.Busy {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		jobs, err := d.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if jobs[0].Runs == 1 && jobs[0].Kept >= 1 {
			return true
		}
		if !jobs[0].Running && jobs[0].Runs+jobs[0].Kept < 2 {
			if _, err := d.RunJob(t.Context(), "report"); err != nil && wire.KindOf(err) != wire.Busy {
				t.Fatal(err)
			}
		}
		return false
	})
}

// TestRetiredAgents checks that agents of earlier settings are closed too: their background
// work must not outlive the store.
func TestRetiredAgents(t *testing.T) {
	settings := load(t, "")
	h, c := openInstance(t, Options{Settings: settings})
	for range 3 {
		s, err := c.NewSession(t.Context(), wire.NewSession{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Turn(t.Context(), s.ID, wire.Turn{Text: "Please plan a trip to Oslo in May."}); err != nil {
			t.Fatal(err)
		}
		if err := h.Change(settings.Config); err != nil {
			t.Fatal(err)
		}
	}
	if page, err := c.SessionsPage(t.Context(), client.Query{}); err != nil || len(page.Items) != 3 {
		t.Errorf("there are %v, %v", page.Items, err)
	}
}

// TestLogLevel checks that the log level changes with the settings.
func TestLogLevel(t *testing.T) {
	settings := load(t, "[log]\nlevel = \"warn\"\n")
	var reported strings.Builder
	log, level := NewLog(&reported, settings.Log, false)
	h, _ := openInstance(t, Options{Settings: settings, Log: log})
	h.level = level
	log.Info("first")
	louder := load(t, "[log]\nlevel = \"debug\"\n").Config
	if err := h.Change(louder); err != nil {
		t.Fatal(err)
	}
	log.Debug("second")
	if strings.Contains(reported.String(), "none changed") {
		t.Errorf("a setting changed, and the log is %s", reported.String())
	}
	if err := h.Change(louder); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(reported.String(), "none changed") {
		t.Errorf("nothing changed, and the log is %s", reported.String())
	}
	if got := reported.String(); strings.Contains(got, "first") || !strings.Contains(got, "second") {
		t.Errorf("the log is %s", got)
	}
}
