// Package cluster lets several gateways serve the same sessions.
//
// Each session has one owner at a time: the gateway that has its lease. Turns run
// there; a request that another gateway gets for it is passed on to the owner, and
// what happens is told to all, so that it does not matter which gateway a client
// talks to. When an owner dies its leases end by themselves, and whoever gets one
// goes on with what was accepted and not answered.
//
// A lease is a hint. A gateway that was stopped for a while may still believe in
// one that has ended. So who takes a session over without knowing that the owner
// before was done with it first puts a fence behind all that is there: whoever
// appends without having seen it is refused by the store, and a turn that sees it
// ends. Nothing here replicates, elects or keeps members; the store's servers do.
package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"firn"
	"firn/internal/api"
	"firn/internal/gateway"
	"firn/store"
	"firn/store/jetstream"
)

// Options say what gateways share.
type Options struct {
	// Engine is where leases are kept, and over which notes are passed.
	Engine *jetstream.Store
	// Sessions is the store as the gateway sees it; nil means the engine.
	Sessions store.Store
	// TTL is how long an owner that does not answer keeps its sessions; zero means
	// 15 seconds. Linger is how long a session is kept that nobody wants anything
	// of; zero means 2 seconds.
	TTL, Linger time.Duration
	// Guest is there for a moment only: it takes over no sessions but those it wants
	// something of, and never leads.
	Guest bool
	// Log is told what happens; nil means nowhere.
	Log *slog.Logger
}

const (
	defaultTTL    = 15 * time.Second
	defaultLinger = 2 * time.Second
)

// Cluster is one gateway among others. It implements [gateway.Peers] and [api.Peers].
type Cluster struct {
	o      Options
	name   string
	bus    *jetstream.Bus
	leases *jetstream.Leases
	out    chan told

	life context.Context // ends on Close
	die  context.CancelFunc
	work sync.WaitGroup
	stop []func()

	gateway *gateway.Gateway
	handler *api.HTTP

	telling sync.Mutex
	number  uint64

	mu       sync.Mutex
	holdings map[string]*holding
	// held says which sessions others have, as far as it is watched.
	held    map[string]string
	closed  bool
	leading bool
}

var (
	_ gateway.Peers = (*Cluster)(nil)
	_ api.Peers     = (*Cluster)(nil)
)

// Join makes a member. It takes part when it is started.
func Join(ctx context.Context, o Options) (*Cluster, error) {
	if o.Engine == nil {
		return nil, fmt.Errorf("join a cluster: %w: there is no engine", firn.ErrInvalid)
	}
	if o.Sessions == nil {
		o.Sessions = o.Engine
	}
	if o.TTL == 0 {
		o.TTL = defaultTTL
	}
	if o.Linger == 0 {
		o.Linger = defaultLinger
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // documented never to fail
	c := &Cluster{o: o, name: hex.EncodeToString(raw[:]), bus: o.Engine.Bus(), holdings: make(map[string]*holding), held: make(map[string]string), out: make(chan told, mostWaiting)}
	var err error
	if c.leases, err = o.Engine.Leases(ctx, c.name, o.TTL); err != nil {
		return nil, fmt.Errorf("join a cluster: %w", err)
	}
	c.life, c.die = context.WithCancel(context.Background())
	return c, nil
}

// Name is what the others know this one by.
func (c *Cluster) Name() string { return c.name }

// Start begins to take part: requests for sessions of ours are answered by h, and
// sessions whose owner is gone are taken over by g.
func (c *Cluster) Start(g *gateway.Gateway, h *api.HTTP) error {
	c.gateway, c.handler = g, h
	for topic, take := range map[string]func(jetstream.Note){callTopic(c.name): c.called, eventTopic: c.heard(), rollTopic: c.answerRoll, runningTopic(c.name): c.answerRunning} {
		stop, err := c.bus.Listen(topic, take)
		if err != nil {
			c.hangUp()
			return fmt.Errorf("join a cluster: %w", err)
		}
		c.stop = append(c.stop, stop)
	}
	c.work.Go(c.speak)
	if !c.o.Guest {
		c.work.Go(c.watch)
		c.work.Go(c.lead)
	}
	return nil
}

func (c *Cluster) hangUp() {
	for _, stop := range c.stop {
		stop()
	}
	c.stop = nil
}

// Close leaves the cluster: all sessions are given back, and the others look
// whether something is left to be answered in them. The gateway is closed before.
func (c *Cluster) Close(ctx context.Context) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	all := make([]*holding, 0, len(c.holdings))
	for _, h := range c.holdings {
		all = append(all, h)
	}
	c.mu.Unlock()
	var work sync.WaitGroup
	room := make(chan struct{}, atOnce)
	for _, h := range all {
		work.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			c.drop(ctx, h, true)
		})
	}
	work.Wait()
	c.hangUp()
	c.die()
	c.work.Wait()
	return nil
}
