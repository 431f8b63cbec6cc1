package api

import (
	"context"
	"io"
	"iter"
	"net/textproto"

	"firn.dev"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// Gateway is the interface that the handlers call. It contains all operations of a
// [gateway.Gateway] that are available over HTTP.
type Gateway interface {
	sessionAPI
	removeAPI
	entryAPI
	cardAPI
	branchAPI
	compactAPI
	turnAPI
	keyAPI
	workAPI
	exchangeAPI
	searchAPI
	gateway.Notebook
	statusAPI
	dataAPI
	storedAPI
}

var _ Gateway = (*gateway.Gateway)(nil)

// sessionAPI finds, creates and changes sessions.
type sessionAPI interface {
	Children(ctx context.Context, id firn.ID) ([]wire.Session, error)
	Sessions(ctx context.Context, q gateway.SessionQuery) (wire.Page[wire.Session], error)
	Session(ctx context.Context, ref string) (wire.Session, error)
	Resolve(ctx context.Context, ref string) (firn.ID, error)
	NewSession(ctx context.Context, n wire.NewSession) (wire.Session, error)
	Patch(ctx context.Context, id firn.ID, p wire.Patch) (wire.Session, error)
}

// removeAPI removes, restores and purges sessions.
type removeAPI interface {
	Remove(ctx context.Context, id firn.ID, r wire.Remove) (wire.Removed, error)
	Restore(ctx context.Context, id firn.ID) (wire.Session, error)
	Purge(ctx context.Context, id firn.ID, e wire.Erase) (wire.Receipt, error)
	Bin(ctx context.Context) (wire.Bin, error)
	EmptyBin(ctx context.Context, e wire.EmptyBin) (wire.EmptiedBin, error)
}

// entryAPI reads and appends entries.
type entryAPI interface {
	Entries(ctx context.Context, id firn.ID, q view.EntryQuery) (wire.Page[wire.Entry], error)
	Append(ctx context.Context, id firn.ID, expect firn.Pos, n wire.NewEntries) (wire.Appended, error)
	Tree(ctx context.Context, id firn.ID, limit int, cursor string) (wire.Tree, error)
	Window(ctx context.Context, id firn.ID, as string) (wire.Window, error)
	Damage(ctx context.Context, id firn.ID) (wire.Page[wire.Damage], error)
	Label(ctx context.Context, id firn.ID, l wire.Label) (wire.Appended, error)
	Hide(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error)
	Show(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error)
}

// branchAPI forks and rewinds sessions.
type branchAPI interface {
	Fork(ctx context.Context, id firn.ID, f wire.Fork) (wire.Session, error)
	Rewind(ctx context.Context, id firn.ID, m wire.Move) (wire.Moved, error)
}

// compactAPI compacts windows and undoes compactions.
type compactAPI interface {
	Compactions(ctx context.Context, id firn.ID) ([]wire.Compaction, error)
	Compact(ctx context.Context, id firn.ID, q wire.Compact) (wire.Compacted, error)
	Undo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error)
	Redo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error)
}

// turnAPI runs turns and streams events.
type turnAPI interface {
	Turn(ctx context.Context, id firn.ID, t wire.Turn) (wire.Answer, error)
	StreamTurn(ctx context.Context, id firn.ID, t wire.Turn) iter.Seq2[wire.Event, error]
	Stop(ctx context.Context, id firn.ID) (bool, error)
	Events(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error]
	CheckPosition(ctx context.Context, id firn.ID, pos firn.Pos) error
	AllEvents(ctx context.Context) iter.Seq2[wire.Event, error]
	Inbound(ctx context.Context, in wire.Inbound) (wire.Routed, error)
}

// keyAPI is the routing table.
type keyAPI interface {
	Keys(ctx context.Context, q gateway.KeyQuery) (wire.Page[wire.Key], error)
	Key(ctx context.Context, key string) (wire.Key, error)
	PointKey(ctx context.Context, key string, id firn.ID) (wire.Key, error)
	RemoveKey(ctx context.Context, key string) (wire.Key, error)
	ResetKey(ctx context.Context, key string) (wire.Routed, error)
	ContinuePrevious(ctx context.Context, key string) (wire.Key, error)
	CanonicalKey(key string) (string, error)
	KeyOf(in wire.Inbound) (string, error)
}

// workAPI handles work started by programs: hooks, jobs and maintenance.
type workAPI interface {
	HookToken(name string) (string, error)
	HookSignature(name string) *gateway.Signature
	Hook(ctx context.Context, name string, body []byte, headers textproto.MIMEHeader) (wire.Routed, error)
	Jobs(ctx context.Context) ([]wire.Job, error)
	RunJob(ctx context.Context, id string) (wire.Routed, error)
	MaintainNow(ctx context.Context, enforce bool) (wire.Maintenance, error)
}

// statusAPI reports the state of the gateway.
type statusAPI interface {
	Running(ctx context.Context) []wire.Session
	Usage(ctx context.Context, q view.UsageQuery) (wire.Spending, error)
	Status(ctx context.Context) (wire.Status, error)
	Models(ctx context.Context) []wire.Model
	Agents(ctx context.Context) []wire.Agent
}

// exchangeAPI imports and exports sessions in the formats of other tools.
type exchangeAPI interface {
	Formats(ctx context.Context) []wire.Format
	Import(ctx context.Context, in wire.Import, body io.Reader) (wire.Imported, error)
	Export(ctx context.Context, id firn.ID, e wire.Export, w io.Writer) (wire.Fidelity, error)
}
