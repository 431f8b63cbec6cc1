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

// Dreamer tidies a folder up. Dir and Sessions are needed.
type Dreamer struct {
	Dir *Dir
	// Sessions lists the conversations that belong to the folder and that are
	// news, latest first.
	Sessions func(ctx context.Context, is News) ([]Session, error)
	// Model helps to tell what belongs together; nil does without.
	Model   provider.Model
	Backoff provider.Backoff
	// Keep says whether a fact belongs into this folder; nil: all do.
	Keep     func(Fact) bool
	Familiar []string
	// Owner is who dreams, as others are told.
	Owner string
	Gates DreamGates
}

// News says whether a conversation is to be looked at: it was not yet, or
// changed since, as its mark tells. It is to be asked of each that belongs to the
// folder.
type News func(id firn.ID, mark string) bool

// Session is a conversation that may have news.
type Session struct {
	ID firn.ID
	// Mark changes whenever the conversation does. Without one it is always
	// news.
	Mark string
	// Path reads the entries to its head; older says that there is more before
	// them.
	Path func(ctx context.Context) (entries []firn.Entry, older bool, err error)
	// Told is what memory may have told the agent in it.
	Told Shelf
}

// DreamGates say when it is time to dream. The zero value is good.
type DreamGates struct {
	// Every is how long ago the last dream must be, zero means 24 hours.
	// Sessions is how many conversations must be new since, zero means 5. Stale
	// is after how long somebody else's dream does not count any more, zero
	// means an hour.
	Every    time.Duration
	Sessions int
	Stale    time.Duration
}

func (g DreamGates) settle() DreamGates {
	return DreamGates{cmp.Or(g.Every, 24*time.Hour), cmp.Or(g.Sessions, 5), cmp.Or(g.Stale, time.Hour)}
}

// Gate is what keeps a dream from beginning.
type Gate string

// The gates, in the order in which they are asked: the cheapest first.
const (
	GateTime     Gate = "time"
	GateSessions Gate = "sessions"
	GateLock     Gate = "lock"
)

// shutByTime reports whether the first gate is shut.
func (g DreamGates) shutByTime(last, now time.Time) bool {
	return !last.IsZero() && now.Sub(last) < g.Every
}

// The phases of a dream.
const (
	PhaseOrient      = "orient"
	PhaseGather      = "gather"
	PhaseConsolidate = "consolidate"
	PhasePrune       = "prune"
)

// Order says how to dream.
type Order struct {
	// Plan only says what would be done: nothing is written and nothing locked.
	Plan bool
	// Now does not ask how long ago the last dream is, nor how many
	// conversations are new.
	Now bool
}

// Dream is what came of a dream.
type Dream struct {
	// Shut is the gate that was shut; empty if it was dreamt.
	Shut Gate
	// Why says it in a sentence.
	Why string
	// Sessions is how many conversations were looked through, Found how many
	// facts they had to offer, Notes how many notes there were.
	Sessions, Found, Notes int
	// Change is what was done, or with Plan what would be. It has no edits if
	// all was tidy.
	Change Change
	// Usage is what models used.
	Usage firn.Usage
	// Fallbacks are why a model was done without, where it was.
	Fallbacks []string
}

// Bounds of one dream. What is more than maxSessions waits for the next.
const (
	maxSessions = 64
	maxFacts    = 500
	dreamTries  = 3
)

// Dream tidies the folder up, if the gates are open. Its phases: orient reads
// the notes, gather looks for facts in new conversations, consolidate takes them
// in and makes dates absolute, one of what is there twice, and room for what is
// newer, and prune brings the index in order. All of it is put in force in one
// step at the end. When ctx ends before, nothing has changed.
func (d *Dreamer) Dream(ctx context.Context, o Order) (dream Dream, err error) {
	g := d.Gates.settle()
	state, err := d.Dir.State()
	if err != nil {
		return dream, err
	}
	if !o.Now && g.shutByTime(state.last(), d.Dir.clock()) {
		return Dream{Shut: GateTime, Why: "the last time was " + state.last().UTC().Format(time.RFC3339)}, nil
	}
	news, err := d.news(ctx)
	if err != nil {
		return dream, fmt.Errorf("look for new conversations: %w", err)
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
	// Somebody may have done it while we asked.
	if state, err = d.Dir.State(); err != nil {
		return dream, err
	}
	if !o.Now && g.shutByTime(state.last(), d.Dir.clock()) {
		return Dream{Shut: GateTime, Why: "somebody else has just done it"}, nil
	}
	// What takes longer than the lock counts would be for nothing.
	ctx, cancel := context.WithTimeout(ctx, g.Stale*9/10)
	defer cancel()
	return d.dream(ctx, news, claim)
}

// news is what there is to look through.
func (d *Dreamer) news(ctx context.Context) (news, error) {
	before, err := d.Dir.seen()
	if err != nil {
		return news{}, err
	}
	return newsOf(before, func(is News) ([]Session, error) { return d.Sessions(ctx, is) })
}

// plan says what a dream would do.
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
	draft.settle()
	dream.Change = draft.Change
	dream.Change.ID = "" // there is no such change
	return dream, nil
}

// dream does all the phases. If somebody edits notes meanwhile it sorts once
// more; what conversations and models said is not asked again.
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
			if err := d.Dir.holds(claim); err != nil {
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

// finish puts a dream in force, with the state that says so.
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
	if draft.settle(); len(draft.Files) == 0 {
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
