package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/wire"
)

// gatedGateway is a gateway with a model that answers when the gate is opened.
type gatedGateway struct {
	*Gateway
	t     *testing.T
	st    store.Store
	model *scripted.Model
	// asked receives the requests to the model, gate releases its answers.
	asked chan string
	gate  chan struct{}
}

// open returns a gateway whose model echoes the last message each time the gate is opened.
func open(t *testing.T, st store.Store) *gatedGateway {
	t.Helper()
	d := &gatedGateway{t: t, st: st, asked: make(chan string, 1000), gate: make(chan struct{}, 1000)}
	d.model = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		last := req.Window.Items[len(req.Window.Items)-1].Message.Text()
		s := scripted.Reply("re: " + last)
		s.Before = func(ctx context.Context) error {
			d.asked <- last
			if last == "hang" {
				<-ctx.Done()
				return ctx.Err()
			}
			select {
			case <-d.gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return d.model.Play(ctx, req, s)
	})
	g, err := New(Options{Store: st, Setup: Setup{Default: "main", Agents: map[string]*agent.Agent{
		"main": {Store: st, Model: d.model, NoTitles: true},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	d.Gateway = g
	d.createSession("s")
	return d
}

// createSession creates a session if it does not exist.
func (d *gatedGateway) createSession(id firn.ID) {
	d.t.Helper()
	header := firn.Entry{Body: &firn.Header{Session: id, Agent: "main"}}
	if _, err := d.st.Append(d.t.Context(), id, store.Start, header); err != nil && !errors.Is(err, firn.ErrConflict) {
		d.t.Fatal(err)
	}
}

func (d *gatedGateway) send(text, queue string) *ticket {
	d.t.Helper()
	ticket, err := d.accept(d.t.Context(), "s", wire.Turn{Text: text, Queue: queue})
	if err != nil {
		d.t.Fatal(err)
	}
	return ticket
}

// log returns the messages of the session as text.
func (d *gatedGateway) log() string {
	d.t.Helper()
	var lines []string
	for rec, err := range d.st.Read(d.t.Context(), "s", store.Start) {
		if err != nil {
			d.t.Fatal(err)
		}
		entry, err := rec.Entry()
		if err != nil {
			d.t.Fatal(err)
		}
		if m, ok := entry.Body.(*firn.Message); ok {
			line := string(m.Role) + ": " + strings.ReplaceAll(m.Text(), "\n", " / ")
			if m.Error != "" {
				line += " [" + string(m.StopReason) + "]"
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func (d *gatedGateway) want(lines ...string) {
	d.t.Helper()
	if got, want := d.log(), strings.Join(lines, "\n"); got != want {
		d.t.Errorf("the log is\n%s\nwant\n%s", got, want)
	}
}

func (d *gatedGateway) shut() {
	d.t.Helper()
	if err := d.Close(context.Background()); err != nil {
		d.t.Error(err)
	}
}

// TestQueueModes sends two messages during a turn, in each mode.
func TestQueueModes(t *testing.T) {
	for mode, want := range map[string][]string{
		"followup":  {"user: one", "assistant: re: one", "user: two", "assistant: re: two", "user: three", "assistant: re: three"},
		"collect":   {"user: one", "assistant: re: one", "user: [Messages received while you were busy:]\n\n[message 1 of 2]\ntwo\n\n[message 2 of 2]\nthree", "assistant: re: [Messages received while you were busy:]\n\n[message 1 of 2]\ntwo\n\n[message 2 of 2]\nthree"},
		"steer":     {"user: one", "user: two", "user: three", "assistant: re: one", "assistant: re: two\nthree"},
		"interrupt": {"user: one", "assistant:  [aborted]", "user: two", "assistant:  [aborted]", "user: three", "assistant: re: one\ntwo\nthree"},
	} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := open(t, memstore.New(memstore.Options{}))
				first := d.send("one", mode)
				<-d.asked
				second := d.send("two", mode)
				synctest.Wait()
				third := d.send("three", mode)
				<-second.accepted
				<-third.accepted
				for range 10 {
					d.gate <- struct{}{}
				}
				<-first.done
				<-second.done
				<-third.done
				if mode != "interrupt" && first.err != nil || third.err != nil {
					t.Errorf("the errors are %v, %v, %v", first.err, second.err, third.err)
				}
				if mode == "interrupt" && !errors.Is(first.err, ErrStopped) {
					t.Errorf("the first ended with %v", first.err)
				}
				if text := third.answer.Text; !strings.Contains(text, "three") {
					t.Errorf("the last was answered %q", text)
				}
				d.shut()
				for i := range want {
					want[i] = strings.ReplaceAll(want[i], "\n", " / ")
				}
				d.want(want...)
			})
		})
	}
}

// TestStop stops a turn and clears the queue.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		first := d.send("one", "followup")
		<-d.asked
		second := d.send("two", "followup")
		<-second.accepted
		stopped, err := d.StopAll(t.Context(), "s")
		if !stopped.Stopped || err != nil {
			t.Errorf("stopping gave %v, %v", stopped, err)
		}
		if r := stopped.Removed; len(r) != 1 || r[0].ID != second.ID || r[0].Text != "two" {
			t.Errorf("removed %+v, want the queued message", r)
		}
		<-first.done
		<-second.done
		if !errors.Is(first.err, ErrStopped) || !errors.Is(second.err, ErrStopped) {
			t.Errorf("they ended with %v, %v", first.err, second.err)
		}
		d.want("user: one", "assistant:  [aborted]")
		if ok, _ := d.Stop(t.Context(), "s"); ok {
			t.Error("there was something left to stop")
		}
		if owed, err := d.pendingTickets(t.Context(), "s"); len(owed) > 0 || err != nil {
			t.Errorf("%d messages are owed an answer, %v", len(owed), err)
		}
		d.gate <- struct{}{}
		third := d.send("three", "")
		<-third.done
		if third.answer.Text != "re: one\nthree" {
			t.Errorf("then it answers %q, %v", third.answer.Text, third.err)
		}
		d.shut()
	})
}

