package client_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/wire"
)

// follow follows until an entry of the log and returns the positions of the log and the
// names of the other events.
func follow(t *testing.T, c *client.Client, after firn.Pos, entries int) (log []firn.Pos, beside []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for e, err := range c.Events(ctx, session, after) {
		if err != nil {
			t.Fatalf("after %v: %v", log, err)
		}
		if e.Name == wire.EntryAppended {
			log = append(log, e.Pos)
			if e.Pos >= firn.Pos(entries*100) {
				cancel()
			}
			continue
		}
		beside = append(beside, e.Name)
	}
	return log, beside
}

func positions(from, to int) []firn.Pos {
	var all []firn.Pos
	for i := from; i <= to; i++ {
		all = append(all, firn.Pos(i*100))
	}
	return all
}

func TestEventsSurviveInterruptions(t *testing.T) {
	const entries = 5
	for _, first := range allFaults {
		for _, second := range allFaults {
			for after := range 2*entries + 1 {
				name := fmt.Sprintf("%s after %d, then %s", first, after, second)
				synctest.Test(t, func(t *testing.T) {
					if first == busy || first == page {
						if after > 0 {
							return // they occur before the first event
						}
					}
					f := newFake(entries, interruption{fault: first, after: after}, interruption{fault: second, after: 1})
					log, beside := follow(t, serve(t, f), 0, entries)
					if want := positions(1, entries); !slices.Equal(log, want) {
						t.Errorf("%s: the log came as %v, want %v", name, log, want)
					}
					if after > 0 && after < 2*entries && !slices.Contains(beside, wire.Gap) {
						t.Errorf("%s: the gap was not reported: %v", name, beside)
					}
				})
			}
		}
	}
}

func TestEventsAreDeliveredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(6, interruption{abort, 7, 0}, interruption{abort, 4, 3}, interruption{end, 9, 9}, interruption{"", -1, 9})
		log, _ := follow(t, serve(t, f), 0, 6)
		if want := positions(1, 6); !slices.Equal(log, want) {
			t.Errorf("the log came as %v, want %v", log, want)
		}
	})
}

func TestEventsWithRandomInterruptions(t *testing.T) {
	for seed := range uint64(150) {
		synctest.Test(t, func(t *testing.T) {
			dice := rand.New(rand.NewPCG(seed, 4))
			var interruptions []interruption
			for range dice.IntN(12) {
				interruptions = append(interruptions, interruption{allFaults[dice.IntN(len(allFaults))], dice.IntN(9), dice.IntN(4)})
			}
			if len(interruptions) > 0 && (interruptions[0].fault == busy || interruptions[0].fault == page) {
				interruptions[0].fault = end // a client without any event gives up after a few of the others
			}
			f := newFake(3, interruptions...)
			stop := make(chan struct{})
			go func() {
				for range 20 {
					time.Sleep(time.Duration(dice.IntN(1000)) * time.Millisecond) // on the bubble's clock
					f.append()
				}
				close(stop)
			}()
			log, _ := follow(t, serve(t, f), 200, 23)
			<-stop
			if want := positions(3, 23); !slices.Equal(log, want) {
				t.Errorf("seed %d: the log came as %v, want %v", seed, log, want)
			}
		})
	}
}

func TestEventsResumeAtLastPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(4, interruption{abort, 4, 0}, interruption{end, 2, 0})
		follow(t, serve(t, f), 0, 4)
		if want := []string{"0", "200", "300"}; !slices.Equal(f.resumed, want) {
			t.Errorf("asked to continue from %q, want %q", f.resumed, want)
		}
	})
}

func TestEventsReportOneGapPerInterruption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2, interruption{abort, 2, 0}, interruption{busy, 0, 0}, interruption{page, 0, 0}, interruption{busy, 0, 0}, interruption{abort, 0, 0})
		_, beside := follow(t, serve(t, f), 0, 2)
		if want := []string{wire.DeltaText, wire.Gap, wire.DeltaText}; !slices.Equal(beside, want) {
			t.Errorf("beside the log came %q, want %q", beside, want)
		}
	})
}

func TestEventsDeliverEmptyGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		glued := newEvent(wire.EntryAppended, wire.Entry{At: 100, Next: 100, Gap: "glued at 100"})
		glued.Pos = 100
		f.log = slices.Insert(f.log, 1, glued, glued)
		log, _ := follow(t, serve(t, f), 0, 2)
		if want := []firn.Pos{100, 100, 200}; !slices.Equal(log, want) {
			t.Errorf("the log came as %v, want %v", log, want)
		}
	})
}

func TestEventsRetryDelayGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		begun := time.Now()
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, time.Since(begun).Round(time.Millisecond))
			w.Header().Set("Content-Type", "text/event-stream")
		}))
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for e, err := range c.Events(ctx, session, 0) {
			if err != nil || e.Name != wire.Gap {
				t.Fatalf("got %v, %v", e, err)
			}
		}
		want := []time.Duration{0, 100, 300, 700, 1500, 3100, 6300, 11300, 16300}
		for i := range want {
			want[i] *= time.Millisecond
		}
		if !slices.Equal(asked, want) {
			t.Errorf("asked at %v, want %v", asked, want)
		}
	})
}

func TestEventsEndWhenRefused(t *testing.T) {
	for kind, want := range map[wire.Kind]error{wire.NotFound: firn.ErrNotFound, wire.NoToken: nil, wire.NotAllowed: nil, wire.Corrupt: firn.ErrCorrupt} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(1, interruption{end, 2, 0})
			n := 0
			c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n++; n > 1 {
					refuse(w, wire.Problem{Kind: kind, Message: "no"})
					return
				}
				f.ServeHTTP(w, r)
			}))
			f.append()
			var last error
			for _, err := range c.Events(t.Context(), session, 0) {
				last = err
			}
			var p *wire.Problem
			if !errors.As(last, &p) || p.Kind != kind || want != nil && !errors.Is(last, want) {
				t.Errorf("%s: the error is %v", kind, last)
			}
		})
	}
}

func TestEventsGiveUpWithoutGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := newPipeNet()
		network.Close()
		c := newClient(t, client.Options{Address: "http://gateway.test", Transport: &http.Transport{DialContext: network.dial}})
		begun := time.Now()
		var errs []error
		for _, err := range c.Events(t.Context(), session, 0) {
			errs = append(errs, err)
		}
		var u *client.Unreachable
		if len(errs) != 1 || !errors.As(errs[0], &u) || !strings.Contains(u.Hint, "firn serve") {
			t.Errorf("the errors are %v", errs)
		}
		if took := time.Since(begun); took != 700*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestEventsStopWithTheirListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(3)
		c := serve(t, f)
		for _, err := range c.Events(t.Context(), session, 0) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for e, err := range c.Events(ctx, session, 0) {
			t.Errorf("got %v, %v after the end", e, err)
		}
	})
}

func TestEventsWaitForSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(3)
		c := serve(t, f)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for e, err := range c.Events(ctx, session, 0) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute) // on the bubble's clock
			if e.Pos == 300 {
				cancel()
			}
		}
		if len(f.resumed) != 1 {
			t.Errorf("connected %d times: the listener's own time was counted as silence", len(f.resumed))
		}
	})
}

func TestEventsOfAnySize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1)
		large := newEvent(wire.EntryAppended, wire.Entry{At: 100, Next: 200, Line: []byte(`"` + strings.Repeat("x", 5<<20) + `"`)})
		large.Pos = 200
		f.log = append(f.log, large)
		log, _ := follow(t, serve(t, f), 0, 2)
		if want := positions(1, 2); !slices.Equal(log, want) {
			t.Errorf("the log came as %v, want %v", log, want)
		}
	})
}

func TestInvalidEvents(t *testing.T) {
	for name, c := range map[string]struct{ kind, body, want string }{
		"not JSON":       {"text/event-stream", "data: hello\n\n", "invalid event"},
		"no name":        {"text/event-stream", "data: {}\n\n", "without a name"},
		"a page":         {"text/html", "<html>", `"text/html"`},
		"no type at all": {"", "data", "text/plain"},
	} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			cl := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				w.Write([]byte(c.body))
			}))
			var last error
			for _, err := range cl.Events(t.Context(), session, 0) {
				last = err
			}
			var u *client.Unreachable
			if !errors.As(last, &u) || !strings.Contains(last.Error(), c.want) || asked != 1 {
				t.Errorf("%s: the error after %d tries is %v", name, asked, last)
			}
		})
	}
}

func TestEventsEndWithProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: error\ndata: {\"error\":{\"kind\":\"corrupt\",\"message\":\"the file is gone\"}}\n\n")
		}))
		var last error
		for _, err := range c.Events(t.Context(), session, 0) {
			last = err
		}
		if !errors.Is(last, firn.ErrCorrupt) || last.Error() != "the file is gone" {
			t.Errorf("the error is %v", last)
		}
	})
}

func TestAllEventsReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/events" {
				t.Errorf("requested %s", r.URL.Path)
			}
			connections++
			w.Header().Set("Content-Type", "text/event-stream")
			for range 2 { // positions of different sessions are not compared
				e := newEvent(wire.SessionUpdated, wire.Session{ID: session})
				e.Pos = 100
				w.Write(encodeEvent(e))
			}
		}))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var names []string
		for e, err := range c.AllEvents(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			if names = append(names, e.Name); len(names) == 5 {
				cancel()
			}
		}
		want := []string{wire.SessionUpdated, wire.SessionUpdated, wire.Gap, wire.SessionUpdated, wire.SessionUpdated}
		if !slices.Equal(names, want) || connections != 2 {
			t.Errorf("%d connections brought %q, want %q", connections, names, want)
		}
	})
}

// refuse answers with a problem.
func refuse(w http.ResponseWriter, p wire.Problem) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(p.Status())
	w.Write(mustJSON(wire.Failure{Error: p}))
}

// TestEventsResetTheRetryDelay checks that a received event resets the retry
// delay.
func TestEventsResetTheRetryDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		f := newFake(4, interruption{end, 2, 0}, interruption{end, 2, 0}, interruption{end, 2, 0})
		follow(t, serve(t, f), 0, 4)
		if took := time.Since(begun); took != 300*time.Millisecond {
			t.Errorf("three delays took %v", took)
		}
	})
}

// TestEventsReconnectAfterSilence checks that a stream without heartbeats is
// reconnected after a minute; a gateway sends them more often.
func TestEventsReconnectAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		f := newFake(2, interruption{mute, 2, 0})
		follow(t, serve(t, f), 0, 2)
		if took := time.Since(begun); took != time.Minute+100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestHeartbeatsKeepStreamOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections := 0
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			connections++
			w.Header().Set("Content-Type", "text/event-stream")
			for range 40 {
				fmt.Fprint(w, ":\n\n")
				http.NewResponseController(w).Flush()
				time.Sleep(15 * time.Second)
			}
			w.Write(encodeEvent(newEvent(wire.SessionUpdated, wire.Session{})))
		}))
		for e, err := range c.AllEvents(t.Context()) {
			if err != nil || e.Name != wire.SessionUpdated || connections != 1 {
				t.Errorf("got %v, %v after %d connections", e, err, connections)
			}
			break
		}
	})
}
