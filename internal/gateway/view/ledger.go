package view

import (
	"sync"
	"time"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// ledger caches the usage of sessions, so that a session is read again only after it has
// changed. It can be discarded at any time.
type ledger struct {
	mu       sync.Mutex
	sessions map[firn.ID]account
	lines    int
	totals   map[firn.ID]total
}

// total is all usage of a session, up to a position.
type total struct {
	end   firn.Pos
	bytes int64
	wire.Counters
}

// account is the usage of a session since a time, up to a position.
type account struct {
	since time.Time
	end   firn.Pos
	bytes int64
	spent []spent
}

// spent is the usage of one model in a slot of 15 minutes. In every time zone a day begins
// with a slot.
type spent struct {
	slot  int64
	model string
	wire.Counters
}

const (
	slotLength = 15 * time.Minute
	// mostLines limits the size of the cache.
	mostLines = 200_000
)

func slotOf(t time.Time) int64 {
	seconds := int64(slotLength / time.Second)
	unix := t.Unix()
	slot := unix / seconds
	if unix%seconds < 0 {
		slot--
	}
	return slot
}

// startTime returns the start of a slot.
func (s *spent) startTime() time.Time { return time.Unix(s.slot*int64(slotLength/time.Second), 0) }

// inSlots reports whether a time is the start of a slot, so that the ledger can be used.
func inSlots(t time.Time) bool { return t.IsZero() || t.Equal((&spent{slot: slotOf(t)}).startTime()) }

// lookup returns the cached usage of a session since a time, if the session has not
// changed.
func (l *ledger) lookup(info *store.Info, since time.Time) ([]spent, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.sessions[info.ID]
	if !ok || a.since.After(since) || a.end != info.End || a.bytes != info.Bytes {
		return nil, false
	}
	return a.spent, true
}

// keep caches the usage of a session since a time.
func (l *ledger) keep(info *store.Info, since time.Time, all []spent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines -= len(l.sessions[info.ID].spent)
	if l.sessions == nil || l.lines+len(all) > mostLines {
		l.sessions, l.lines = make(map[firn.ID]account), 0
	}
	l.sessions[info.ID] = account{since, info.End, info.Bytes, all}
	l.lines += len(all)
}

// total returns the cached usage of a whole session, if the session has not changed.
func (l *ledger) total(info *store.Info) (wire.Counters, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.totals[info.ID]
	return t.Counters, ok && t.end == info.End && t.bytes == info.Bytes
}

// keepTotal caches the usage of a whole session.
func (l *ledger) keepTotal(info *store.Info, c wire.Counters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.totals == nil || len(l.totals) > 2*mostSpenders {
		l.totals = make(map[firn.ID]total)
	}
	l.totals[info.ID] = total{info.End, info.Bytes, c}
}

// forget drops a session from the cache, after something was erased.
func (l *ledger) forget(id firn.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.totals, id)
	l.lines -= len(l.sessions[id].spent)
	delete(l.sessions, id)
}

// tally collects the usage of a session.
type tally struct {
	places map[spentBy]int
	all    []spent
}

type spentBy struct {
	slot  int64
	model string
}

func (t *tally) add(at time.Time, model string, c wire.Counters) {
	by := spentBy{slotOf(at), model}
	i, ok := t.places[by]
	if !ok {
		if t.places == nil {
			t.places = make(map[spentBy]int)
		}
		i = len(t.all)
		t.places[by] = i
		t.all = append(t.all, spent{slot: by.slot, model: model})
	}
	addCounters(&t.all[i].Counters, c)
}
