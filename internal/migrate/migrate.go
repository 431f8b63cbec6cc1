// Package migrate carries all sessions of one store to another: every line byte
// for byte, the keys, and what is archived or in the bin.
//
// It can be interrupted at any time and run again: what is there already is
// compared and counted, what is missing is added. A session that is another one
// there is never changed: it is told of, and the others go on. With [Options].Copy
// the other store is no more than a copy, which is made to say what the first one
// says. Nothing is ever changed where sessions come from.
package migrate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"iter"
	"maps"
	"slices"

	"firn"
	"firn/store"
)

// Side is a store that sessions are carried to.
type Side interface {
	store.Carrier
	store.Keyed
	store.Remover
}

// Options says how sessions are carried.
type Options struct {
	// Copy says that nobody but us writes where they are carried to: what differs
	// there is replaced, and what was purged is purged there too. The store must
	// be able to.
	Copy bool
	// Done tells whether a session was carried before as it stands now, so that it
	// need not be read. Nil: none was.
	Done func(h store.Holding) bool
	// Progress is told how many bytes of how many were read. Nil: nobody.
	Progress func(what string, done, total int64)
}

// Report tells what was carried.
type Report struct {
	// Sessions is how many there are where they come from. Each was new, had gone
	// on, was the same already, was left out because it was carried before, was
	// purged, or differs.
	Sessions int `json:"sessions"`
	New      int `json:"new"`
	Longer   int `json:"longer"`
	Same     int `json:"same"`
	Before   int `json:"before,omitempty"`
	Purged   int `json:"purged"`
	// Replaced is how many of a copy were made anew.
	Replaced int `json:"replaced,omitempty"`
	// Lines and Bytes are what all of them have that were read, Added the lines
	// that were not there.
	Lines int64 `json:"lines"`
	Bytes int64 `json:"bytes"`
	Added int64 `json:"added"`
	// Keys is how many keys point where they did.
	Keys int `json:"keys"`
	// Sum is the SHA-256 over the sums of all sessions that were read on both
	// sides, in the order of their ids.
	Sum string `json:"sha256,omitempty"`
	// Carried tells of each session that was read what was compared, by id.
	Carried []Carried `json:"carried,omitempty"`
	// Moved says that the home of the sessions records that they are here now.
	Moved bool `json:"moved,omitempty"`
	// Differ are the sessions and keys that are others there. They were not
	// changed.
	Differ []Difference `json:"differ,omitempty"`
}

// Carried is a session that is the same on both sides.
type Carried struct {
	Session firn.ID `json:"session"`
	Lines   int64   `json:"lines"`
	Bytes   int64   `json:"bytes"`
	Sum     string  `json:"sha256"`
}

// Difference is something that is another thing there.
type Difference struct {
	Session firn.ID `json:"session,omitempty"`
	Key     string  `json:"key,omitempty"`
	Detail  string  `json:"detail"`
	// TooLarge is set if the session has a line over the limit.
	TooLarge bool `json:"tooLarge,omitempty"`
}

// OK reports whether all is there.
func (r *Report) OK() bool { return len(r.Differ) == 0 }

// Run carries all sessions from one store to another, and then compares them. If
// it fails or is interrupted the report tells how far it got, and whoever runs it
// again goes on from there.
func Run(ctx context.Context, from store.Source, to Side, o Options) (*Report, error) {
	m := &move{ctx: ctx, from: from, to: to, o: o, report: &Report{}}
	if o.Progress == nil {
		m.o.Progress = func(string, int64, int64) {}
	}
	err := m.carryAll()
	if err == nil && o.Copy {
		err = m.placeAll()
	}
	if err == nil {
		err = m.compareAll()
	}
	if err == nil {
		err = m.bindAll()
	}
	return m.report, err
}

// move is one run.
type move struct {
	ctx      context.Context
	from     store.Source
	to       Side
	o        Options
	report   *Report
	holdings []store.Holding
	// passed is how many bytes were read, of total.
	passed, total int64
	// unread is why the session that is being carried could not be read; nil if
	// it could.
	unread error
}

