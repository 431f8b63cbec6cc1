// Package gateway runs sessions: it accepts messages, runs turns one at a time per session,
// and publishes events to listeners.
//
// [Gateway] is the main type. Its methods use the types of package wire and know nothing of
// HTTP; package api exposes them. Reading is done by the embedded [view.View], scheduling
// by package timer, and retention is decided by package maintenance. All state is in the
// store, so after a crash the next gateway answers every message that was accepted.
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
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/gateway/filerewind"
	"firn.dev/internal/gateway/maintenance"
	"firn.dev/internal/gateway/timer"
	"firn.dev/internal/gateway/trace"
	"firn.dev/internal/gateway/view"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/wire"
)

// Options configures a gateway. Store and Setup are required.
type Options struct {
	Store store.Store
	// List lists sessions faster than the store; nil means the store.
	List func(ctx context.Context, q store.Query) iter.Seq2[store.Info, error]
	// Dialect decodes the entries that clients append as lines.
	Dialect dialect.Decoder
	// Tools are the formats for import and export.
	Tools []dialect.Tool
	// Transcript returns the original transcript of a session of another tool; nil means
	// that all sessions are native.
	Transcript func(ctx context.Context, id firn.ID) (convert.Source, error)
	// Encode encodes a request as the provider of a model would receive it; nil if
	// unsupported.
	Encode func(model provider.Model, req provider.Request) ([]byte, error)
	Setup  Setup
	// MaxLine is the longest line of an imported transcript, in bytes; zero means no limit.
	MaxLine int64
	// Scratch returns an empty store in memory, for answers that are not stored; nil means
	// that all are.
	Scratch func() store.Store
	// Index is the search index; nil if there is none.
	Index Index
	// Files rewinds files that tools changed; nil if their contents are not kept.
	Files *filerewind.Rewinder
	// Memory stores the notes of agents; nil if there is none.
	Memory Memory
	// Enter waits until no other process runs a turn of the session and calls waits if it
	// has to wait; leave releases the session. Nil means that there are no other processes.
	Enter func(ctx context.Context, id firn.ID, waits func()) (leave func(), err error)
	// Holder looks up the bounds of a token; if nil, a token gives access only to the
	// session it is used in.
	Holder Holder
	// Revoked calls ended when a token is revoked, immediately if it is already, until stop
	// is called. ended must not block. Nil means that tokens are never revoked.
	Revoked func(token string, ended func()) (stop func())
	// Approved stores the rules that users added with their answers; nil means that answers
	// apply to single calls only.
	Approved RuleStore
	// MCP describes the MCP servers that agents use; nil if there are none.
	MCP func() []wire.MCPServer
	// Peers are the other gateways that serve the same sessions; nil if there are none. If
	// set, Enter is not used.
	Peers Peers
	// Sources lists the mirrored folders of other tools, without session counts. Nil means
	// none.
	Sources func(ctx context.Context) ([]wire.Source, error)
	// Keeping returns the disk usage, except that of the sessions; nil if unknown.
	Keeping func(ctx context.Context) (wire.Storage, error)
	// Verify reads every byte of all sessions and reports after each one. Nil if
	// unsupported.
	Verify func(ctx context.Context, report func(VerifyStep)) error
	// Source reads all native sessions as the store holds them; nil if unsupported.
	Source store.Source
	// EraseTyped removes texts from the input history of this home and returns the number
	// of removed lines; nil if there is no history.
	EraseTyped func(texts []string) (int, error)
	// EraseConflicts removes entries of a session that a sync kept aside; all without IDs.
	// Nil if nothing is synced.
	EraseConflicts func(id firn.ID, entries ...firn.EntryID) error
	// Resident limits the bytes of live sessions kept in memory; zero means 64 MB.
	Resident int64
	// Clock returns the current time; nil means time.Now. Log receives log messages; nil
	// discards them.
	Clock func() time.Time
	Log   *slog.Logger
	// Tracer traces turns; nil disables tracing.
	Tracer *trace.Tracer
	// Version, Home, StorePath and Address are reported in the status.
	Version, Home, StorePath, Address string
}

