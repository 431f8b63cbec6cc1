// Package serve puts a gateway together from a home and its settings.
//
// It is the one package that knows all members of all families: the store in
// files with its index, the providers, the tools, and the gateway that is made
// of them. [Open] makes a [House] for commands that work in their own process;
// [Run] serves one to others until it is told to stop. Everything else sees
// contracts only.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/disk/limits"
	"firn.dev/internal/disk/vfs"
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
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/store/jetstream"
	"firn.dev/wire"
)

// Options says what a gateway is put together from. Settings and Env must be
// given; the rest has good zero values.
type Options struct {
	Settings *config.Settings
	// Env tells the variables of the environment.
	Env func(name string) string
	// Looks says that nothing will be changed. Then a home that is not there is
	// not made, and is taken for an empty one.
	Looks bool
	// Ephemeral keeps sessions in memory and writes nothing below the home: no sessions,
	// notes, indexes or locks. Sessions of the home are not seen.
	Ephemeral bool
	// Model must be one that can be asked; empty is any.
	Model string
	// Foreign is another tool's folder to work on instead of our own sessions.
	Foreign *Foreign
	// Local replaces what the settings say of tools; nil leaves it at that.
	Local *Local
	// Delay is how long the offline model takes for a word.
	Delay time.Duration
	// Report is told, in a sentence, of everything that was out of order. Nil:
	// nobody.
	Report  func(message string)
	Log     *slog.Logger
	Version string
	// Address is told in the status; empty means that the gateway is in the
	// process that asks.
	Address string
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
}

// House is a gateway with all that belongs to it.
type House struct {
	Gateway *gateway.Gateway
	// Handler answers requests. Those that come from this process must be marked
	// with [api.Owner].
	Handler *api.HTTP

	o Options
	// fs retries what finds no file descriptor; descriptors knows when there are
	// none.
	fs          vfs.FS
	descriptors *limits.Pool
	counts      *metrics.Set
	store       store.Store
	// transcript finds sessions of other tools as they lie on disk; nil if all
	// are our own.
	transcript func(ctx context.Context, id firn.ID) (convert.Source, error)
	// own are our own sessions, mirrors the folders of other tools; nil if they
	// are elsewhere.
	own     unionstore.Source
	mirrors *mirrors
	// cluster is our own store if it is one that several gateways share, else nil.
	cluster *jetstream.Store
	// peers are the other gateways that share it; nil if there can be none.
	peers *peers.Cluster
	// room and mirrored are what was found out about files a moment ago.
	room     kept[wire.Storage]
	mirrored kept[[]wire.Source]
	tokens   *token.Book
	mind     *mind
	finding  *finding
	guest    *guest
	// serves says that others are served, and not only who made it.
	serves bool
	// level is that of the log; nil if it cannot be changed. tracer is nil if
	// nothing is traced.
	level  *slog.LevelVar
	tracer *trace.Tracer

	closing sync.Once

	mu     sync.Mutex
	staffs []*staff
	// config is what is in force, agents those that were made of it.
	config config.Config
	agents map[string]*agent.Agent
}

// Open puts a gateway together for a command that works in this process. If
// somebody else serves the home the error is [firn.ErrLocked]. What is wrong
// with the options is found before anything is made.
func Open(o Options) (*House, error) {
	h, err := newHouse(o)
	if err != nil {
		return nil, err
	}
	if !h.o.Looks && !h.o.Ephemeral && h.o.Foreign == nil {
		if h.guest, err = newGuest(h.fs, h.home()); err != nil {
			return nil, err
		}
	}
	if err := h.furnish(); err != nil {
		return nil, errors.Join(err, h.Close(context.Background()))
	}
	return h, nil
}

