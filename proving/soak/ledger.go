//go:build linux

package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"firn.dev"
)

// spoken is something that a client said, and was told is kept.
type spoken struct {
	session firn.ID
	id      firn.EntryID
	text    string
	// client is who said it; what one client says in a session is in order.
	client string
}

// ledger is what clients were told, for what is there to be held against.
type ledger struct {
	mu sync.Mutex
	// said are messages that were acknowledged, in the order of each client;
	// noted are entries. lost are entries of unknown fate: there once or not at all.
	said, noted, lost []spoken
	// moves are how often the head of a session was asked to be elsewhere, and
	// moved how often that was acknowledged.
	moves, moved map[firn.ID]int
	// made are sessions that clients were told of.
	made []firn.ID
	// complaints are what must not happen.
	complaints []string
	faults     map[string]int
	counts     map[string]int64

	acks     atomic.Int64
	progress chan struct{}
}

func newLedger() *ledger {
	return &ledger{
		moves: make(map[firn.ID]int), moved: make(map[firn.ID]int), faults: make(map[string]int),
		counts: make(map[string]int64), progress: make(chan struct{}, 1),
	}
}

// mostComplaints is how many are kept: one fault may have many faces.
const mostComplaints = 200

// complain notes something that must not happen.
func (l *ledger) complain(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if what := fmt.Sprintf(format, args...); len(l.complaints) < mostComplaints && !slices.Contains(l.complaints, what) {
		l.complaints = append(l.complaints, what)
	}
}

func (l *ledger) failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.complaints) > 0
}

// count counts something that happened.
func (l *ledger) count(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[what]++
}

func (l *ledger) fault(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults[what]++
}

// acknowledge notes what a client was told is kept.
func (l *ledger) acknowledge(list *[]spoken, what spoken) {
	l.mu.Lock()
	*list = append(*list, what)
	l.mu.Unlock()
	l.acks.Add(1)
	select {
	case l.progress <- struct{}{}:
	default:
	}
}

// unknown notes an entry of which nobody knows whether it is kept.
func (l *ledger) unknown(what spoken) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = append(l.lost, what)
}

func (l *ledger) make(id firn.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made = append(l.made, id)
}

func (l *ledger) move(counts map[firn.ID]int, id firn.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts[id]++
}

// told is a copy of what clients were told so far.
type told struct {
	said, noted, lost []spoken
	made              []firn.ID
	moves, moved      map[firn.ID]int
}

func (l *ledger) told() told {
	l.mu.Lock()
	defer l.mu.Unlock()
	copied := func(m map[firn.ID]int) map[firn.ID]int {
		out := make(map[firn.ID]int, len(m))
		for k, v := range m {
			out[k] = v
		}
		return out
	}
	return told{
		said: slices.Clone(l.said), noted: slices.Clone(l.noted), lost: slices.Clone(l.lost),
		made: slices.Clone(l.made), moves: copied(l.moves), moved: copied(l.moved),
	}
}
