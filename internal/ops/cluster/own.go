package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/gateway"
	"firn.dev/store"
	"firn.dev/store/jetstream"
	"firn.dev/wire"
)

// holding is a lease that this gateway holds or wants. lease and since are guarded by turn,
// refs by Cluster.mu.
type holding struct {
	name string
	// session is empty for a key.
	session firn.ID
	turn    chan struct{}
	refs    int

	lease *jetstream.Lease
	since firn.Pos
	// lost is set if another gateway has taken over, although the lease seems valid.
	lost atomic.Bool
}

// Prefixes of lease names. Session IDs are encoded, since they may contain dots, which
// separate the tokens of a name.
const sessionPrefix = "s."

func leaseName(claim gateway.Claim) string {
	if claim.Session != "" {
		return sessionPrefix + strings.ReplaceAll(string(claim.Session), ".", "=")
	}
	sum := sha256.Sum256([]byte(claim.Key))
	return "k." + strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// sessionOf returns the session of a lease, or "" if the lease is for something else.
func sessionOf(name string) firn.ID {
	token, ok := strings.CutPrefix(name, sessionPrefix)
	if !ok {
		return ""
	}
	id := firn.ID(strings.ReplaceAll(token, "=", "."))
	if id.Check() != nil {
		return ""
	}
	return id
}

// use adds a user to a holding and creates it if necessary. A holding is kept while it has
// users, and for Linger after that.
func (c *Cluster) use(claim gateway.Claim) (*holding, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again in a moment"}
	}
	name := leaseName(claim)
	h := c.holdings[name]
	if h == nil {
		h = &holding{name: name, session: claim.Session, turn: make(chan struct{}, 1)}
		c.holdings[name] = h
	}
	h.refs++
	return h, nil
}

// releaseUse removes a user of a holding.
func (c *Cluster) releaseUse(h *holding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.refs--; h.refs > 0 || c.closed {
		return
	}
	time.AfterFunc(c.o.Linger, func() {
		ctx, cancel := context.WithTimeout(c.life, c.o.TTL)
		defer cancel()
		c.drop(ctx, h, false)
	})
}

// drop releases a holding if it is unused, or if over is true.
func (c *Cluster) drop(ctx context.Context, h *holding, over bool) {
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-h.turn }()
	if !over && !c.unused(h, false) {
		return
	}
	if h.lease != nil {
		if err := h.lease.Release(ctx, over); err != nil {
			c.o.Log.Warn("releasing a session failed; it is kept until its lease ends", "lease", h.name, "error", err)
		}
		h.lease = nil
	}
	c.unused(h, true)
}

// unused reports whether a holding has no users. If forget is true, an unused holding is
// removed.
func (c *Cluster) unused(h *holding, forget bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.refs > 0 {
		return false
	}
	if forget && c.holdings[h.name] == h {
		delete(c.holdings, h.name)
	}
	return true
}

// Own makes this gateway the owner of the claimed session or key, unless another gateway
// owns it. In that case it returns the name of the owner.
func (c *Cluster) Own(ctx context.Context, claim gateway.Claim) (*gateway.Tenure, string, error) {
	h, err := c.use(claim)
	if err != nil {
		return nil, "", err
	}
	tenure, owner, err := c.take(ctx, h)
	if tenure == nil {
		c.releaseUse(h)
	}
	return tenure, owner, err
}

func (c *Cluster) take(ctx context.Context, h *holding) (*gateway.Tenure, string, error) {
	select {
	case h.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, "", context.Cause(ctx)
	}
	defer func() { <-h.turn }()
	if h.lease != nil {
		select {
		case <-h.lease.Lost():
			c.o.Log.Warn("lease lost", "lease", h.name)
			h.lease = nil
		default:
			if h.lost.Load() {
				_ = h.lease.Release(context.WithoutCancel(ctx), true) // otherwise it expires
				h.lease = nil
			}
		}
	}
	if h.lease == nil {
		h.lost.Store(false)
		lease, owner, err := c.leases.Acquire(ctx, h.name)
		if err != nil || lease == nil {
			return nil, owner, err
		}
		if err := c.confirmOwnership(context.WithoutCancel(ctx), h, lease); err != nil {
			_ = lease.Release(context.WithoutCancel(ctx), true) // otherwise it expires
			return nil, "", leaseError(h, err)
		}
	}
	return &gateway.Tenure{
		Since: h.since, Lost: h.lease.Lost(), Leave: sync.OnceFunc(func() { c.releaseUse(h) }), Void: h.invalidate(h.lease),
	}, "", nil
}

// invalidate returns a function that marks the holding as lost if it still has the given
// lease.
func (h *holding) invalidate(lease *jetstream.Lease) func() {
	return func() {
		select {
		case <-lease.Lost():
		default:
			h.lost.Store(true)
		}
	}
}

// leaseError returns the error for a lease that no gateway holds but that could not be
// acquired, usually because the store did not answer in time.
func leaseError(h *holding, err error) error {
	if errors.Is(err, firn.ErrCorrupt) {
		return err
	}
	return &wire.Problem{Kind: wire.Unavailable, Message: fmt.Sprintf("session %s cannot be taken over yet: %v", h.session, err), Hint: "try again in a moment"}
}

