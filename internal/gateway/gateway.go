// Package gateway owns sessions: it runs their turns one at a time, takes in
// messages from outside, and tells all who listen what happens.
//
// [Gateway] is the owner. Its methods speak package wire and know no HTTP; package
// api has the doors to them. What it shows of sessions is computed by the
// [view.View] in it, what is due by a timer, and what is cleared away is decided by
// package maintenance: the gateway is who does things. Everything it knows is in the
// store, so a gateway that was killed goes on where it was: what it had accepted is
// there, and is answered.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/gateway/maintenance"
	"firn.dev/internal/gateway/timer"
	"firn.dev/internal/gateway/trace"
	"firn.dev/internal/gateway/view"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/wire"
)

// Options is what a gateway is made of. Store and Setup are needed.
type Options struct {
	Store store.Store
	// List lists sessions, quicker than the store can; nil means the store.
	List func(ctx context.Context, q store.Query) iter.Seq2[store.Info, error]
	// Dialect reads the entries that clients append as lines.
	Dialect dialect.Decoder
	// Tools are the formats that sessions can be read from and written to.
	Tools []dialect.Tool
	// Transcript finds what a session says as it lies on disk, for sessions of
	// other tools; nil means that all are our own.
	Transcript func(ctx context.Context, id firn.ID) (convert.Source, error)
	// Encode spells a request as the provider of a model would get it; nil if
	// nobody can.
	Encode func(model provider.Model, req provider.Request) ([]byte, error)
	Setup  Setup
	// MaxLine is how long a line of a transcript that is imported may be, in bytes; zero
	// means any length.
	MaxLine int64
	// Index finds what was said; nil if nothing can.
	Index Index
	// Memory is what agents note for good; nil if there is none.
	Memory Memory
	// Enter waits until no other process runs a turn of a session, and calls
	// waits if it must; leave lets the next one in. Nil: there are no others.
	Enter func(ctx context.Context, id firn.ID, waits func()) (leave func(), err error)
	// Holder looks up the bounds of tokens; nil: who has a token may see nothing but
	// the session that they talk in.
	Holder Holder
	// Revoked calls ended once a token is revoked, until stop is called; at once if it
	// is already. Ended does not wait. Nil: none ever is.
	Revoked func(token string, ended func()) (stop func())
	// Peers are the other gateways that serve the same sessions; nil if there are
	// none, and then Enter counts.
	Peers Peers
	// Sources tells which folders of other tools are mirrored: all but how many
	// sessions they have. Nil: none is.
	Sources func(ctx context.Context) ([]wire.Source, error)
	// Keeping tells how much room is taken up by what, but for the sessions; nil
	// if nobody knows.
	Keeping func(ctx context.Context) (wire.Storage, error)
	// Verify reads every byte of all sessions, and reports after each. Nil if nobody
	// can.
	Verify func(ctx context.Context, report func(VerifyStep)) error
	// Source reads all sessions of our own as their store holds them; nil if nothing
	// can.
	Source store.Source
	// EraseTyped takes texts out of what was typed at terminals of this home, and
	// returns how many lines went; nil if nothing is kept.
	EraseTyped func(texts []string) (int, error)
	// Resident bounds the bytes of live sessions that are kept in memory; zero
	// means 64 MB.
	Resident int64
	// Clock tells the time, nil means time.Now; Log is where it is told what
	// happens, nil means nowhere.
	Clock func() time.Time
	Log   *slog.Logger
	// Tracer traces turns; nil traces nothing.
	Tracer *trace.Tracer
	// Version, Home, StorePath and Address are told in the status.
	Version, Home, StorePath, Address string
}

// Setup is what can be changed while the gateway runs.
type Setup struct {
	// Agents are the agents by id; Default is who is meant if nobody is named.
	Agents  map[string]*agent.Agent
	Default string
	// Models finds a model by its provider's name and its own.
	Models func(providerName, model string) (provider.Model, error)
	// Profile finds a profile of credentials by the name of a provider, as answers are
	// marked with it, and its own, and returns it as PROVIDER/PROFILE; nil: there are none.
	Profile func(providerName, name string) (string, error)
	// Known lists the models that can be chosen.
	Known []wire.Model
	// Queue says what becomes of messages that come while a turn is running,
	// Queues the same for some channels, instead.
	Queue  route.Queue
	Queues map[string]route.Queue
	// Route says which agent and which key a message from outside belongs to,
	// Resets when sessions end by themselves, in Zone, and Triggers what begins
	// a new one; nil means /new and /reset. Send says where answers may go.
	Route    route.Config
	Resets   route.Resets
	Zone     *time.Location
	Triggers []string
	Send     route.SendPolicy
	// Commands says who may use which commands in messages.
	Commands route.CommandPolicy
	// Habits are what holds for some agents, by id, instead of what holds for
	// all.
	Habits map[string]Habits
	// Jobs run at certain times, Hooks are called by other programs, and
	// Maintenance says what is cleared away.
	Jobs        []timer.Job
	Hooks       map[string]Hook
	Maintenance maintenance.Settings
}

