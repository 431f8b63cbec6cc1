package sessionsync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/wire"
)

// Local is the sessions of this home, through the gateway that owns them.
type Local interface {
	// Holdings returns all sessions, including archived, removed and purged ones.
	Holdings(ctx context.Context) ([]store.Holding, error)
	// Lines yields the stored lines of a session.
	Lines(ctx context.Context, id firn.ID) iter.Seq2[[]byte, error]
	// End returns the end of a session, or ErrNotFound.
	End(ctx context.Context, id firn.ID) (firn.Pos, error)
	// Merge appends lines from another machine to a session and moves its head.
	Merge(ctx context.Context, id firn.ID, m wire.Merge, lines io.Reader) (wire.Merged, error)
	// Mark applies the marks of other machines to a session: archived, in the trash bin, purged.
	// It returns the receipt if it erased something.
	Mark(ctx context.Context, now store.Holding, want Marks, erase []firn.EntryID) (*store.Receipt, error)
}

// Options are the settings of one sync.
type Options struct {
	FS vfs.FS
	// Dir is the directory of sync in the home, Name the name of the target.
	Dir, Name string
	Config    *Config
	Identity  *Identity
	Local     Local
	// Notes are the notes of the home; nil if they are not synced.
	Notes  Notes
	Target Target
	// Republish publishes everything again, for a target that lost data.
	Republish bool
	Now       func() time.Time
	// Progress may be nil.
	Progress func(what string, done, total int64)
}

// Report is the result of a sync.
type Report struct {
	Target string    `json:"target"`
	Time   time.Time `json:"time"`
	// Imported and Published count entries, Sessions the sessions that got any.
	Imported  int   `json:"imported"`
	Sessions  int   `json:"sessions"`
	Published int   `json:"published"`
	Bytes     int64 `json:"bytes"`
	// Read is the number of sessions of this home that were read.
	Read int `json:"read"`
	// Kept is the number of sessions that stay on this machine.
	Kept int `json:"kept,omitempty"`
	// Marked is the number of sessions that were archived, removed, restored or purged as on
	// another machine.
	Marked int `json:"marked,omitempty"`
	// Changes are the changes of sessions that did not grow.
	Changes []SessionChange `json:"changes,omitempty"`
	// Notes is the number of notes that were changed as on another machine.
	Notes int `json:"notes,omitempty"`
	// PublishedNotes is the number of notes of this machine that were published.
	PublishedNotes int `json:"publishedNotes,omitempty"`
	// Heads are the sessions that grew on several machines.
	Heads []OtherHead `json:"heads,omitempty"`
	// Problems describes what was skipped and why, and losses on the target. The rest was synced.
	Problems []string `json:"problems,omitempty"`
	// Error is set if the sync failed.
	Error string `json:"error,omitempty"`
}

// OtherHead is the head of a session on another machine, which is on another branch.
type OtherHead struct {
	Session firn.ID      `json:"session"`
	Machine string       `json:"machine"`
	Entry   firn.EntryID `json:"entry"`
}

// run is the state of one sync.
type run struct {
	Options
	st     *state
	report *Report
	// holdings are the sessions of this home.
	holdings map[firn.ID]store.Holding
	// cached is the copy of a session that was read last.
	cached   *copyOf
	cachedID firn.ID
	end      firn.Pos
	// there are the entries that were read from the target, by session.
	there map[firn.ID]map[firn.EntryID]bool
	// touched are the sessions that got entries.
	touched map[firn.ID]bool
	// waiting are entries whose parents were not found yet.
	waiting []waitingGroup
	// failed are the manifests that could not be imported completely.
	failed map[place]bool
	marks  *markTable
	notes  noteTable
	// changes are the changes besides conversations.
	changes changeTable
}

// Run syncs this home with a target once: it imports new entries, then publishes its own.
// Another Run continues an interrupted one.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	report = &Report{Target: o.Name, Time: o.Now().UTC().Truncate(time.Second)}
	release, err := lockDir(o.FS, o.Dir)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, release()) }()
	r := &run{Options: o, report: report, there: make(map[firn.ID]map[firn.EntryID]bool), touched: make(map[firn.ID]bool), failed: make(map[place]bool), changes: newChangeTable()}
	if r.st, err = readState(o.FS, r.statePath()); err != nil {
		return report, err
	}
	if r.marks, err = readMarks(o.FS, o.Dir); err != nil {
		return report, err
	}
	r.st.Republish = r.st.Republish || o.Republish
	err = r.all(ctx)
	report.Sessions, report.Heads, report.Changes = len(r.touched), r.heads(), r.changes.list()
	if err != nil {
		report.Error = err.Error()
	}
	return report, errors.Join(err, r.save(), appendLog(o.FS, o.Dir, report))
}

func (r *run) statePath() string { return filepath.Join(r.Dir, r.Name, "state.json") }

// save saves the marks that were read, then the state, which says that they were read.
func (r *run) save() error {
	if r.marks.dirty {
		if err := r.marks.save(); err != nil {
			return err
		}
	}
	return writeJSON(r.FS, r.statePath(), r.st)
}

// all runs the steps of a sync.
func (r *run) all(ctx context.Context) error {
	known, err := checkTarget(ctx, r.Target)
	if err != nil {
		return err
	}
	if !known && len(r.st.Machines) > 0 {
		return failure.WithHint(failure.Of(firn.ErrNotFound, "the target %s has no %s", r.Name, markFile),
			"mount the share or restore the folder; to start over there: firn sync rm "+r.Name+", then firn sync add")
	}
	if !known {
		if err := r.Target.Put(ctx, markFile, []byte(mark)); err != nil {
			return err
		}
	}
	if err := r.hold(ctx); err != nil {
		return err
	}
	if err := r.observe(); err != nil {
		return err
	}
	if err := r.observeNotes(ctx); err != nil {
		return err
	}
	if err := r.exchange(ctx); err != nil {
		return err
	}
	if r.st.ReadAgain { // a session was replaced
		if err := r.exchange(ctx); err != nil {
			return err
		}
	}
	r.st.Last = r.report.Time
	return nil
}

// exchange imports, then publishes.
func (r *run) exchange(ctx context.Context) error {
	if err := r.pull(ctx); err != nil {
		return err
	}
	if err := r.applyMarks(ctx); err != nil {
		return err
	}
	if err := r.push(ctx); err != nil {
		return err
	}
	return r.eraseConflicts()
}

// hold reads the list of sessions.
func (r *run) hold(ctx context.Context) error {
	all, err := r.Local.Holdings(ctx)
	if err != nil {
		return err
	}
	r.holdings = make(map[firn.ID]store.Holding, len(all))
	for _, h := range all {
		r.holdings[h.ID] = h
	}
	return nil
}

// problem records a part that is skipped.
func (r *run) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, known := range r.report.Problems {
		if known == text {
			return
		}
	}
	r.report.Problems = append(r.report.Problems, text)
}

// lockDir locks the sync state of the home, so that two syncs do not run at once.
func lockDir(fsys vfs.FS, dir string) (release func() error, err error) {
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, err
	}
	file, err := fsys.Open(filepath.Join(dir, "lock"), vfs.Update)
	if err != nil {
		return nil, err
	}
	ok, err := file.TryLock()
	if err == nil && !ok {
		err = failure.WithHint(failure.Of(firn.ErrLocked, "another sync of this home is running"), "wait until it has ended")
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file.Close, nil
}
