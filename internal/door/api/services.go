package api

import (
	"context"
	"io"
	"iter"
	"net/textproto"
	"time"

	"firn.dev"
	"firn.dev/internal/gateway"
	"firn.dev/internal/gateway/view"
	"firn.dev/wire"
)

// Services are the operations of a gateway that are available over HTTP, by resource. Each
// group of handlers gets the one that it calls. Sizes, Claims, Load and Ready may be nil.
type Services struct {
	Lookup      lookupAPI
	Sizes       sizeAPI
	Claims      claimAPI
	Sessions    sessionAPI
	Bin         binAPI
	Entries     entryAPI
	Branches    branchAPI
	Compactions compactionAPI
	Turns       turnAPI
	Events      eventAPI
	Keys        keyAPI
	Status      statusAPI
	Usage       usageAPI
	Work        workAPI
	Signatures  signatureAPI
	Search      searchAPI
	Memory      gateway.Notebook
	Exchange    exchangeAPI
	Files       fileAPI
	Stored      storedAPI
	// Load reports the number of lanes and of queued messages, and Ready whether the gateway
	// can work.
	Load  func() (lanes, queued int)
	Ready func(context.Context) error
}

// ServicesOf returns the services of a gateway.
func ServicesOf(g *gateway.Gateway) Services {
	return Services{
		Lookup:      g,
		Sizes:       g,
		Claims:      g,
		Sessions:    g,
		Bin:         g,
		Entries:     g,
		Branches:    g,
		Compactions: g,
		Turns:       g,
		Events:      g,
		Keys:        g,
		Status:      g,
		Usage:       g,
		Work:        g,
		Signatures:  g,
		Search:      g,
		Memory:      g,
		Exchange:    g,
		Files:       g,
		Stored:      g,
		Load:        g.Load, Ready: g.Ready,
	}
}

// lookupAPI finds the session or key that a request names.
type lookupAPI interface {
	Resolve(ctx context.Context, ref string) (firn.ID, error)
	Session(ctx context.Context, ref string) (wire.Session, error)
	CanonicalKey(key string) (string, error)
}

// sizeAPI returns the size of a session after a position, and the position of its end.
type sizeAPI interface {
	Size(ctx context.Context, id firn.ID, after firn.Pos) (bytes int64, end firn.Pos, err error)
}

// claimAPI finds the session or key that a request changes, so that its owner can handle it.
type claimAPI interface {
	ClaimOf(ctx context.Context, key string) (gateway.Claim, error)
	HookKey(name string) string
	CanonicalKey(key string) (string, error)
	KeyOf(in wire.Inbound) (string, error)
}

// sessionAPI finds, creates and changes sessions.
type sessionAPI interface {
	Sessions(ctx context.Context, q gateway.SessionQuery) (wire.Page[wire.Session], error)
	Session(ctx context.Context, ref string) (wire.Session, error)
	NewSession(ctx context.Context, n wire.NewSession) (wire.Session, error)
	Patch(ctx context.Context, id firn.ID, p wire.Patch) (wire.Session, error)
	Children(ctx context.Context, id firn.ID) ([]wire.Session, error)
	Batch(ctx context.Context, b wire.Batch) ([]wire.BatchResult, error)
	Tags(ctx context.Context) ([]wire.Tag, error)
	Sources(ctx context.Context) ([]wire.Source, error)
}

// binAPI removes, restores and purges sessions.
type binAPI interface {
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
	// Entry returns one complete entry by reference.
	Entry(ctx context.Context, id firn.ID, ref string, html bool) (wire.Entry, error)
	// Image returns image n of an entry, counted from 1, and its media type.
	Image(ctx context.Context, id firn.ID, ref string, n int) ([]byte, string, error)
	Verify(ctx context.Context) (wire.Verified, error)
}

// branchAPI forks and rewinds sessions, and marks entries.
type branchAPI interface {
	Fork(ctx context.Context, id firn.ID, f wire.Fork) (wire.Session, error)
	Rewind(ctx context.Context, id firn.ID, m wire.Move) (wire.Moved, error)
	Label(ctx context.Context, id firn.ID, l wire.Label) (wire.Appended, error)
	Hide(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error)
	Show(ctx context.Context, id firn.ID, h wire.Hide) (wire.Appended, error)
	Course(ctx context.Context, id firn.ID, head string, part wire.TurnRange) (wire.Course, error)
}