// carryAll carries the sessions, in the order of their ids.
func (m *move) carryAll() (err error) {
	if m.holdings, err = m.from.Holdings(m.ctx); err != nil {
		return err
	}
	slices.SortFunc(m.holdings, func(a, b store.Holding) int { return cmp.Compare(a.ID, b.ID) })
	m.report.Sessions = len(m.holdings)
	for _, h := range m.holdings {
		if !m.before(h) {
			m.total += h.Bytes
		}
	}
	for _, h := range m.holdings {
		m.o.Progress("copying", m.passed, m.total)
		if m.before(h) {
			m.report.Before++
			continue
		}
		if err := m.carry(h); err != nil {
			return err
		}
	}
	m.o.Progress("copying", m.total, m.total)
	return nil
}

func (m *move) before(h store.Holding) bool { return m.o.Done != nil && m.o.Done(h) }

// carry carries one session.
func (m *move) carry(h store.Holding) error {
	sum := newSum()
	m.unread = nil
	loaded, err := m.to.Load(m.ctx, h, m.read(h.ID, sum))
	if errors.Is(err, firn.ErrConflict) && m.o.Copy {
		sum = newSum()
		loaded, err = m.replace(h, sum)
	}
	switch {
	case errors.Is(err, firn.ErrConflict):
		m.report.Differ = append(m.report.Differ, Difference{Session: h.ID, Detail: err.Error()})
		return nil
	case errors.Is(err, firn.ErrNotFound) && m.ctx.Err() == nil && h.Receipt == nil:
		m.report.Differ = append(m.report.Differ, Difference{Session: h.ID, Detail: "it was put away while it was carried: " + err.Error()})
		return nil
	case errors.Is(err, firn.ErrTooLarge) && m.ctx.Err() == nil:
		m.report.Differ = append(m.report.Differ, Difference{Session: h.ID, Detail: "it was not carried: " + err.Error(), TooLarge: true})
		return nil
	case err != nil && m.unread != nil && m.ctx.Err() == nil && !errors.Is(m.unread, firn.ErrUnavailable):
		m.report.Differ = append(m.report.Differ, Difference{Session: h.ID, Detail: "it cannot be read, and was not carried: " + m.unread.Error()})
		return nil
	case err != nil:
		return err
	case h.Receipt != nil:
		m.report.Purged++
		return nil
	case loaded.Had == 0:
		m.report.New++
	case loaded.Added > 0:
		m.report.Longer++
	default:
		m.report.Same++
	}
	m.report.Added += int64(loaded.Added)
	m.report.Carried = append(m.report.Carried, sum.carried(h.ID))
	return nil
}

// replace makes a session of a copy what the one is that it is a copy of.
func (m *move) replace(h store.Holding, s *sum) (store.Loaded, error) {
	if h.Receipt != nil {
		_, err := m.to.Purge(m.ctx, h.ID, h.Receipt.Reason)
		return store.Loaded{}, err
	}
	replacer, ok := m.to.(interface {
		Replace(ctx context.Context, id firn.ID, lines iter.Seq2[[]byte, error]) (int, error)
	})
	if !ok {
		return store.Loaded{}, fmt.Errorf("make a copy of session %s: %w: the store cannot replace sessions", h.ID, firn.ErrUnsupported)
	}
	n, err := replacer.Replace(m.ctx, h.ID, m.read(h.ID, s))
	if err == nil {
		m.report.Replaced++
		_, err = m.to.Load(m.ctx, h, m.read(h.ID, newSum())) // for what became of it
	}
	return store.Loaded{Added: n}, err
}

// placeAll archives, removes and takes back in a copy what was there already, and
// has been archived, removed or taken back since.
func (m *move) placeAll() error {
	all, err := m.to.Holdings(m.ctx)
	if err != nil {
		return err
	}
	there := make(map[firn.ID]store.Holding, len(all))
	for _, h := range all {
		there[h.ID] = h
	}
	for _, h := range m.holdings {
		now, ok := there[h.ID]
		if !ok || h.Receipt != nil || now.Receipt != nil {
			continue
		}
		if err := m.place(h, now); err != nil {
			return fmt.Errorf("put session %s where it is: %w", h.ID, err)
		}
	}
	return nil
}

// place puts one session of a copy where the one is that it is a copy of.
func (m *move) place(h, now store.Holding) (err error) {
	if now.Removed && (!h.Removed || now.Archived != h.Archived) {
		if err = m.to.Restore(m.ctx, h.ID); err != nil {
			return err
		}
		now.Removed = false
	}
	switch {
	case h.Archived && !now.Archived:
		err = m.to.Archive(m.ctx, h.ID)
	case !h.Archived && now.Archived:
		err = m.to.Unarchive(m.ctx, h.ID)
	}
	if err == nil && h.Removed && !now.Removed {
		err = m.to.Remove(m.ctx, h.ID, h.Reason)
	}
	return err
}

