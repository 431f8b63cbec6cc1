package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/provider"
)

// Dreamer consolidates a folder. Dir and Sessions are required.
type Dreamer struct {
	Dir *Dir
	// Sessions lists the new or changed conversations of the folder, latest first.
	Sessions func(ctx context.Context, is ChangeFilter) ([]Session, error)
	// Model helps to find related facts; nil means without a model.
	Model   provider.Model
	Backoff provider.Backoff
	// Keep reports whether a fact belongs to this folder; nil means all do.
	Keep     func(Fact) bool
	Familiar []string
	// Owner identifies the lock holder to other processes.
	Owner string
	Gates DreamGates
}

// ChangeFilter reports whether a conversation is new or has changed, according to its mark. It must
// be called for every conversation of the folder.
type ChangeFilter func(id firn.ID, mark string) bool

// Session is a conversation that may have new facts.
type Session struct {
	ID firn.ID
	// Mark changes whenever the conversation does. A conversation without one always counts
	// as new.
	Mark string
	// Path reads the entries up to its head; older means that there are earlier ones.
	Path func(ctx context.Context) (entries []firn.Entry, older bool, err error)
	// Notes holds the notes that may have been injected into the conversation.
	Notes Shelf
}

// DreamGates are the conditions for a consolidation. The zero value means the defaults.
type DreamGates struct {
	// Every is the minimum time since the last consolidation; zero means 24 hours. Sessions
	// is the minimum number of new conversations; zero means 5. Stale is the age at which
	// another process's lock is ignored; zero means an hour.
	Every    time.Duration
	Sessions int
	Stale    time.Duration
}

func (g DreamGates) withDefaults() DreamGates {
	return DreamGates{cmp.Or(g.Every, 24*time.Hour), cmp.Or(g.Sessions, 5), cmp.Or(g.Stale, time.Hour)}
}

// Gate is a condition that prevents a consolidation.
type Gate string

// The gates in the order in which they are checked: the cheapest first.
const (
	GateTime     Gate = "time"
	GateSessions Gate = "sessions"
	GateLock     Gate = "lock"
)

// shutByTime reports whether the time gate is shut.
func (g DreamGates) shutByTime(last, now time.Time) bool {
	return !last.IsZero() && now.Sub(last) < g.Every
}

// The phases of a consolidation.
const (
	PhaseOrient      = "orient"
	PhaseGather      = "gather"
	PhaseConsolidate = "consolidate"
	PhasePrune       = "prune"
)

// DreamOptions are the options of a consolidation.
type DreamOptions struct {
	// Plan only returns the changes that would be made: nothing is written or locked.
	Plan bool
	// Now ignores the time since the last consolidation and the number of new
	// conversations.
	Now bool
}

// Dream is the result of a consolidation.
type Dream struct {
	// Shut is the gate that prevented it; empty if it ran.
	Shut Gate
	// Why explains Shut.
	Why string
	// Sessions is the number of conversations examined, Found the number of facts in them,
	// Notes the number of notes.
	Sessions, Found, Notes int
	// Change is the change made, or with Plan the planned one. It has no edits if there was
	// nothing to do.
	Change Change
	// Usage is the usage of models.
	Usage firn.Usage
	// Fallbacks lists why no model was used, where that happened.
	Fallbacks []string
}

// The limits of one consolidation. Conversations beyond maxSessions are left for the next
// one.
const (
	maxSessions = 64
	maxFacts    = 500
	dreamTries  = 3
)

// Dream consolidates the folder if the gates are open. Its phases: orient reads the notes;
// gather extracts facts from new conversations; consolidate adds them, makes dates
// absolute, merges duplicates and supersedes outdated facts; prune updates the index. All
// of it takes effect in one step at the end. If ctx ends before, nothing has changed.
func (d *Dreamer) Dream(ctx context.Context, o DreamOptions) (dream Dream, err error) {
	g := d.Gates.withDefaults()
	state, err := d.Dir.State()
	if err != nil {
		return dream, err
	}
	if !o.Now && g.shutByTime(state.last(), d.Dir.clock()) {
		return Dream{Shut: GateTime, Why: "the last time was " + state.last().UTC().Format(time.RFC3339)}, nil
	}
	news, err := d.news(ctx)
	if err != nil {
		return dream, fmt.Errorf("find new conversations: %w", err)
	}
	if !o.Now && news.fresh < g.Sessions {
		return Dream{Shut: GateSessions, Why: fmt.Sprintf("%d of %d new conversations", news.fresh, g.Sessions)}, nil
	}
	if o.Plan {
		return d.plan(ctx, news)
	}
	claim, err := d.Dir.claim(ctx, d.Owner, g.Stale)
	if errors.Is(err, firn.ErrLocked) {
		return Dream{Shut: GateLock, Why: err.Error()}, nil
	}
	if err != nil {
		return dream, err
	}
	defer func() { err = errors.Join(err, d.Dir.release(claim)) }()
	// Another process may have done it meanwhile.
	if state, err = d.Dir.State(); err != nil {
		return dream, err
	}
	if !o.Now && g.shutByTime(state.last(), d.Dir.clock()) {
		return Dream{Shut: GateTime, Why: "another process has just done it"}, nil
	}
	// Work beyond the lifetime of the lock would be lost.
	ctx, cancel := context.WithTimeout(ctx, g.Stale*9/10)
	defer cancel()
	return d.dream(ctx, news, claim)
}