// TestQueueCap checks that messages beyond the limit are rejected and not stored.
func TestQueueCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		setup := *d.setup.Load()
		setup.Queue = route.Queue{Cap: 2, Drop: route.DropNew}
		if err := d.Reload(setup); err != nil {
			t.Fatal(err)
		}
		d.send("one", "")
		<-d.asked
		d.send("two", "")
		d.send("three", "")
		var p *wire.Problem
		if _, err := d.accept(t.Context(), "s", wire.Turn{Text: "four"}); !errors.As(err, &p) || p.Kind != wire.Busy {
			t.Errorf("the fourth gave %v", err)
		}
		if _, err := d.accept(t.Context(), "s", wire.Turn{Text: "x", Queue: "sometimes"}); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("an unknown mode gave %v", err)
		}
		for range 5 {
			d.gate <- struct{}{}
		}
		d.shut()
		if strings.Contains(d.log(), "four") {
			t.Error("it was stored")
		}
	})
}

// TestRecover simulates a crash at each write during a few turns with queued messages. The
// next gateway must answer every accepted message once.
func TestRecover(t *testing.T) {
	for cut := 1; ; cut++ {
		whole := false
		synctest.Test(t, func(t *testing.T) {
			full := memstore.New(memstore.Options{})
			d := open(t, full)
			d.send("one", "followup")
			<-d.asked
			d.send("two", "followup")
			d.send("three", "collect")
			d.send("four", "collect")
			for range 10 {
				d.gate <- struct{}{}
			}
			time.Sleep(time.Minute)
			d.shut()
			st := memstore.New(memstore.Options{})
			n := 0
			for rec, err := range full.Read(t.Context(), "s", store.Start) {
				if err != nil {
					t.Fatal(err)
				}
				entry, err := rec.Entry()
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := entry.Body.(*firn.Header); ok {
					if _, err := st.Append(t.Context(), "s", store.Start, entry); err != nil {
						t.Fatal(err)
					}
					continue
				}
				if n == cut {
					break
				}
				if _, err := st.Append(t.Context(), "s", store.Any, entry); err != nil {
					t.Fatal(err)
				}
				n++
			}
			whole = n < cut
			d = open(t, st)
			for range 10 {
				d.gate <- struct{}{}
			}
			accepted := acceptedIn(t, st)
			if _, err := d.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			d.shut()
			for _, text := range accepted {
				users, answers := 0, 0
				for line := range strings.SplitSeq(d.log(), "\n") {
					if strings.HasPrefix(line, "user") && strings.Contains(line, text) {
						users++
					}
					if strings.HasPrefix(line, "assistant") && strings.Contains(line, text) {
						answers++
					}
				}
				if users != 1 || answers != 1 {
					t.Errorf("cut at %d: %q is stored %d times and answered %d times:\n%s", cut, text, users, answers, d.log())
				}
			}
		})
		if whole {
			return
		}
	}
}

