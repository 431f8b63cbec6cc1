// Package cluster lets several gateways serve the same sessions.
//
// Each session has one owner at a time: the gateway that holds its lease. Turns run there.
// Other gateways forward requests for the session to its owner, and events are published to
// all gateways, so a client may use any of them. If an owner dies, its leases expire, and
// the next owner answers the messages that were accepted but not answered.
//
// A lease is only a hint: a gateway that was suspended may believe in an expired lease. A
// gateway that takes over a session without knowing that the previous owner is done
// therefore first appends a fence. The store rejects appends by writers that have not seen
// the fence, and a turn that sees it ends. The package does no replication, leader election
// or membership; the store's servers do.
package cluster

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/door/api"
	"firn.dev/internal/gateway"
	"firn.dev/store"
	"firn.dev/store/jetstream"
)

// Options configures a member of a cluster.
type Options struct {
	// Engine stores the leases and carries the messages between gateways.
	Engine *jetstream.Store
	// Sessions is the store used by the gateway; nil means the engine.
	Sessions store.Store
	// TTL is how long an unresponsive owner keeps its sessions; zero means 15 seconds.
	// Linger is how long an unused session is kept; zero means 2 seconds.
	TTL, Linger time.Duration
	// Guest marks a short-lived member: it takes over only the sessions that it uses, and
	// never leads.
	Guest bool
	// Log receives log messages; nil discards them.
	Log *slog.Logger
}

const (
	defaultTTL    = 15 * time.Second
	defaultLinger = 2 * time.Second
)

// Cluster is one gateway of a cluster. It implements [gateway.Peers] and [api.Peers].
type Cluster struct {
	o      Options
	name   string
	bus    *jetstream.Bus
	leases *jetstream.Leases
	out    chan publishedEvent

	life context.Context // ends on Close
	die  context.CancelFunc
	work sync.WaitGroup
	stop []func()

	gateway *gateway.Gateway
	handler *api.HTTP

	publishing sync.Mutex
	number     uint64

	mu       sync.Mutex
	holdings map[string]*holding
	// held maps leases to the gateways that hold them, as far as they are watched.
	held    map[string]string
	closed  bool
	leading bool
}

var (
	_ gateway.Peers = (*Cluster)(nil)
	_ api.Peers     = (*Cluster)(nil)
)

// Join returns a new member. It becomes active with Start.
func Join(ctx context.Context, o Options) (*Cluster, error) {
	if o.Engine == nil {
		return nil, fmt.Errorf("join cluster: %w: no engine", firn.ErrInvalid)
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
	c := &Cluster{o: o, name: hex.EncodeToString(raw[:]), bus: o.Engine.Bus(), holdings: make(map[string]*holding), held: make(map[string]string), out: make(chan publishedEvent, mostWaiting)}
	var err error
	if c.leases, err = o.Engine.Leases(ctx, c.name, o.TTL); err != nil {
		return nil, fmt.Errorf("join cluster: %w", err)
	}
	c.life, c.die = context.WithCancel(context.Background())
	return c, nil
}

// Name returns the name of this gateway in the cluster.
func (c *Cluster) Name() string { return c.name }

// Start activates the member: h answers requests for its sessions, and g takes over
// sessions whose owner is gone.
func (c *Cluster) Start(g *gateway.Gateway, h *api.HTTP) error {
	c.gateway, c.handler = g, h
	for topic, take := range map[string]func(jetstream.Note){callTopic(c.name): c.handleCall, eventTopic: c.receiveEvents(), rollTopic: c.answerRoll, runningTopic(c.name): c.answerRunning} {
		stop, err := c.bus.Listen(topic, take)
		if err != nil {
			c.unsubscribe()
			return fmt.Errorf("join cluster: %w", err)
		}
		c.stop = append(c.stop, stop)
	}
	c.work.Go(c.publishEvents)
	if !c.o.Guest {
		c.work.Go(c.watch)
		c.work.Go(c.lead)
	}
	return nil
}

func (c *Cluster) unsubscribe() {
	for _, stop := range c.stop {
		stop()
	}
	c.stop = nil
}

// Close leaves the cluster. It releases all sessions, and the other gateways check them for
// unanswered messages. The gateway must be closed first.
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
	c.unsubscribe()
	c.die()
	c.work.Wait()
	return nil
}
