// Package serve assembles a gateway from a home and its settings.
//
// It is the only package that knows all implementations: stores, indexes, providers, tools
// and the gateway. All other packages depend on interfaces. [Open] creates a [Instance] for a
// command that works in its own process; [Run] serves one until its context ends.
package serve

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/disk/limits"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/agui"
	"firn.dev/internal/door/anthropicapi"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/mcp"
	"firn.dev/internal/door/openaiapi"
	"firn.dev/internal/door/token"
	"firn.dev/internal/door/webui"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/formats/unionstore"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/metrics"
	"firn.dev/internal/gateway/trace"
	peers "firn.dev/internal/ops/cluster"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/mcpclient"
	"firn.dev/internal/ops/sessionsync"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/store/jetstream"
	"firn.dev/window"
	"firn.dev/wire"
)

// Options configures a gateway. Settings and Env are required.
type Options struct {
	Settings *config.Settings
	// Env returns the value of an environment variable.
	Env func(name string) string
	// ReadOnly opens the home read-only. A missing home is not created and counts as empty.
	ReadOnly bool
	// Ephemeral keeps sessions in memory and writes nothing to the home: no sessions,
	// notes, indexes or locks. The sessions of the home are not visible.
	Ephemeral bool
	// Model is a model that must be usable; empty means any.
	Model string
	// Foreign is another tool's folder to use instead of our own sessions.
	Foreign *Foreign
	// Local overrides the tool settings, if it is not nil.
	Local *Local
	// Delay is the time the offline model takes per word.
	Delay time.Duration
	// Report receives warnings, one sentence each. It may be nil.
	Report  func(message string)
	Log     *slog.Logger
	Version string
	// Address is the address shown in the status. It is empty if the gateway runs in the
	// calling process.
	Address string
	// Warm starts the MCP servers of agents in the background, because a turn is likely.
	Warm bool
	// Clock returns the current time; nil means time.Now.
	Clock func() time.Time
}

// Instance is a gateway with all its parts.
type Instance struct {
	Gateway *gateway.Gateway
	// Handler handles requests. Requests from this process must be marked with [api.Owner].
	Handler *api.HTTP

	o Options
	// shown are the settings that were read last, with their origins; nil means o.Settings.
	shown atomic.Pointer[config.Settings]
	// fs retries operations that fail for lack of file descriptors; descriptors reports a
	// shortage.
	fs          vfs.FS
	descriptors *limits.Pool
	counts      *metrics.Set
	store       store.Store
	// transcript returns another tool's session in its original form. It is nil if all
	// sessions are our own.
	transcript func(ctx context.Context, id firn.ID) (convert.Source, error)
	// own holds our own sessions, mirrors the folders of other tools. Both are nil if the
	// sessions are another tool's.
	own     unionstore.Source
	mirrors *mirrors
	// cluster is our own store if it can be shared by several gateways, else nil.
	cluster *jetstream.Store
	// peers are the other gateways that share the store; nil if there are none.
	peers *peers.Cluster
	// storageCache and sourcesCache hold recent figures about files.
	storageCache cached[wire.Storage]
	sourcesCache cached[[]wire.Source]
	tokens       *token.Book
	notes        *noteStore
	searchIndex  *searchIndex
	guest        *guest
	// mcp has the connections to MCP servers.
	mcp *mcpclient.Pool
	// emptyHome is the home if it had no sessions, else nil.
	emptyHome *emptyHome
	// serves is set if the gateway serves other processes.
	serves bool
	// level is the log level; nil if it cannot be changed. tracer is nil if tracing is
	// disabled.
	level  *slog.LevelVar
	tracer *trace.Tracer
	// redact is the setting session.redact.
	redact atomic.Bool

	closing sync.Once

	mu       sync.Mutex
	builders []*agentBuilder
	// config is the current configuration, agents the agents created from it.
	config config.Config
	agents map[string]*agent.Agent
}

// Open assembles a gateway for a command in this process. The error is [firn.ErrLocked] if
// another gateway serves the home. Options are validated before anything is created.
func Open(o Options) (*Instance, error) {
	h, err := newHouse(o)
	if err != nil {
		return nil, err
	}
	if !h.o.ReadOnly && !h.o.Ephemeral && h.o.Foreign == nil {
		h.emptyHome = findEmptyHome(h.fs, h.home())
		if h.guest, err = newGuest(h.fs, h.home()); err != nil {
			return nil, err
		}
	}
	if err := h.assemble(); err != nil {
		return nil, errors.Join(err, h.Close(context.Background()))
	}
	return h, nil
}