// newHouse checks the options.
func newHouse(o Options) (*House, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &House{o: o, descriptors: new(limits.Pool), config: o.Settings.Config}
	h.fs = h.descriptors.FS(vfs.OS{})
	if o.Settings.Telemetry.Metrics {
		h.counts = metrics.New(o.Clock())
	}
	models := NewModels(o.Settings.Config, o.Env, o.Delay)
	for _, id := range o.Settings.AgentIDs() {
		a, _ := o.Settings.Agent(id)
		for _, name := range append([]string{a.Model}, a.Fallbacks...) {
			if _, err := models.Named(name); err != nil {
				return nil, fmt.Errorf("set up agent %s: %w", id, err)
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

// home is the directory that everything is in.
func (h *House) home() string { return h.o.Settings.Home }

// furnish opens the store and puts the gateway together.
func (h *House) furnish() error {
	h.openTracer()
	if err := errors.Join(h.openStore(), h.join()); err != nil {
		return err
	}
	h.mind = newMind(h.home(), h.o.Env, h.fs, h.store, h.o.Clock, h.o.Report)
	s := h.newStaff(h.o.Settings.Config)
	setup, err := h.setup(s)
	if err != nil {
		return err
	}
	h.Gateway, err = gateway.New(gateway.Options{
		Enter: h.enter(), Store: h.store, Dialect: native.New(), Tools: dialects.All(), Transcript: h.transcript, Encode: encode, Setup: setup, Memory: h.memory(), Index: h.index(), MaxLine: int64(h.o.Settings.Store.MaxLine), Resident: int64(h.o.Settings.Gateway.Resident),
		Clock: h.o.Clock, Log: h.o.Log, Version: h.o.Version, Home: h.home(), StorePath: h.storePath(), Address: h.o.Address,
		Tracer: h.tracer, Sources: h.sources, Keeping: h.keeping, EraseTyped: h.eraseTyped, Verify: h.verify, Source: h.source(), Peers: h.others(), Holder: h.holder, Revoked: h.watchToken,
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
		OpenAI: openaiapi.New(h.o.Clock).Handler, MCP: mcp.Handler(mcp.Options{Version: h.o.Version}), Web: pages(g.Web),
		Peers: h.owners(), Ready: h.ready,
	})
	return h.meet()
}

// memory is what agents note for good; nil if nothing may be written.
func (h *House) memory() gateway.Memory {
	if h.o.Ephemeral {
		return nil
	}
	return &memories{h}
}

// ready reports why the gateway cannot do its work: file descriptors have run
// out, or what [gateway.Gateway.Ready] finds.
func (h *House) ready(ctx context.Context) error {
	if err := h.descriptors.Short(); err != nil {
		return &wire.Problem{Kind: wire.Unavailable, Message: err.Error(), Hint: "raise the limit: ulimit -n, or LimitNOFILE of the service"}
	}
	return h.Gateway.Ready(ctx)
}

// pages are what browsers see; nil if they see nothing.
func pages(on bool) http.Handler {
	if !on {
		return nil
	}
	return webui.Handler()
}

// enter lets a guest wait for the turns of others; a gateway has the home alone.
func (h *House) enter() func(context.Context, firn.ID, func()) (func(), error) {
	if h.guest == nil {
		return nil
	}
	t := &turns{fs: h.fs, dir: filepath.Join(h.home(), filepath.FromSlash(turnsDir))}
	return t.enter
}

// storeDir is the directory that files of ours are in; false if the sessions are
// not.
func (h *House) storeDir() (string, bool) { return h.o.Settings.Store.Files(h.home()) }

// storePath is where the sessions are, as people look for it.
func (h *House) storePath() string {
	if f := h.o.Foreign; f != nil {
		return f.Dir
	}
	if dir, ok := h.storeDir(); ok {
		return filepath.Join(dir, "agents")
	}
	return h.o.Settings.Store.URL
}

// newStaff begins a set of agents.
func (h *House) newStaff(c config.Config) *staff {
	models := NewModels(c, h.o.Env, h.o.Delay)
	models.wrap = func(m provider.Model) provider.Model { return h.tracer.Model(h.counts.Model(m)) }
	s := &staff{
		home: h.home(), settings: c, local: h.o.Local, models: models, store: h.store, env: h.o.Env,
		clock: h.o.Clock, report: h.o.Report, fs: h.fs, mind: h.mind, around: h.around(), find: h.find, window: h.readWindow, past: h.past, indexThere: h.indexThere, ephemeral: h.o.Ephemeral,
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.staffs = append(h.staffs, s)
	return s
}

// Own is a transport to the gateway for a client in this process.
func (h *House) Own() http.Handler { return api.Owner(h.Handler) }

// Close lets everything go: turns that run may finish until ctx ends.
func (h *House) Close(ctx context.Context) error {
	h.settle(ctx)
	errs := []error{h.closeGateway(ctx), h.part(ctx)}
	h.finding.wait()
	if h.mind != nil {
		patience, cancel := context.WithTimeout(ctx, naming)
		h.mind.close(patience)
		cancel()
	}
	h.mu.Lock()
	for _, s := range h.staffs {
		errs = append(errs, s.close())
	}
	h.mu.Unlock()
	if h.tokens != nil {
		errs = append(errs, h.tokens.Close())
	}
	if h.store != nil {
		errs = append(errs, h.store.Close())
	}
	if h.guest != nil {
		errs = append(errs, h.guest.leave())
	}
	h.tracer.Close(ctx)
	return errors.Join(errs...)
}

// naming is how long the naming of a session may take when all else is done.
const naming = 3 * time.Second

// settle lets agents end what they do in the background, such as to find a name
// for a session, if that takes moments only.
func (h *House) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, naming)
	defer cancel()
	h.mu.Lock()
	agents := h.agents
	h.mu.Unlock()
	done := make(chan struct{})
	go func() { // which ends with the agents, that are closed next
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

// closeGateway lets the gateway go, once.
func (h *House) closeGateway(ctx context.Context) (err error) {
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