// triggers are the words that begin a new session.
func (s *Setup) triggers() route.Triggers {
	return route.Triggers{Words: s.Triggers, Model: func(word string) (string, bool) {
		i := slices.IndexFunc(s.Known, func(m wire.Model) bool { return m.ID == word || strings.HasSuffix(m.ID, "/"+word) })
		if i < 0 {
			return "", false
		}
		return s.Known[i].ID, true
	}}
}

// agent returns an agent by its id.
func (s *Setup) agent(id string) (*agent.Agent, error) {
	if id == "" {
		id = s.Default
	}
	if a, ok := s.Agents[id]; ok {
		return a, nil
	}
	return nil, s.unknownAgent(id)
}

// Gateway owns sessions. Its methods may be called from many goroutines.
type Gateway struct {
	Options
	// View shows the sessions.
	*view.View
	started time.Time
	setup   atomic.Pointer[Setup]
	events  hub
	feeds   feeds
	arrears arrears
	checks  checks
	// holdings is what there is, by source.
	holdings holdings
	// doors let one message of a key in at a time, so that two do not begin two
	// sessions.
	doors doors
	// waits knows which sessions wait for one another, delegated what they asked.
	waits     agent.Waits
	delegated delegations
	past      pastSessions
	// timer knows what is due. led: this gateway does it, of several; only who
	// keeps the time looks at that.
	timer timer.Timer
	led   bool

	mu     sync.Mutex
	lanes  map[firn.ID]*lane
	closed bool
	// retired are agents of earlier setups. Turns that began with them may still
	// run, or something in the background.
	retired []*agent.Agent
	// work is done when all lanes are at rest; ctx ends when turns must stop.
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// ErrDraining is why a turn is stopped when the gateway goes away, and why who
// listens is not told more.
var ErrDraining error = &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "ask again when it is back"}

// New makes a gateway. It owns nothing until it is asked for something: no
// session is opened.
func New(o Options) (*Gateway, error) {
	if o.Store == nil {
		return nil, fmt.Errorf("make a gateway: it has no store: %w", firn.ErrInvalid)
	}
	if o.List == nil {
		o.List = o.Store.List
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g := &Gateway{Options: o, started: o.Clock(), lanes: make(map[firn.ID]*lane)}
	g.View = view.New(view.Options{
		Store: o.Store, List: o.List, Agent: g.agentOf, Turns: func(ctx context.Context, id firn.ID) int { return g.turnsOf(ctx, id, "") },
		Dialect: o.Dialect, Encode: o.Encode, Resident: o.Resident, Clock: o.Clock, Narrow: g.narrow,
	}, view.Setup{})
	if o.Peers != nil {
		g.events.out = o.Peers.Tell
	}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	if err := g.Reload(o.Setup); err != nil {
		return nil, err
	}
	return g, nil
}

// Reload changes the setup. Turns that run go on with the one they began with.
func (g *Gateway) Reload(s Setup) error {
	if _, err := s.agent(""); err != nil {
		return fmt.Errorf("set up the gateway: %w", err)
	}
	if err := s.checkMachines(); err != nil {
		return fmt.Errorf("set up the gateway: %w", err)
	}
	for _, a := range s.Agents {
		if a.Resident == nil {
			a.Resident = g.View.Resident()
		}
		if a.Delegator == nil {
			a.Delegator = delegator{g, a.Name}
		}
	}
	if old := g.setup.Swap(&s); old != nil {
		g.mu.Lock()
		for id, a := range old.Agents {
			if s.Agents[id] != a {
				g.retired = append(g.retired, a)
			}
		}
		g.mu.Unlock()
	}
	// After the swap, so that what it remembers is of this setup.
	g.View.Reload(view.Setup{Known: s.Known, Models: s.Models, Zone: s.Zone})
	g.timer.Rouse()
	return nil
}

// Close lets the gateway go: no new turns are taken, those that run may finish
// until ctx ends and are then stopped, on record. What waits in queues is in
// the log and is answered by the next gateway. Who listens is told.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.timer.Stop()
	g.checks.stop()
	done := make(chan struct{})
	go func() {
		g.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		g.cancel(ErrDraining)
		<-done
	}
	g.cancel(ErrDraining)
	g.events.close()
	g.mu.Lock()
	agents := append(g.retired, slices.Collect(maps.Values(g.setup.Load().Agents))...)
	g.retired = nil
	g.mu.Unlock()
	var errs []error
	for _, a := range agents {
		errs = append(errs, a.Close())
	}
	return errors.Join(errs...)
}

// now is the time.
func (g *Gateway) now() time.Time { return g.Clock() }