// read reads a session and adds it up, each time anew.
func (m *move) read(id firn.ID, s *sum) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		*s = *newSum()
		for line, err := range m.from.Lines(m.ctx, id) {
			if err == nil {
				s.add(line)
				m.pass("copying", line)
			} else {
				m.unread = err
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// tellEvery is how many bytes are read before progress is told.
const tellEvery = 1 << 20

func (m *move) pass(what string, line []byte) {
	before := m.passed / tellEvery
	if m.passed += int64(len(line)) + 1; m.passed/tellEvery != before {
		m.o.Progress(what, min(m.passed, m.total), m.total)
	}
}

// compareAll reads all that was carried where it is now.
func (m *move) compareAll() error {
	m.passed, m.total = 0, 0
	for _, c := range m.report.Carried {
		m.total += c.Bytes
	}
	all := sha256.New()
	var same []Carried
	for _, c := range m.report.Carried {
		m.o.Progress("comparing", m.passed, m.total)
		got := newSum()
		for line, err := range m.to.Lines(m.ctx, c.Session) {
			if err != nil {
				return fmt.Errorf("read what was carried: %w", err)
			}
			got.add(line)
			m.pass("comparing", line)
		}
		if now := got.carried(c.Session); now != c {
			m.report.Differ = append(m.report.Differ, Difference{Session: c.Session, Detail: fmt.Sprintf(
				"it was carried and is not the same: %d lines, %d bytes, %s there, and %d lines, %d bytes, %s here", c.Lines, c.Bytes, c.Sum, now.Lines, now.Bytes, now.Sum)})
			continue
		}
		same = append(same, c)
		m.report.Lines, m.report.Bytes = m.report.Lines+c.Lines, m.report.Bytes+c.Bytes
		fmt.Fprintf(all, "%s %s\n", c.Session, c.Sum) // a hash never fails
	}
	m.report.Carried, m.report.Sum = same, hex.EncodeToString(all.Sum(nil))
	m.o.Progress("comparing", m.total, m.total)
	return nil
}

// bindAll makes keys point where they do. A key that points at a session there
// which has never been here is left.
func (m *move) bindAll() error {
	keys, err := m.from.Bindings(m.ctx)
	if err != nil {
		return err
	}
	ours := make(map[firn.ID]bool, len(m.holdings))
	for _, h := range m.holdings {
		ours[h.ID] = h.Receipt == nil && !h.Removed
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		id := keys[key]
		if !ours[id] {
			continue // it points nowhere
		}
		if err := m.bind(key, id, ours); err != nil {
			return err
		}
	}
	return nil
}

func (m *move) bind(key string, id firn.ID, ours map[firn.ID]bool) error {
	now, err := m.to.Lookup(m.ctx, key)
	switch {
	case err == nil && now == id:
		m.report.Keys++
		return nil
	case err == nil && !m.o.Copy:
		if _, known := ours[now]; !known {
			m.report.Differ = append(m.report.Differ, Difference{Key: key, Session: id, Detail: fmt.Sprintf("the key points at session %s, which was begun here", now)})
			return nil
		}
	case err != nil && !errors.Is(err, firn.ErrNotFound):
		return err
	}
	err = m.to.Bind(m.ctx, key, id)
	if errors.Is(err, firn.ErrNotFound) {
		m.report.Differ = append(m.report.Differ, Difference{Key: key, Session: id, Detail: "the session that the key points at is not here"})
		return nil
	}
	if err == nil {
		m.report.Keys++
	}
	return err
}

// sum adds up lines.
type sum struct {
	hash         hash.Hash
	lines, bytes int64
}

func newSum() *sum { return &sum{hash: sha256.New()} }

func (s *sum) add(line []byte) {
	s.hash.Write(line) // a hash never fails
	s.hash.Write([]byte{'\n'})
	s.lines, s.bytes = s.lines+1, s.bytes+int64(len(line))+1
}

func (s *sum) carried(id firn.ID) Carried {
	return Carried{Session: id, Lines: s.lines, Bytes: s.bytes, Sum: hex.EncodeToString(s.hash.Sum(nil))}
}