// confirmOwnership determines the position from which the session is ours, and resumes the
// work of the previous owner. No other gateway can have taken over before that position:
// the lease was ours when the end was read.
func (c *Cluster) confirmOwnership(ctx context.Context, h *holding, lease *jetstream.Lease) error {
	if h.session == "" {
		h.lease = lease
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.TTL)
	defer cancel()
	inherits := lease.Before == jetstream.EndExpired || lease.Before == jetstream.EndLeft
	for {
		end, spoken, err := c.end(ctx, h.session)
		if err != nil {
			return err
		}
		if err := lease.Confirm(ctx); err != nil {
			return err
		}
		inherits = inherits && spoken
		if !spoken || lease.Before == jetstream.EndReleased || lease.Before == jetstream.EndLeft {
			h.since = end
			break
		}
		h.since, err = c.o.Sessions.Append(ctx, h.session, end, agent.Fence(c.name))
		if err == nil {
			break
		}
		if !errors.As(err, new(*store.Conflict)) {
			return fmt.Errorf("take over session %s: %w", h.session, err)
		}
	}
	h.lease = lease
	if !inherits || c.gateway == nil {
		return nil
	}
	n, err := c.gateway.Inherit(context.WithoutCancel(ctx), h.session)
	if n > 0 {
		c.o.Log.Info("continuing unanswered messages of another gateway", "session", h.session, "messages", n)
	}
	if err != nil { // the next request, or the next gateway, continues after it
		c.o.Log.Warn("continuing unanswered messages of another gateway failed", "session", h.session, "error", err)
	}
	return nil
}

// farBack is the number of entries searched for a message in a session.
const farBack = 64

// end returns the end of a session, and whether the session contains a message. If not, no
// turn can be running in it.
func (c *Cluster) end(ctx context.Context, id firn.ID) (end firn.Pos, spoken bool, err error) {
	n := 0
	for rec, err := range c.o.Sessions.ReadBack(ctx, id, store.End) {
		if errors.Is(err, firn.ErrNotFound) {
			return store.Start, false, nil
		}
		if err != nil {
			return 0, false, err
		}
		end = max(end, rec.Next)
		kind := rec.Glance.Kind
		if n++; rec.Gap != nil || kind == firn.KindMessage || kind == firn.KindCustomMessage || kind == firn.KindCompaction || n == farBack {
			return end, true, nil
		}
	}
	return end, false, nil
}

// The pauses between checks whether a session is free.
const (
	shortPause = 20 * time.Millisecond
	longPause  = 250 * time.Millisecond
)

// Enter waits until this gateway owns a session.
func (c *Cluster) Enter(ctx context.Context, id firn.ID, waits func()) (*gateway.Tenure, error) {
	for pause := shortPause; ; pause = min(2*pause, longPause) {
		tenure, _, err := c.Own(ctx, gateway.Claim{Session: id})
		if err != nil || tenure != nil {
			return tenure, err
		}
		if pause == shortPause {
			waits()
		}
		if err := c.pause(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func (c *Cluster) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.life.Done():
		return c.life.Err()
	}
}

// atOnce is the number of sessions taken over or released in parallel.
const atOnce = 8

// watch takes over the sessions of gateways that are gone.
func (c *Cluster) watch() {
	room := make(chan struct{}, atOnce)
	c.leases.Watch(c.life, func(change jetstream.LeaseChange) {
		id := sessionOf(change.Name)
		if id != "" {
			c.trackHolder(change)
		}
		if id == "" || change.Owner != "" {
			return
		}
		c.gateway.Ended(id)
		if change.Ending == jetstream.EndReleased {
			return
		}
		select {
		case room <- struct{}{}:
		case <-c.life.Done():
			return
		}
		c.work.Go(func() {
			defer func() { <-room }()
			c.takeOver(id)
		})
	})
}

// takeOver takes over a session, unless another gateway does or its owner is back.
func (c *Cluster) takeOver(id firn.ID) {
	if c.pause(c.life, rand.N(longPause)) != nil { // spreads the attempts of several gateways
		return
	}
	for range 10 {
		tenure, _, err := c.Own(c.life, gateway.Claim{Session: id})
		if err == nil {
			if tenure != nil {
				tenure.Leave()
			}
			return
		}
		if wire.KindOf(err) == wire.Closing || c.pause(c.life, longPause) != nil {
			return
		}
	}
	c.o.Log.Error("taking over a session of a stopped gateway failed", "session", id)
}

// lead performs the cluster-wide tasks while this gateway holds the leader lease.
func (c *Cluster) lead() {
	const name = "l.work"
	for c.life.Err() == nil {
		lease, _, err := c.leases.Acquire(c.life, name)
		if err != nil || lease == nil {
			_ = c.pause(c.life, c.o.TTL/3) // ends when c.life ends
			continue
		}
		c.leads(true)
		select {
		case <-lease.Lost():
		case <-c.life.Done():
		}
		c.leads(false)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.life), longPause)
		_ = lease.Release(ctx, false) // otherwise it expires
		cancel()
	}
}

func (c *Cluster) leads(now bool) {
	c.mu.Lock()
	c.leading = now
	c.mu.Unlock()
	c.gateway.LeadershipChanged()
}

// Leads reports whether this gateway is the leader.
func (c *Cluster) Leads() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leading
}