// newHouse validates the options.
func newHouse(o Options) (*Instance, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &Instance{o: o, descriptors: new(limits.Pool), config: o.Settings.Config, mcp: mcpclient.NewPool(o.Version, o.Log, time.Now)}
	h.fs = sealfs.Over(h.descriptors.FS(vfs.OS{}), o.Settings.Home)
	if o.Settings.Telemetry.Metrics {
		h.counts = metrics.New(o.Clock())
	}
	models := NewModels(o.Settings.Config, o.Env, o.Delay)
	for _, id := range o.Settings.AgentIDs() {
		a, _ := o.Settings.Agent(id)
		for _, name := range append([]string{a.Model}, a.Fallbacks...) {
			if _, err := models.Named(name); err != nil {
				return nil, wrongModel(o.Settings, id, name == a.Model, err)
			}
		}
	}
	if o.Model != "" {
		if err := models.Check(o.Model); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// home returns the home directory.
func (h *Instance) home() string { return h.o.Settings.Home }

// assemble opens the store and creates the gateway.
func (h *Instance) assemble() error {
	h.openTracer()
	if err := errors.Join(h.openStore(), h.joinCluster()); err != nil {
		return err
	}
	redactStore(h)
	h.notes = newNoteStore(h.home(), h.o.Env, h.fs, h.store, h.o.Clock, h.o.Report)
	s := h.newBuilder(h.o.Settings.Config)
	setup, err := h.setup(s)
	if err != nil {
		return err
	}
	h.Gateway, err = gateway.New(gateway.Options{
		Enter: h.enter(), Store: h.store, Dialect: native.New(), Tools: dialects.Readable(), Transcript: h.transcript, Encode: encode, Setup: setup, Memory: h.memory(), Index: h.index(), MaxLine: int64(h.o.Settings.Store.MaxLine), Resident: int64(h.o.Settings.Gateway.Resident),
		Clock: h.o.Clock, Log: h.o.Log, Version: h.o.Version, Home: h.home(), StorePath: h.storePath(), Address: h.o.Address,
		Tracer: h.tracer, Sources: h.sources, Keeping: h.storage, EraseTyped: h.eraseTyped, EraseConflicts: eraseConflicts(h), Approved: h.approved(), Files: h.rewinder(), Verify: h.verify, Source: h.source(), Peers: h.gatewayPeers(), MCP: h.mcpStatus, Scratch: scratch, Holder: h.holder, Revoked: h.watchToken,
	})
	if err != nil {
		return err
	}
	if h.tokens, err = h.openTokens(); err != nil {
		return err
	}
	g := h.o.Settings.Gateway
	h.Handler = api.Handler(h.Gateway, api.Config{
		Tokens: h.tokens, Hosts: g.AllowedHosts, Origins: g.AllowedOrigins, MaxBody: int64(g.BodyLimit), BodyTimeout: g.BodyTimeout,
		WriteTimeout: g.WriteTimeout, Patience: g.Patience, Requests: g.Requests, Streams: g.Streams, Turns: g.Turns,
		Heartbeat: g.Heartbeat, AnswerMemory: int64(g.AnswerMemory), Metrics: h.counts, Tracer: h.tracer, Log: h.o.Log, Version: h.o.Version,
		OpenAI: served(g, "openai", openaiapi.New(h.o.Clock).Handler), Anthropic: served(g, "anthropic", anthropicapi.New(h.o.Clock, window.Chars{}.CountMessage).Handler),
		AGUI: served(g, "ag-ui", agui.New(h.o.Clock).Handler), MCP: served(g, "mcp", mcp.Handler(mcp.Options{Version: h.o.Version})), Web: pages(g.Web),
		Peers: h.apiPeers(), Ready: h.ready, Settings: h.settingsList, SyncFiles: syncFiles(h),
	})
	if h.o.Warm {
		s.startMCP()
	}
	return h.startPeers()
}

// syncFiles returns what keeps the files of syncs of other machines. The gateways of a cluster keep none: each
// would have others.
func syncFiles(h *Instance) api.SyncFiles {
	if _, files := h.storeDir(); !files || h.o.Ephemeral {
		return nil
	}
	return sessionsync.NewKeeper(h.home())
}

// memory returns the notes of agents, or nil if nothing may be written.
func (h *Instance) memory() gateway.Memory {
	if h.o.Ephemeral {
		return nil
	}
	return &memories{h}
}

// ready returns an error if the gateway is not able to work: it is out of file descriptors,
// or [gateway.Gateway.Ready] fails.
func (h *Instance) ready(ctx context.Context) error {
	if err := h.descriptors.Short(); err != nil {
		return &wire.Problem{Kind: wire.Unavailable, Message: err.Error(), Hint: "raise the limit with ulimit -n, or LimitNOFILE of the service"}
	}
	return h.Gateway.Ready(ctx)
}

// served returns the handler of a protocol, or nil if the settings do not list it.
func served(g config.Gateway, protocol string, handler api.Foreign) api.Foreign {
	if !slices.Contains(g.Protocols, protocol) {
		return nil
	}
	return handler
}

// pages returns the handler of the web pages, or nil if they are disabled.
func pages(on bool) http.Handler {
	if !on {
		return nil
	}
	return webui.Handler()
}

// enter returns the function with which a guest waits for turns of other guests. It is nil
// for a gateway, which has exclusive use of the home.
func (h *Instance) enter() func(context.Context, firn.ID, func()) (func(), error) {
	if h.guest == nil {
		return nil
	}
	t := &turns{fs: h.fs, dir: filepath.Join(h.home(), filepath.FromSlash(turnsDir))}
	return t.enter
}

// storeDir returns the directory of our own session files. It returns false if the sessions
// are not in files.
func (h *Instance) storeDir() (string, bool) { return h.o.Settings.Store.Files(h.home()) }

// storePath returns the location of the sessions for display.
func (h *Instance) storePath() string {
	if f := h.o.Foreign; f != nil {
		return f.Dir
	}
	if dir, ok := h.storeDir(); ok {
		return filepath.Join(dir, "agents")
	}
	return h.o.Settings.Store.URL
}

// newBuilder creates an agentBuilder and makes it the current one.
func (h *Instance) newBuilder(c config.Config) *agentBuilder {
	models := NewModels(c, h.o.Env, h.o.Delay)
	models.wrap = func(m provider.Model) provider.Model { return h.tracer.Model(h.counts.Model(m)) }
	s := &agentBuilder{
		home: h.home(), settings: c, local: h.o.Local, models: models, store: h.store, env: h.o.Env,
		clock: h.o.Clock, report: h.o.Report, mcp: h.mcp, fs: h.fs, notes: h.notes, around: h.around(), find: h.find, window: h.readWindow, past: h.past, indexThere: h.indexThere, ephemeral: h.o.Ephemeral,
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.builders = append(h.builders, s)
	return s
}

// Own returns a handler for clients in this process, which act as the owner.
func (h *Instance) Own() http.Handler { return api.Owner(h.Handler) }

// Close shuts everything down. Running turns may finish until ctx ends.
func (h *Instance) Close(ctx context.Context) error {
	h.waitBackground(ctx)
	errs := []error{h.closeGateway(ctx), h.leaveCluster(ctx)}
	h.searchIndex.wait()
	if h.notes != nil {
		patience, cancel := context.WithTimeout(ctx, backgroundWait)
		h.notes.close(patience)
		cancel()
	}
	h.mu.Lock()
	for _, s := range h.builders {
		errs = append(errs, s.close())
	}
	h.mu.Unlock()
	if h.tokens != nil {
		errs = append(errs, h.tokens.Close())
	}
	errs = append(errs, h.mcp.Close(), h.closeStore())
	h.tracer.Close(ctx)
	return errors.Join(errs...)
}

// backgroundWait limits the wait for background work at shutdown, such as titling a
// session.
const backgroundWait = 3 * time.Second

// waitBackground waits for background work of agents, such as titling a session, for up to
// backgroundWait.
func (h *Instance) waitBackground(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, backgroundWait)
	defer cancel()
	h.mu.Lock()
	agents := h.agents
	h.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends when the agents are closed
		defer close(done)
		for _, a := range agents {
			a.Wait()
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// closeGateway shuts the gateway down, once.
func (h *Instance) closeGateway(ctx context.Context) (err error) {
	h.closing.Do(func() {
		if h.Handler != nil {
			h.Handler.Drain()
		}
		if h.Gateway != nil {
			err = h.Gateway.Close(ctx)
		}
	})
	return err
}