// acceptedIn returns the texts of the accepted messages in a log.
func acceptedIn(t *testing.T, st store.Store) (texts []string) {
	t.Helper()
	for rec, err := range st.Read(t.Context(), "s", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		entry, _ := rec.Entry()
		switch b := entry.Body.(type) {
		case *firn.Custom:
			var w waiting
			if b.Type == queuedType && json.Unmarshal(b.Data, &w) == nil {
				texts = append(texts, w.Text)
			}
		case *firn.Message:
			if b.Role == firn.RoleUser && b.Text() == "one" {
				texts = append(texts, "one")
			}
		}
	}
	return texts
}

// TestManySessions runs turns of many sessions while one hangs.
func TestManySessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		d.createSession("hung")
		hung, err := d.accept(t.Context(), "hung", wire.Turn{Text: "hang"})
		if err != nil {
			t.Fatal(err)
		}
		<-d.asked
		var group sync.WaitGroup
		for i := range 50 {
			d.createSession(firn.ID(fmt.Sprint("s", i)))
			group.Go(func() {
				for k := range 10 {
					d.gate <- struct{}{}
					answer, err := d.Turn(t.Context(), firn.ID(fmt.Sprint("s", i)), wire.Turn{Text: fmt.Sprint(k)})
					if err != nil || answer.Text != fmt.Sprint("re: ", k) {
						t.Errorf("session %d answered %q, %v", i, answer.Text, err)
					}
				}
			})
		}
		group.Wait()
		if _, err := d.Stop(t.Context(), "hung"); err != nil {
			t.Error(err)
		}
		<-hung.done
		d.shut()
	})
}

// TestRecoverAfterARewind moves the head back onto an answered message, before one that was
// queued, and checks that nothing is answered.
func TestRecoverAfterARewind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, memstore.New(memstore.Options{}))
		first := d.send("one", "followup")
		<-d.asked
		second := d.send("two", "followup")
		<-second.accepted
		for range 5 {
			d.gate <- struct{}{}
		}
		<-first.done
		<-second.done
		d.shut()
		for i, to := range []firn.EntryID{first.ID, first.answer.Entry, first.ID, first.answer.Entry} {
			head := firn.NewEntry(&firn.Head{})
			if i > 1 {
				head = firn.NewEntry(&firn.BranchSummary{Summary: "what was tried"})
			}
			head.Parent = to
			if _, err := d.st.Append(t.Context(), "s", store.Any, head); err != nil {
				t.Fatal(err)
			}
			next := open(t, d.st)
			if n, err := next.Recover(t.Context()); n != 0 || err != nil {
				t.Errorf("it continues with %d sessions, %v", n, err)
			}
			next.shut()
		}
	})
}
