package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// script returns the events of a successful turn.
func script() []wire.Event {
	return []wire.Event{
		newEvent(wire.TurnStarted, wire.Answer{Session: session}),
		newEvent(wire.DeltaText, wire.Delta{Text: "Hello, "}),
		newEvent(wire.DeltaText, wire.Delta{Text: "you."}),
		newEvent(wire.TurnCompleted, wire.Answer{Session: session, Text: "Hello, you."}),
	}
}

// listen runs a turn and returns the names of its events and its error.
func listen(ctx context.Context, c *client.Client, turn wire.Turn) (names []string, last error) {
	for e, err := range c.StreamTurn(ctx, session, turn) {
		if err != nil {
			return names, err
		}
		names = append(names, e.Name)
	}
	return names, nil
}

func TestStreamTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.script = script()
		names, err := listen(t.Context(), serve(t, f), wire.Turn{Text: "hi"})
		if want := []string{wire.TurnStarted, wire.DeltaText, wire.DeltaText, wire.TurnCompleted}; err != nil || !slices.Equal(names, want) {
			t.Errorf("got %q, %v, want %q", names, err, want)
		}
	})
}

func TestStreamTurnSurvivesOneBrokenConnection(t *testing.T) {
	for _, fault := range []fault{abort, tear, end, mute, bye, slow} {
		for after := range len(script()) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(0, interruption{fault: fault, after: after})
				f.script = script()
				names, err := listen(t.Context(), serve(t, f), wire.Turn{Text: "hi"})
				if err != nil || len(names) == 0 || names[len(names)-1] != wire.TurnCompleted {
					t.Fatalf("%s after %d: got %q, %v", fault, after, names, err)
				}
				if len(f.turns) != 2 || f.turns[0].ID == "" || f.turns[0].ID != f.turns[1].ID {
					t.Errorf("%s after %d: the turns were %v, want two of one id", fault, after, f.turns)
				}
				if gap := slices.Contains(names, wire.Gap); gap != (after > 0 || fault == bye) {
					t.Errorf("%s after %d: a gap is reported: %v", fault, after, gap)
				}
			})
		}
	}
}

func TestStreamTurnGivesUpAfterTwoBrokenConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0, interruption{abort, 2, 0}, interruption{abort, 1, 0})
		f.script = script()
		_, err := listen(t.Context(), serve(t, f), wire.Turn{Text: "hi"})
		var u *client.Unreachable
		if !errors.As(err, &u) || len(f.turns) != 2 {
			t.Errorf("after %d turns the error is %v", len(f.turns), err)
		}
	})
}

func TestStreamTurnWithSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0, interruption{slow, 1, 0}, interruption{slow, 2, 0}, interruption{slow, 1, 0}, interruption{abort, 1, 0}, interruption{slow, 1, 0})
		f.script = script()
		names, err := listen(t.Context(), serve(t, f), wire.Turn{Text: "hi"})
		if err != nil || names[len(names)-1] != wire.TurnCompleted || len(f.turns) != 6 {
			t.Errorf("after %d turns: %q, %v", len(f.turns), names, err)
		}
	})
}

func TestStreamTurnFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.script = append(script()[:2], newEvent(wire.TurnFailed, wire.Problem{Kind: wire.Upstream, Message: "the model is gone", Hint: "wait"}))
		names, err := listen(t.Context(), serve(t, f), wire.Turn{Text: "hi"})
		var p *wire.Problem
		if !errors.As(err, &p) || p.Kind != wire.Upstream || p.Hint != "wait" || names[len(names)-1] != wire.TurnFailed {
			t.Errorf("got %q, %#v", names, err)
		}
		if len(f.turns) != 1 {
			t.Errorf("a failed turn was requested %d times", len(f.turns))
		}
	})
}

func TestStreamTurnFailsWithoutProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0)
		f.script = []wire.Event{{Name: wire.TurnFailed, Session: session}}
		_, err := listen(t.Context(), serve(t, f), wire.Turn{Text: "hi"})
		if wire.KindOf(err) != wire.Internal || err == nil {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestStreamTurnRefused(t *testing.T) {
	for _, p := range []wire.Problem{{Kind: wire.NotFound, Message: "no session"}, {Kind: wire.Busy, Message: "20 wait"}, {Kind: wire.Closing, Message: "going"}} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				refuse(w, p)
			}))
			names, err := listen(t.Context(), c, wire.Turn{Text: "hi"})
			if len(names) != 0 || wire.KindOf(err) != p.Kind || err.Error() != p.Message || asked != 1 {
				t.Errorf("after %d tries: %q, %v", asked, names, err)
			}
		})
	}
}

