//go:build linux

package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"firn.dev"
)

// spoken is a message or an entry of a client.
type spoken struct {
	session firn.ID
	id      firn.EntryID
	text    string
	// client is the sender; the messages of one client in a session are ordered.
	client string
}

// ledger records the acknowledgments that clients received, for the auditor.
type ledger struct {
	mu sync.Mutex
	// sent are acknowledged messages, in the order of each client; noted are acknowledged
	// entries. lost are entries of unknown outcome: they exist once or not at all.
	sent, noted, lost []spoken
	// moves is the number of requested head moves of a session, and moved the number of
	// acknowledged ones.
	moves, moved map[firn.ID]int
	// made are the created sessions.
	made []firn.ID
	// complaints are the detected errors.
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

// mostComplaints is the maximum number of recorded errors, since one bug can cause many.
const mostComplaints = 200

// complain records an error.
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

// count increments a counter.
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

// acknowledge records an acknowledged message or entry.
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

// unknown records an entry of unknown outcome.
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

// expected is a snapshot of the ledger.
type expected struct {
	sent, noted, lost []spoken
	made              []firn.ID
	moves, moved      map[firn.ID]int
}

func (l *ledger) snapshot() expected {
	l.mu.Lock()
	defer l.mu.Unlock()
	copied := func(m map[firn.ID]int) map[firn.ID]int {
		out := make(map[firn.ID]int, len(m))
		for k, v := range m {
			out[k] = v
		}
		return out
	}
	return expected{
		sent: slices.Clone(l.sent), noted: slices.Clone(l.noted), lost: slices.Clone(l.lost),
		made: slices.Clone(l.made), moves: copied(l.moves), moved: copied(l.moved),
	}
}
