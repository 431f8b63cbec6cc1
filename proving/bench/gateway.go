package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/client"
	"firn.dev/internal/base/route"
	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway"
	"firn.dev/provider"
	"firn.dev/provider/scripted"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/wire"
)

// gateway measures a gateway over HTTP on a socket with a model that answers immediately:
// turns per second, the time until an append is acknowledged and until the first event, and
// the effect of a hanging model on other sessions.
func (b *bench) gateway() error {
	dir, err := os.MkdirTemp("", "firn-") // the path of a socket must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	st, err := filestore.Open(filepath.Join(dir, "h"), filestore.Options{})
	if err != nil {
		return err
	}
	defer st.Close()
	g, err := gateway.New(gateway.Options{Store: st, Setup: echoing(st), Home: st.Home()})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	served, ready := make(chan error, 1), make(chan string, 1)
	go func() {
		served <- api.Serve(ctx, api.ServeOptions{
			Home: st.Home(), Socket: filepath.Join(dir, "s"), Handler: api.Handler(g, api.Config{}), Close: g.Close,
			Ready: func(a api.Address) { ready <- a.Address },
		})
	}()
	select {
	case err := <-served:
		stop()
		return err
	case address := <-ready:
		var c *client.Client
		if c, err = client.New(client.Options{Address: address}); err == nil {
			err = errors.Join(b.overHTTP(ctx, st, address), b.acks(ctx, st, c), b.hanging(ctx, st, c), b.followers(ctx, st, c, address), b.idle(ctx, g, st))
			c.Close()
		}
	}
	stop()
	return errors.Join(err, <-served)
}

// hang is a message that the model never answers.
const hang = "hang"

// echoing returns a gateway setup whose model answers every message immediately, except
// hang.
func echoing(st store.Store) gateway.Setup {
	var m *scripted.Model
	m = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		answer := scripted.Reply("Fine.")
		if req.Window.Items[len(req.Window.Items)-1].Message.Text() == hang {
			answer.Before = func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
		}
		return m.Play(ctx, req, answer)
	})
	return gateway.Setup{
		Default: "main", Agents: map[string]*agent.Agent{"main": {Store: st, Model: m, NoTitles: true, Turns: 20}},
		Queue: route.Queue{Mode: route.QueueFollowup, Cap: 1000},
	}
}

// createSession creates a session.
func createSession(ctx context.Context, st store.Store, id firn.ID) error {
	_, err := st.Append(ctx, id, store.Start, firn.Entry{Body: &firn.Header{Session: id, Agent: "main"}})
	return err
}

// samples collects durations. It is safe for concurrent use.
type samples struct {
	mu  sync.Mutex
	all []time.Duration
}

func (s *samples) add(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, took)
}

// part returns a percentile.
func (s *samples) part(percent int) time.Duration {
	slices.Sort(s.all)
	return s.all[min(len(s.all)*percent/100, len(s.all)-1)]
}

// String returns the median and the 99th percentile.
func (s *samples) String() string { return ms(s.part(50)) + " / " + ms(s.part(99)) }

// overHTTP measures turns of 16 clients that follow events, each in its own session.
func (b *bench) overHTTP(ctx context.Context, st *filestore.Store, address string) error {
	const clients, turns = 16, 100
	var acks, firsts samples
	start := time.Now()
	err := runParallel(clients, clients, func(i int) error {
		id := firn.ID(fmt.Sprintf("c%02d", i))
		if err := createSession(ctx, st, id); err != nil {
			return err
		}
		c, err := client.New(client.Options{Address: address})
		if err != nil {
			return err
		}
		defer c.Close()
		for range turns {
			if err := oneTurn(ctx, c, id, &acks, &firsts); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.note("gateway: turns a second, 16 clients over HTTP and SSE, durable", fmt.Sprintf("%.0f", perSecond(clients*turns, time.Since(start))))
	b.note("gateway: first event of a turn, p50 / p99 of 16 at once", acks.String())
	b.note("gateway: first word of an answer, p50 / p99 of 16 at once", firsts.String())
	return nil
}

// oneTurn runs a turn. It records the time of the first event, when the message is durable,
// and of the first word.
func oneTurn(ctx context.Context, c *client.Client, id firn.ID, acks, firsts *samples) error {
	start := time.Now()
	acked, spoke := false, false
	for e, err := range c.StreamTurn(ctx, id, wire.Turn{Text: "How are you?"}) {
		if err != nil {
			return err
		}
		if !acked {
			acks.add(time.Since(start))
			acked = true
		}
		if e.Name == wire.DeltaText && !spoke {
			firsts.add(time.Since(start))
			spoke = true
		}
	}
	return nil
}

// acks measures the time until an append over HTTP is acknowledged, with one client and
// with 16 concurrent ones.
func (b *bench) acks(ctx context.Context, st *filestore.Store, c *client.Client) error {
	for _, clients := range []int{1, 16} {
		took, err := appends(ctx, st, c, fmt.Sprintf("a%d-", clients), clients, 1600/clients)
		if err != nil {
			return err
		}
		b.note(fmt.Sprintf("gateway: append acknowledged, p50 / p99 of %d at once", clients), took.String())
	}
	return nil
}

// appends appends from concurrent clients, each to its own session.
func appends(ctx context.Context, st *filestore.Store, c *client.Client, prefix string, clients, each int) (*samples, error) {
	var took samples
	err := runParallel(clients, clients, func(i int) error {
		id := firn.ID(fmt.Sprintf("%s%02d", prefix, i))
		if err := createSession(ctx, st, id); err != nil {
			return err
		}
		for range each {
			start := time.Now()
			if _, err := c.Append(ctx, id, store.Any, wire.NewEntries{User: "I note this."}); err != nil {
				return err
			}
			took.add(time.Since(start))
		}
		return nil
	})
	return &took, err
}

// idle measures the memory of an idle session after one turn.
func (b *bench) idle(ctx context.Context, g *gateway.Gateway, st *filestore.Store) error {
	const sessions = 1000
	before := heap()
	for i := range sessions {
		id := firn.ID(fmt.Sprintf("idle%04d", i))
		if err := createSession(ctx, st, id); err != nil {
			return err
		}
		if _, err := g.Turn(ctx, id, wire.Turn{Text: "Hello."}); err != nil {
			return err
		}
	}
	b.note("gateway: memory of an idle session that was talked in once", fmt.Sprintf("%.1f kB", float64(heap()-before)/sessions/1024))
	return nil
}

// heap returns the allocated heap in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
