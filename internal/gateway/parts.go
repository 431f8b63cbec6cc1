package gateway

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/gateway/maintenance"
	"firn.dev/internal/gateway/timer"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// The parts of a gateway. Each has its own state, and names the operations of other parts
// that it calls in small interfaces. [Gateway] embeds them all.

// core is shared by all parts of a gateway: its options, the reader of sessions, the setup,
// the events, and the work that runs.
type core struct {
	Options
	// View reads the sessions.
	*view.View
	started time.Time
	setup   atomic.Pointer[Setup]
	events  hub
	// locks serializes the messages of a key, so that two messages do not start two
	// sessions.
	locks namedLocks

	// mu guards closed and the set of lanes.
	mu     sync.Mutex
	closed bool
	// work counts running goroutines; ctx is canceled when turns must stop.
	work   sync.WaitGroup
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// access decides who may see and use what: the bounds of tokens, and the agent and profile
// that a caller may choose.
type access struct {
	*core
}

// lanes runs the turns of the sessions, one at a time per session.
type lanes struct {
	*core
	byID     map[firn.ID]*lane // guarded by core.mu
	recovery recoveryScan
	// waits records which sessions wait for one another, delegated their unanswered
	// delegated messages.
	waits     agent.WaitGraph
	delegated delegations
	// approvals are the questions that running turns wait for.
	approvals pendingAnswers
	access    interface {
		answerer(ctx context.Context, id firn.ID, name string) (string, error)
		boundsIn(ctx context.Context, a Asker, key string) (bounds route.Bounds, err error)
		holder(ctx context.Context, token string) (route.Bounds, bool, error)
	}
	inbox interface {
		postMachineMessage(ctx context.Context, id firn.ID, w waiting) (*ticket, error)
	}
	editor interface {
		createKeyed(ctx context.Context, header firn.Header, entries []firn.Entry) (firn.ID, error)
	}
}

// inbox handles messages that are routed by key: from channels, hooks and jobs.
type inbox struct {
	*core
	// timer holds the schedule. led is set if this gateway runs it, out of several; only
	// the scheduler goroutine uses it.
	timer     timer.Timer
	led       bool
	compactor interface {
		Compact(ctx context.Context, id firn.ID, c wire.Compact) (wire.Compacted, error)
	}
	keys interface {
		lifetimes(ctx context.Context, id firn.ID) (route.Times, error)
		startSession(ctx context.Context, k route.Key, s sessionStart) (firn.ID, error)
	}
	lanes interface {
		Stop(ctx context.Context, id firn.ID) (bool, error)
		acceptFrom(ctx context.Context, who Asker, id firn.ID, t wire.Turn, from messageSource) (_ *ticket, repeated bool, err error)
		answerTo(ctx context.Context, id firn.ID, message firn.EntryID, entry firn.EntryID) (wire.Answer, bool, error)
		enter(ctx context.Context, id firn.ID, t *ticket) error
		running(id firn.ID) bool
		verboseLines(ctx context.Context, answer wire.Answer) string
	}
	maintainer interface {
		Maintain(ctx context.Context, m maintenance.Settings, dryRun bool) (wire.Maintenance, error)
	}
	history interface {
		eachEarlier(ctx context.Context, key string, id firn.ID, visit func(id firn.ID, s *pastSession) (bool, error)) error
		findDelivered(ctx context.Context, key string, present firn.ID, message firn.EntryID) (found firn.ID, err error)
	}
	editor interface {
		Patch(ctx context.Context, id firn.ID, p wire.Patch) (wire.Session, error)
		threadSession(ctx context.Context, setup *Setup, r route.Route, subject string) (firn.ID, error)
	}
	reader interface {
		Session(ctx context.Context, ref string) (wire.Session, error)
	}
	remover interface {
		removed(ctx context.Context, id firn.ID) (bool, error)
		removedFor(ctx context.Context, id firn.ID, message firn.EntryID) (bool, error)
	}
}

// sessionReader lists and describes sessions, and the state of the gateway.
type sessionReader struct {
	*core
	// holdings caches the session counts per source.
	holdings holdings
	exchange interface {
		Formats(context.Context) []wire.Format
	}
	keys interface {
		resolveKey(ctx context.Context, key string) (firn.ID, error)
	}
	lanes interface {
		Load() (running int, queued int)
		allLanes() []*lane
		atWork(id firn.ID) bool
		load(id firn.ID) (live bool, queued int)
		waitingIn(id firn.ID) []wire.Waiting
	}
	maintainer interface {
		verified() *wire.Verified
	}
}

// sessionEditor creates, forks and changes sessions.
type sessionEditor struct {
	*core
	access interface {
		boundsIn(ctx context.Context, a Asker, key string) (bounds route.Bounds, err error)
		profile(ctx context.Context, a *agent.Agent, id firn.ID, name string, chosen string) (string, error)
	}
	exchange interface {
		tool(name string) (dialect.Tool, error)
	}
	keys interface {
		startSession(ctx context.Context, k route.Key, s sessionStart) (firn.ID, error)
		startingReset(ctx context.Context, id firn.ID) (resetMark, error)
	}
	lanes interface {
		hold(ctx context.Context, id firn.ID, what string) (leave func(), err error)
		mustBeIdle(id firn.ID, what string) error
		running(id firn.ID) bool
	}
	history interface {
		appendOnce(ctx context.Context, r request, id firn.ID, expect firn.Pos, entries []firn.Entry) (wire.Appended, error)
		confirmCreated(ctx context.Context, id firn.ID, err error) error
	}
	reader interface {
		session(ctx context.Context, id firn.ID) (wire.Session, error)
		updated(s wire.Session, err error) (wire.Session, error)
	}
	remover interface {
		removed(ctx context.Context, id firn.ID) (bool, error)
	}
}

// sessionRemover removes, restores and purges sessions.
type sessionRemover struct {
	*core
	lanes interface {
		mustBeIdle(id firn.ID, what string) error
	}
	notes interface {
		eraseNotes(ctx context.Context, id firn.ID, entries []firn.EntryID) (int, error)
	}
	editor interface {
		append(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (wire.Appended, error)
		setHidden(ctx context.Context, id firn.ID, target firn.EntryID, hide bool, reason string) (wire.Appended, error)
	}
	reader interface {
		forks(ctx context.Context, id firn.ID) iter.Seq2[firn.ID, error]
		session(ctx context.Context, id firn.ID) (wire.Session, error)
		updated(s wire.Session, err error) (wire.Session, error)
	}
}

// keyTable maps keys to sessions.
type keyTable struct {
	*core
}

// maintainer applies the retention policy and checks all sessions.
type maintainer struct {
	*core
	checks checks
	lanes  interface {
		running(id firn.ID) bool
	}
	remover interface {
		eraseDue(ctx context.Context, m maintenance.Settings, bin []store.Binned, report *wire.Maintenance, dryRun bool) error
		reportBin(ctx context.Context, report *wire.Maintenance) ([]store.Binned, error)
	}
}

// eventFeeds streams the events of sessions to listeners.
type eventFeeds struct {
	*core
	feeds feeds
}

// notebook gives access to the notes of agents.
type notebook struct {
	*core
}

// compactor compacts sessions and undoes compactions.
type compactor struct {
	*core
	lanes interface {
		mustBeIdle(id firn.ID, what string) error
	}
	history interface {
		recordsBy(ctx context.Context, id firn.ID, r request) iter.Seq2[firn.Record, error]
	}
}

// exchanger imports and exports sessions in the formats of other tools.
type exchanger struct {
	*core
	editor interface {
		append(ctx context.Context, id firn.ID, expect firn.Pos, entries ...firn.Entry) (wire.Appended, error)
	}
	reader interface {
		Session(ctx context.Context, ref string) (wire.Session, error)
	}
}

// messageHistory finds messages and records that a repeated request has already added.
type messageHistory struct {
	*core
	past pastSessions
	keys interface {
		createdAt(ctx context.Context, id firn.ID) (time.Time, error)
		isPredecessor(ctx context.Context, previous firn.ID, current firn.ID, key string) (bool, error)
		startingReset(ctx context.Context, id firn.ID) (resetMark, error)
	}
	editor interface {
		appendAll(ctx context.Context, id firn.ID, expect firn.Pos, entries []firn.Entry) (wire.Appended, error)
	}
}

// build creates the parts of a gateway around its core, and gives each the operations of
// other parts that it calls.
func (g *Gateway) build(c *core) {
	g.core = c
	g.access = &access{core: c}
	g.lanes = &lanes{core: c, byID: make(map[firn.ID]*lane)}
	g.inbox = &inbox{core: c}
	g.sessionReader = &sessionReader{core: c}
	g.sessionEditor = &sessionEditor{core: c}
	g.sessionRemover = &sessionRemover{core: c}
	g.keyTable = &keyTable{core: c}
	g.maintainer = &maintainer{core: c}
	g.eventFeeds = &eventFeeds{core: c}
	g.notebook = &notebook{core: c}
	g.compactor = &compactor{core: c}
	g.exchanger = &exchanger{core: c}
	g.messageHistory = &messageHistory{core: c}
	g.connect()
}

// connect gives each part the operations of other parts that it calls.
func (g *Gateway) connect() {
	g.lanes.access = g.access
	g.lanes.inbox = g.inbox
	g.lanes.editor = g.sessionEditor
	g.inbox.compactor = g.compactor
	g.inbox.keys = g.keyTable
	g.inbox.lanes = g.lanes
	g.inbox.maintainer = g.maintainer
	g.inbox.history = g.messageHistory
	g.inbox.editor = g.sessionEditor
	g.inbox.reader = g.sessionReader
	g.inbox.remover = g.sessionRemover
	g.sessionReader.exchange = g.exchanger
	g.sessionReader.keys = g.keyTable
	g.sessionReader.lanes = g.lanes
	g.sessionReader.maintainer = g.maintainer
	g.sessionEditor.access = g.access
	g.sessionEditor.exchange = g.exchanger
	g.sessionEditor.keys = g.keyTable
	g.sessionEditor.lanes = g.lanes
	g.sessionEditor.history = g.messageHistory
	g.sessionEditor.reader = g.sessionReader
	g.sessionEditor.remover = g.sessionRemover
	g.sessionRemover.lanes = g.lanes
	g.sessionRemover.notes = g.notebook
	g.sessionRemover.editor = g.sessionEditor
	g.sessionRemover.reader = g.sessionReader
	g.maintainer.lanes = g.lanes
	g.maintainer.remover = g.sessionRemover
	g.compactor.lanes = g.lanes
	g.compactor.history = g.messageHistory
	g.exchanger.editor = g.sessionEditor
	g.exchanger.reader = g.sessionReader
	g.messageHistory.keys = g.keyTable
	g.messageHistory.editor = g.sessionEditor
}
