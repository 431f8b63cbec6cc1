// Package view reads sessions for display: pages of entries, the tree, the window with
// omissions, the course of turns, and usage. It never writes.
//
// The cost of a [View] method depends on the result, not on the length of the session. It
// reads a session from its end as far as necessary and caches the structure of the rest,
// the [Shape], within a memory limit; later calls read only new entries.
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

// View reads sessions. Its caches can be discarded at any time. Its methods are safe for
// concurrent use.
type View struct {
	Options
	setup   atomic.Pointer[Setup]
	cache   *residentCache
	numbers numbers
	surveys surveys
	ledger  ledger
	*reports
}

// Options configures a view. All fields except Dialect, Encode, Narrow and Resident are
// required.
type Options struct {
	Store store.Store
	// List lists sessions, possibly faster than the store.
	List func(ctx context.Context, q store.Query) iter.Seq2[store.Info, error]
	// Agent returns the agent of a session, Turns the maximum number of its turns that are
	// sent; zero means all.
	Agent func(ctx context.Context, id firn.ID) (*agent.Agent, error)
	Turns func(ctx context.Context, id firn.ID) int
	// Narrow returns the bounds of the author of an entry; nil if there are none.
	Narrow func(ctx context.Context, id firn.ID, e firn.Entry) route.Bounds
	// Dialect encodes entries of stores that keep no lines, if it can.
	Dialect dialect.Decoder
	// Encode encodes a request as the provider of a model would receive it; nil if
	// unsupported.
	Encode func(model provider.Model, req provider.Request) ([]byte, error)
	// Resident limits the bytes of sessions kept in memory; zero means 64 MB.
	Resident int64
	// Clock returns the current time.
	Clock func() time.Time
}

// Setup is the part of the configuration that can change at run time.
type Setup struct {
	// Known lists the available models; nil lists none. Models finds one by provider name
	// and model name; nil finds none.
	Known  func() []wire.Model
	Models func(providerName, model string) (provider.Model, error)
	// Zone is the time zone for days; nil means that of the clock.
	Zone *time.Location
}

// KnownModels returns the available models.
func (s Setup) KnownModels() []wire.Model {
	if s.Known == nil {
		return nil
	}
	return s.Known()
}

// New returns a view. It reads nothing.
func New(o Options, s Setup) *View {
	v := &View{Options: o, cache: newResidentCache(o.Resident)}
	v.reports = &reports{view: v, turn: make(chan struct{}, 1)}
	v.Reload(s)
	return v
}

// Reload replaces the setup.
func (v *View) Reload(s Setup) { v.setup.Store(&s) }

// Resident returns the cache of live parts for turns.
func (v *View) Resident() agent.Resident { return v.cache }

// Erased drops cached data of a session after something was erased.
func (v *View) Erased(id firn.ID) {
	v.ledger.forget(id)
	v.erased(id)
	v.Moved(id)
}

// CheckExists returns a problem if a session does not exist.
func (v *View) CheckExists(ctx context.Context, id firn.ID) error {
	if id.Check() != nil { // the error of Check would repeat the whole ID
		return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("invalid session id %q", Clip(string(id)))}
	}
	for _, err := range v.Store.Read(ctx, id, store.Start) {
		if errors.Is(err, firn.ErrNotFound) {
			break
		}
		return err
	}
	return &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no session %s", id), Hint: "to list sessions: firn ls; in the trash bin: firn bin ls"}
}

// Every lists the matching sessions, including archived and hidden ones. The sessions of
// each of these groups are in list order, one group after the other.
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

// Info returns the list row of one session.
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

// Path returns the live part of a session.
func (v *View) Path(ctx context.Context, id firn.ID) (window.Path, error) {
	return window.Collect(v.Store.ReadBack(ctx, id, store.End))
}

// Reaches returns the end of a session's log and whether an entry is among the last most
// records.
func (v *View) Reaches(ctx context.Context, id firn.ID, entry firn.EntryID, most int) (end firn.Pos, kept bool, err error) {
	n := 0
	for rec, err := range v.Store.ReadBack(ctx, id, store.End) {
		if errors.As(err, new(*store.Moved)) || errors.Is(err, firn.ErrNotFound) {
			return 0, false, nil // the follower reports it
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

// Moved drops cached positions of a session that was moved, since all positions have
// changed.
func (v *View) Moved(id firn.ID) {
	v.numbers.forget(id)
	v.surveys.forget(id)
	v.cache.Forget(id)
}

// Inspector is a store that returns the list row of one session.
type Inspector interface {
	Inspect(ctx context.Context, id firn.ID) (store.Info, error)
}