// Setup is the part of the configuration that can change at run time.
type Setup struct {
	// Agents are the agents by ID; Default is used if none is named.
	Agents  map[string]*agent.Agent
	Default string
	// Models finds a model by provider name and model name.
	Models func(providerName, model string) (provider.Model, error)
	// Profile finds a credential profile by provider name, as recorded in answers, and
	// profile name, and returns it as PROVIDER/PROFILE; nil if there are none.
	Profile func(providerName, name string) (string, error)
	// Known lists the models that can be chosen; nil lists none. It is called when they are
	// needed. Local asks the servers on this machine for theirs; nil asks none.
	Known func() []wire.Model
	Local func(context.Context) []wire.Model
	// Queue is the policy for messages that arrive during a turn. Queues overrides it per
	// channel.
	Queue  route.Queue
	Queues map[string]route.Queue
	// Route maps inbound messages to agents and keys. Resets determines when sessions
	// expire, in Zone. Triggers are the words that start a new session; nil means /new and
	// /reset. Send is the policy for delivering answers.
	Route    route.Config
	Resets   route.Resets
	Zone     *time.Location
	Triggers []string
	Send     route.SendPolicy
	// ThreadHistory is the maximum number of tokens of a conversation that a new thread in
	// it starts with a copy of; 0 means that threads start empty.
	ThreadHistory int64
	// Commands determines who may use which commands in messages.
	Commands route.CommandPolicy
	// Habits are settings of single agents, by ID, that override the general ones.
	Habits map[string]AgentSettings
	// Terminal is set if the tools of the agents act where the process runs, in the directory
	// of its user, as in a chat without a gateway. Messages are marked, so that no other
	// gateway continues their turns with other tools.
	Terminal bool
	// Jobs run on a schedule, Hooks are called by other programs, Maintenance is the
	// retention policy.
	Jobs        []timer.Job
	Hooks       map[string]Hook
	Maintenance maintenance.Settings
}

// View returns the part of the setup that views use.
func (s *Setup) View() view.Setup { return view.Setup{Known: s.Known, Models: s.Models, Zone: s.Zone} }

// triggers returns the words that start a new session.
func (s *Setup) triggers() route.Triggers {
	return route.Triggers{Words: s.Triggers, Model: func(word string) (string, bool) {
		all := s.View().KnownModels()
		i := slices.IndexFunc(all, func(m wire.Model) bool { return m.ID == word || strings.HasSuffix(m.ID, "/"+word) })
		if i < 0 {
			return "", false
		}
		return all[i].ID, true
	}}
}

// agent returns an agent by ID; an empty ID means the default agent.
func (s *Setup) agent(id string) (*agent.Agent, error) {
	if id == "" {
		id = s.Default
	}
	if a, ok := s.Agents[id]; ok {
		return a, nil
	}
	return nil, s.unknownAgent(id)
}

// Gateway runs sessions. Its methods are those of its parts. They are safe for concurrent
// use.
type Gateway struct {
	*core
	*access
	*lanes
	*inbox
	*sessionReader
	*sessionEditor
	*sessionRemover
	*keyTable
	*maintainer
	*eventFeeds
	*notebook
	*compactor
	*exchanger
	*messageHistory
	fileCalls
	// retired are agents of earlier setups, guarded by core.mu. Their turns or background
	// work may still be running.
	retired []*agent.Agent
}

// ErrDraining is the cause of turns that are stopped because the gateway is shutting down.
var ErrDraining error = &wire.Problem{Kind: wire.Closing, Message: "the gateway is shutting down", Hint: "try again when it is back"}

// New returns a gateway. It does not open any session.
func New(o Options) (*Gateway, error) {
	if o.Store == nil {
		return nil, fmt.Errorf("create gateway: no store: %w", firn.ErrInvalid)
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
	g := &Gateway{}
	g.build(&core{Options: o, started: o.Clock()})
	g.fileCalls = fileCalls{g}
	g.View = view.New(view.Options{
		Store: o.Store, List: o.List, Agent: g.agentOf, Turns: func(ctx context.Context, id firn.ID) int { return g.turnsOf(ctx, id, "") },
		Dialect: o.Dialect, Encode: o.Encode, Resident: o.Resident, Clock: o.Clock, Narrow: g.boundsOfEntry,
	}, view.Setup{})
	if o.Peers != nil {
		g.events.out = o.Peers.Publish
	}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	if err := g.Reload(o.Setup); err != nil {
		return nil, err
	}
	return g, nil
}

// Reload replaces the setup. Running turns continue with the old one.
func (g *Gateway) Reload(s Setup) error {
	if _, err := s.agent(""); err != nil {
		return fmt.Errorf("set up gateway: %w", err)
	}
	if err := s.checkMachines(); err != nil {
		return fmt.Errorf("set up gateway: %w", err)
	}
	for _, a := range s.Agents {
		if a.Resident == nil {
			a.Resident = g.View.Resident()
		}
		if a.Delegator == nil {
			a.Delegator = delegator{g.lanes, a.Name}
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
	// After the swap, so that the view caches data of this setup only.
	g.View.Reload(s.View())
	g.timer.Wake()
	return nil
}

// Close shuts the gateway down. It accepts no new turns. Running turns may finish until ctx
// ends and are then stopped, which is recorded. Queued messages stay in the log and are
// answered by the next gateway. Listeners are notified.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.timer.Stop()
	g.checks.stop()
	g.approvals.suspend()
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

func (g *core) now() time.Time { return g.Clock() }