func TestStreamTurnEndsWithContext(t *testing.T) {
	for _, fault := range []fault{mute, abort} { // while it waits for events, and between two tries
		synctest.Test(t, func(t *testing.T) {
			f := newFake(0, interruption{fault, 2, 0}, interruption{mute, 0, 0})
			f.script = script()
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			defer cancel()
			_, err := listen(ctx, serve(t, f), wire.Turn{Text: "hi"})
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: the error is %v", fault, err)
			}
		})
	}
}

func TestStreamTurnStopsWithItsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(0, interruption{abort, 2, 0})
		f.script = script()
		c := serve(t, f)
		for stop := range 4 { // also at the gap
			n := 0
			for range c.StreamTurn(t.Context(), session, wire.Turn{Text: "hi"}) {
				if n++; n > stop {
					break
				}
			}
		}
	})
}

func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []firn.EntryID
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			turn := readTurn(t, r)
			ids = append(ids, turn.ID)
			time.Sleep(5 * time.Minute) // on the bubble's clock: a model may take long
			responseWriter(w, wire.Answer{Session: session, Message: turn.ID, Text: "done"})
		}))
		a, err := c.Turn(t.Context(), session, wire.Turn{Text: "hi", ID: "mine"})
		if err != nil || a.Text != "done" || a.Message != "mine" || len(ids) != 1 {
			t.Errorf("got %+v, %v", a, err)
		}
	})
}

func TestTurnIsRetriedWithTheSameID(t *testing.T) {
	breaks := map[string]func(w http.ResponseWriter){
		"before the answer": func(w http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"within the answer": func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"session":"0199`)
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
		"behind a proxy": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
	}
	for name, cut := range breaks {
		for _, given := range []firn.EntryID{"", "mine"} {
			synctest.Test(t, func(t *testing.T) {
				var ids []firn.EntryID
				c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					turn := readTurn(t, r)
					if ids = append(ids, turn.ID); len(ids) == 1 {
						cut(w)
						return
					}
					responseWriter(w, wire.Answer{Text: "done"})
				}))
				a, err := c.Turn(t.Context(), session, wire.Turn{Text: "hi", ID: given})
				if err != nil || a.Text != "done" {
					t.Errorf("%s: got %+v, %v", name, a, err)
				}
				if len(ids) != 2 || ids[0] == "" || ids[0] != ids[1] || given != "" && ids[0] != given {
					t.Errorf("%s: the ids were %q", name, ids)
				}
			})
		}
	}
}

func TestTurnGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			panic(http.ErrAbortHandler)
		}))
		_, err := c.Turn(t.Context(), session, wire.Turn{Text: "hi"})
		var u *client.Unreachable
		if !errors.As(err, &u) || asked != 2 || !strings.Contains(err.Error(), "the connection broke") {
			t.Errorf("after %d tries the error is %v", asked, err)
		}
	})
}

func TestEmptyTurnHasNoID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if turn := readTurn(t, r); turn.ID != "" {
				t.Errorf("it has the id %s", turn.ID)
			}
			responseWriter(w, wire.Answer{})
		}))
		if _, err := c.Turn(t.Context(), session, wire.Turn{}); err != nil {
			t.Error(err)
		}
	})
}

func TestInboundIsRetriedWithTheSameID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []string
		c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			if bodies = append(bodies, string(data)); len(bodies) == 1 {
				panic(http.ErrAbortHandler)
			}
			responseWriter(w, wire.Routed{Key: "agent:main:main", Session: session})
		}))
		routed, err := c.Inbound(t.Context(), wire.Inbound{Channel: "mail", PeerKind: "direct", PeerID: "ann", Text: "hi"})
		if err != nil || routed.Session != session {
			t.Errorf("got %+v, %v", routed, err)
		}
		if len(bodies) != 2 || bodies[0] != bodies[1] || !strings.Contains(bodies[0], `"id":"`) {
			t.Errorf("the messages were %q", bodies)
		}
	})
}

func readTurn(t *testing.T, r *http.Request) wire.Turn {
	t.Helper()
	var turn wire.Turn
	if err := readJSON(r, &turn); err != nil {
		t.Error(err)
	}
	return turn
}

// responseWriter writes a JSON response.
func responseWriter(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Write(mustJSON(v))
}

func ExampleClient_StreamTurn() {
	gateway := newFake(0)
	gateway.script = script()
	local := client.InProcess(gateway)
	defer local.Close()
	c, err := client.New(client.Options{Transport: local})
	if err != nil {
		fmt.Println(err)
		return
	}
	for e, err := range c.StreamTurn(context.Background(), session, wire.Turn{Text: "hi"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Name)
	}
	// Output:
	// turn.started
	// delta.text
	// delta.text
	// turn.completed
}
