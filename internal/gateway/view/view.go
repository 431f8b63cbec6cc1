// Package view shows sessions: a page of entries, the tree, the window and what is
// left out of it, the course of turns, what was used. All of it is computed from a
// store and changes nothing.
//
// A [View] costs what is shown, not what there is. It reads a session from its end
// as far as it must, and what it found out about the rest, the [Shape], it keeps in
// memory within a bound; what was added since is read when somebody looks again.
package view

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/agent"
	"firn.dev/internal/base/route"
	"firn.dev/internal/formats/dialect"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// View shows sessions, and changes none. What it found out it remembers, as far as
// there is room; all of that can be thrown away at any time. Its methods may be
// called from many goroutines.
type View struct {
	Options
	setup   atomic.Pointer[Setup]
	cache   *residentCache
	numbers numbers
	surveys surveys
	ledger  ledger
}

// Options is what a view is made of. All but Dialect, Encode and Resident is
// needed.
type Options struct {
	Store store.Store
	// List lists sessions, quicker than the store may.
	List func(ctx context.Context, q store.Query) iter.Seq2[store.Info, error]
	// Agent finds the agent that a session belongs to, and Turns how many of its
	// turns are sent at most; zero means all.
	Agent func(ctx context.Context, id firn.ID) (*agent.Agent, error)
	Turns func(ctx context.Context, id firn.ID) int
	// Narrow returns what the one who said an entry of a session may see; nil if
	// everybody may see the same.
	Narrow func(ctx context.Context, id firn.ID, e firn.Entry) route.Bounds
	// Dialect spells entries of stores that keep no lines, if it can.
	Dialect dialect.Decoder
	// Encode spells a request as the provider of a model would get it; nil if
	// nobody can.
	Encode func(model provider.Model, req provider.Request) ([]byte, error)
	// Resident bounds the bytes of sessions that are kept in memory; zero means
	// 64 MB.
	Resident int64
	// Clock tells the time.
	Clock func() time.Time
}

// Setup is what can be changed while a view is in use.
type Setup struct {
	// Known lists the models that can be chosen, and Models finds one by its
	// provider's name and its own; nil finds none.
	Known  []wire.Model
	Models func(providerName, model string) (provider.Model, error)
	// Zone is where days begin at midnight; nil means where the clock is.
	Zone *time.Location
}

// New makes a view. It reads nothing until it is asked.
func New(o Options, s Setup) *View {
	v := &View{Options: o, cache: newResidentCache(o.Resident)}
	v.Reload(s)
	return v
}

// Reload changes the setup.
func (v *View) Reload(s Setup) { v.setup.Store(&s) }

// Resident keeps the live parts of sessions for the turns that go on from them.
func (v *View) Resident() agent.Resident { return v.cache }

// Erased forgets what is remembered of a session of which something was erased.
func (v *View) Erased(id firn.ID) {
	v.ledger.forget(id)
	v.Moved(id)
}

// MustBe refuses a session that is not there with a problem that says so.
func (v *View) MustBe(ctx context.Context, id firn.ID) error {
	if id.Check() != nil { // whose words repeat all of it
		return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("%q cannot be the id of a session", Clip(string(id)))}
	}
	for _, err := range v.Store.Read(ctx, id, store.Start) {
		if errors.Is(err, firn.ErrNotFound) {
			break
		}
		return err
	}
	return &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no session %s", id), Hint: "firn ls lists the sessions; firn bin ls lists those in the bin"}
}

// Every lists the sessions of an owner, be they archived or hidden or not. The
// order is that of the list for each of these kinds, one kind after the other.
func (v *View) Every(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		for kind := range 4 {
			q.Archived, q.Hidden = kind&1 != 0, kind&2 != 0
			for info, err := range v.List(ctx, q) {
				if !yield(info, err) || err != nil {
					return
				}
			}
		}
	}
}

// Info is what a list would tell of one session.
func (v *View) Info(ctx context.Context, id firn.ID) (store.Info, error) {
	if in, ok := store.As[Inspector](v.Store); ok {
		info, err := in.Inspect(ctx, id)
		if err == nil && info.ID == "" {
			err = firn.ErrNotFound
		}
		return info, err
	}
	for info, err := range v.Every(ctx, store.Query{}) {
		if err != nil || info.ID == id {
			return info, err
		}
	}
	return store.Info{}, firn.ErrNotFound
}

// Path is the live part of a session.
func (v *View) Path(ctx context.Context, id firn.ID) (window.Path, error) {
	return window.Collect(v.Store.ReadBack(ctx, id, store.End))
}

// Reaches tells where the log of a session ends, and whether an entry is among so
// many at its end.
func (v *View) Reaches(ctx context.Context, id firn.ID, entry firn.EntryID, most int) (end firn.Pos, kept bool, err error) {
	n := 0
	for rec, err := range v.Store.ReadBack(ctx, id, store.End) {
		if errors.As(err, new(*store.Moved)) || errors.Is(err, firn.ErrNotFound) {
			return 0, false, nil // who follows it is told
		}
		if err != nil {
			return 0, false, err
		}
		end = max(end, rec.Next)
		kept = kept || entry != "" && rec.Glance.ID == entry
		if n++; n >= most || kept || entry == "" {
			break
		}
	}
	return end, kept, nil
}

// Moved forgets what was noted of places in a session that is kept elsewhere
// now, where all places are others.
func (v *View) Moved(id firn.ID) {
	v.numbers.forget(id)
	v.surveys.forget(id)
	v.cache.Forget(id)
}

// Inspector is a store that tells of one session what a list would.
type Inspector interface {
	Inspect(ctx context.Context, id firn.ID) (store.Info, error)
}