// news returns the conversations to examine.
func (d *Dreamer) news(ctx context.Context) (news, error) {
	before, err := d.Dir.seen()
	if err != nil {
		return news{}, err
	}
	return newsOf(before, func(is ChangeFilter) ([]Session, error) { return d.Sessions(ctx, is) })
}

// plan returns the changes that a consolidation would make.
func (d *Dreamer) plan(ctx context.Context, news news) (Dream, error) {
	var dream Dream
	gathered, err := d.gather(ctx, &dream, news)
	if err != nil {
		return dream, err
	}
	draft, _, err := d.consolidate(ctx, &dream, gathered, nil)
	if err != nil {
		return dream, err
	}
	draft.dropUnchanged()
	dream.Change = draft.Change
	dream.Change.ID = "" // a plan is not stored
	return dream, nil
}

// dream runs all phases. If notes are edited meanwhile, it consolidates once more, without
// extracting facts or calling models again.
func (d *Dreamer) dream(ctx context.Context, news news, claim Claim) (dream Dream, err error) {
	d.Dir.step(PhaseOrient)
	gathered, err := d.gather(ctx, &dream, news)
	if err != nil {
		return dream, err
	}
	d.Dir.step(PhaseGather)
	var advice *advice
	for range dreamTries {
		var draft *draft
		if draft, advice, err = d.consolidate(ctx, &dream, gathered, advice); err != nil {
			return dream, err
		}
		d.Dir.step(PhaseConsolidate)
		d.Dir.step(PhasePrune)
		err = d.Dir.locked(ctx, func() error {
			if err := d.Dir.checkClaim(claim); err != nil {
				return err
			}
			if err := d.finish(ctx, draft, gathered, dream.Usage); err != nil {
				return err
			}
			return d.Dir.writeSeen(gathered.seen)
		})
		if !errors.Is(err, firn.ErrConflict) {
			dream.Change = draft.Change
			return dream, err
		}
	}
	return dream, err
}

// finish commits a consolidation together with its state.
func (d *Dreamer) finish(ctx context.Context, draft *draft, gathered gathered, usage firn.Usage) error {
	now := d.Dir.clock()
	state, err := d.Dir.State()
	if err != nil {
		return err
	}
	state.LastConsolidatedAt = now.Unix()
	state.Tokens += usage.Total
	state.Cost += usage.Cost.Total
	more := version{stateFile: state.content()}
	if len(gathered.upTo) > 0 {
		old, err := d.Dir.readState(progressFile)
		if err != nil {
			return err
		}
		more[progressFile] = readProgress(old.text).with(gathered.upTo, now)
	}
	if draft.dropUnchanged(); len(draft.Files) == 0 {
		for name, c := range more {
			if err := d.Dir.writeContent(memoryDir+"/"+name, c); err != nil {
				return err
			}
		}
		return nil
	}
	for name, c := range more {
		old, err := d.Dir.readState(name)
		if err != nil {
			return err
		}
		draft.put(memoryDir+"/"+name, old, c)
	}
	return d.Dir.commit(ctx, draft)
}

func addUsage(a, b firn.Usage) firn.Usage {
	a.Input += b.Input
	a.Output += b.Output
	a.CacheRead += b.CacheRead
	a.CacheWrite += b.CacheWrite
	a.Total += b.Total
	a.Cost.Input += b.Cost.Input
	a.Cost.Output += b.Cost.Output
	a.Cost.CacheRead += b.Cost.CacheRead
	a.Cost.CacheWrite += b.Cost.CacheWrite
	a.Cost.Total += b.Cost.Total
	return a
}
