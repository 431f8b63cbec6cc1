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

	"firn"
	"firn/agent"
	"firn/client"
	"firn/internal/gateway"
	"firn/provider"
	"firn/provider/scripted"
	"firn/route"
	"firn/store"
	"firn/store/filestore"
	"firn/wire"
)

// gateway runs turns over HTTP, on a socket, with a model that answers at once:
// how many a second, and how long until a message is acknowledged and until the
// first word of the answer comes.
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
		served <- gateway.Serve(ctx, gateway.ServeOptions{
			Home: st.Home(), Socket: gateway.SocketPath(st.Home()), Handler: gateway.Handler(g, gateway.Config{}), Close: g.Close,
			Ready: func(a gateway.Address) { ready <- a.Address },
		})
	}()
	select {
	case err := <-served:
		stop()
		return err
	case address := <-ready:
		err = errors.Join(b.overHTTP(ctx, st, address), b.idle(ctx, g, st))
	}
	stop()
	return errors.Join(err, <-served)
}

// echoing is a gateway's setup whose model says what was said.
func echoing(st store.Store) gateway.Setup {
	var m *scripted.Model
	m = scripted.Func(scripted.Info(), func(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
		return m.Play(ctx, req, scripted.Say("Fine."))
	})
	return gateway.Setup{
		Default: "main", Agents: map[string]*agent.Agent{"main": {Store: st, Model: m, NoTitles: true, Turns: 20}},
		Queue: route.Queue{Mode: route.QueueFollowup, Cap: 1000},
	}
}

// overHTTP measures turns of 16 clients, each in its session.
func (b *bench) overHTTP(ctx context.Context, st *filestore.Store, address string) error {
	const clients, turns = 16, 100
	var mu sync.Mutex
	var acks, firsts []time.Duration
	start := time.Now()
	err := fan(clients, clients, func(i int) error {
		id := firn.ID(fmt.Sprintf("c%02d", i))
		if _, err := st.Append(ctx, id, store.Start, firn.Entry{Body: &firn.Header{Session: id, Agent: "main"}}); err != nil {
			return err
		}
		c, err := client.New(client.Options{Address: address})
		if err != nil {
			return err
		}
		defer c.Close()
		for range turns {
			ack, first, err := oneTurn(ctx, c, id)
			if err != nil {
				return err
			}
			mu.Lock()
			acks, firsts = append(acks, ack), append(firsts, first)
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.note("gateway: turns a second, 16 clients over HTTP, durable", fmt.Sprintf("%.0f", perSecond(clients*turns, time.Since(start))))
	slices.Sort(acks)
	slices.Sort(firsts)
	b.note("gateway: message acknowledged, p50 / p99 of 16 at once", ms(acks[len(acks)/2])+" / "+ms(acks[len(acks)*99/100]))
	b.note("gateway: first word, p50 / p99 of 16 at once", ms(firsts[len(firsts)/2])+" / "+ms(firsts[len(firsts)*99/100]))
	return nil
}

// oneTurn runs a turn and tells when it was acknowledged, and when the first
// word came.
func oneTurn(ctx context.Context, c *client.Client, id firn.ID) (ack, first time.Duration, err error) {
	start := time.Now()
	for e, err := range c.StreamTurn(ctx, id, wire.Turn{Text: "How are you?"}) {
		if err != nil {
			return 0, 0, err
		}
		switch e.Name {
		case wire.TurnStarted:
			ack = time.Since(start)
		case wire.DeltaText:
			first = time.Since(start)
		}
	}
	return ack, first, nil
}

// idle measures what a session costs that nobody talks in, and how long a
// gateway takes to be there with many.
func (b *bench) idle(ctx context.Context, g *gateway.Gateway, st *filestore.Store) error {
	const sessions = 1000
	before := heap()
	for i := range sessions {
		id := firn.ID(fmt.Sprintf("idle%04d", i))
		if _, err := st.Append(ctx, id, store.Start, firn.Entry{Body: &firn.Header{Session: id, Agent: "main"}}); err != nil {
			return err
		}
		if _, err := g.Turn(ctx, id, wire.Turn{Text: "Hello."}); err != nil {
			return err
		}
	}
	b.note("gateway: memory of a session that was talked in once", fmt.Sprintf("%.1f kB", float64(heap()-before)/sessions/1024))
	return nil
}

// heap is how much memory is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