// compactionAPI compacts windows and undoes compactions.
type compactionAPI interface {
	Compactions(ctx context.Context, id firn.ID) ([]wire.Compaction, error)
	Compact(ctx context.Context, id firn.ID, q wire.Compact) (wire.Compacted, error)
	Undo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error)
	Redo(ctx context.Context, id firn.ID, compaction firn.EntryID) (wire.Compaction, error)
	Compacted(ctx context.Context, id firn.ID, compaction string) (wire.CompactionDetail, error)
}

// turnAPI runs turns.
type turnAPI interface {
	Turn(ctx context.Context, id firn.ID, t wire.Turn) (wire.Answer, error)
	StreamTurn(ctx context.Context, id firn.ID, t wire.Turn) iter.Seq2[wire.Event, error]
	AnswerOnce(ctx context.Context, q wire.Once) iter.Seq2[wire.Event, error]
	StopAll(ctx context.Context, id firn.ID) (wire.Stopped, error)
	ChangeQueue(ctx context.Context, id firn.ID, c wire.QueueChange) (wire.Queue, error)
	Approvals(ctx context.Context, id firn.ID) ([]wire.Approval, error)
	AnswerApproval(ctx context.Context, id firn.ID, call string, a wire.ApprovalAnswer) (wire.ApprovalAnswer, error)
	AnswerCall(ctx context.Context, id firn.ID, call string, r wire.ClientResult) (wire.CallAccepted, error)
	Inbound(ctx context.Context, in wire.Inbound) (wire.Routed, error)
	KeyOf(in wire.Inbound) (string, error)
}

// eventAPI streams events.
type eventAPI interface {
	Events(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error]
	// PageEvents is like Events, with entries rendered as cards and growing text as HTML.
	PageEvents(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error]
	AllEvents(ctx context.Context) iter.Seq2[wire.Event, error]
	CheckPosition(ctx context.Context, id firn.ID, pos firn.Pos) error
	Session(ctx context.Context, ref string) (wire.Session, error)
}

// keyAPI is the routing table.
type keyAPI interface {
	Keys(ctx context.Context, q gateway.KeyQuery) (wire.Page[wire.Key], error)
	Key(ctx context.Context, key string) (wire.Key, error)
	PointKey(ctx context.Context, key string, id firn.ID) (wire.Key, error)
	RemoveKey(ctx context.Context, key string) (wire.Key, error)
	ResetKey(ctx context.Context, key string) (wire.Routed, error)
	ContinuePrevious(ctx context.Context, key string) (wire.Key, error)
}

// statusAPI reports the state of the gateway.
type statusAPI interface {
	Status(ctx context.Context) (wire.Status, error)
	Running(ctx context.Context) []wire.Session
	Agents(ctx context.Context) []wire.Agent
	Models(ctx context.Context, local bool) []wire.Model
	Ops(ctx context.Context) (wire.Ops, error)
}

// usageAPI reports the used tokens.
type usageAPI interface {
	Usage(ctx context.Context, q view.UsageQuery) (wire.Spending, error)
	UsageReport(ctx context.Context, since time.Time) (wire.UsageReport, error)
}

// workAPI runs work started by programs: hooks, jobs and maintenance.
type workAPI interface {
	HookToken(name string) (string, error)
	Hook(ctx context.Context, name string, body []byte, headers textproto.MIMEHeader) (wire.Routed, error)
	Jobs(ctx context.Context) ([]wire.Job, error)
	RunJob(ctx context.Context, id string) (wire.Routed, error)
	MaintainNow(ctx context.Context, enforce bool) (wire.Maintenance, error)
}

// signatureAPI finds the signature that a hook requires.
type signatureAPI interface {
	HookSignature(name string) *gateway.Signature
}

// searchAPI searches sessions and maintains the index.
type searchAPI interface {
	Search(ctx context.Context, q wire.SearchQuery, owners gateway.Owners) (wire.Found, error)
	IndexState(ctx context.Context) (wire.IndexState, error)
	Reindex(ctx context.Context) (wire.IndexState, error)
	CheckIndex(ctx context.Context) (wire.IndexReport, error)
}

// exchangeAPI imports and exports sessions in the formats of other tools.
type exchangeAPI interface {
	Formats(ctx context.Context) []wire.Format
	Import(ctx context.Context, in wire.Import, body io.Reader) (wire.Imported, error)
	Export(ctx context.Context, id firn.ID, e wire.Export, w io.Writer) (wire.Fidelity, error)
}

// storedAPI reads all sessions in the form in which they are stored, and merges entries of
// other machines into them.
type storedAPI interface {
	Stored(ctx context.Context) iter.Seq2[wire.StoreLine, error]
	WriteLines(ctx context.Context, id firn.ID, w io.Writer) error
	MergeStored(ctx context.Context, id firn.ID, m wire.Merge, body io.Reader) (wire.Merged, error)
}
