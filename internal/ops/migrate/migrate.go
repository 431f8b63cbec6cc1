// Package migrate copies all sessions from one store to another: every line byte for byte,
// the keys, and the archive and trash bin states.
//
// It can be interrupted at any time and run again: sessions that are already there are
// compared, and missing lines are added. A session that differs in the target is reported
// and never changed, and the others continue. With [Options].Copy the target is a mirror
// and is made identical to the source. The source is never changed.
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

	"firn.dev"
	"firn.dev/store"
)

// Side is a target store.
type Side interface {
	store.Loader
	store.Keyed
	store.Remover
}

// Options configures a migration.
type Options struct {
	// Copy states that the target is written only by this package: differing sessions are
	// replaced, and purges are repeated. The store must support that.
	Copy bool
	// Done reports whether a session was copied before in its current state, so that it
	// need not be read. Nil means that none was.
	Done func(h store.Holding) bool
	// Progress is called with the number of bytes read and the total. It may be nil.
	Progress func(what string, done, total int64)
}

// Report is the result of a migration.
type Report struct {
	// Sessions is the number of sessions in the source. Each was new, extended, unchanged,
	// skipped because it was copied before, purged, or different.
	Sessions int `json:"sessions"`
	New      int `json:"new"`
	Longer   int `json:"longer"`
	Same     int `json:"same"`
	Before   int `json:"before,omitempty"`
	Purged   int `json:"purged"`
	// Replaced is the number of sessions replaced in a copy.
	Replaced int `json:"replaced,omitempty"`
	// Lines and Bytes count the sessions that were read, Added the lines that were missing.
	Lines int64 `json:"lines"`
	Bytes int64 `json:"bytes"`
	Added int64 `json:"added"`
	// Keys is the number of keys with the same session on both sides.
	Keys int `json:"keys"`
	// Sum is the SHA-256 over the checksums of all sessions that were read on both sides,
	// ordered by ID.
	Sum string `json:"sha256,omitempty"`
	// Carried lists the sessions that were read and compared, ordered by ID.
	Carried []Carried `json:"carried,omitempty"`
	// Moved is true if the home of the sessions records that they are stored in the target
	// now.
	Moved bool `json:"moved,omitempty"`
	// Differ lists the sessions and keys that differ in the target. They were not changed.
	Differ []Difference `json:"differ,omitempty"`
}

// Carried is a session that is the same on both sides.
type Carried struct {
	Session firn.ID `json:"session"`
	Lines   int64   `json:"lines"`
	Bytes   int64   `json:"bytes"`
	Sum     string  `json:"sha256"`
}

// Difference is a session or key that differs in the target.
type Difference struct {
	Session firn.ID `json:"session,omitempty"`
	Key     string  `json:"key,omitempty"`
	Detail  string  `json:"detail"`
	// TooLarge is set if the session has a line over the limit.
	TooLarge bool `json:"tooLarge,omitempty"`
}

// OK reports whether there are no differences.
func (r *Report) OK() bool { return len(r.Differ) == 0 }

// Run copies all sessions from one store to another and then compares them. If it fails or
// is interrupted, the report covers the part that was done, and another Run continues from
// there.
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

// move is the state of one run.
type move struct {
	ctx      context.Context
	from     store.Source
	to       Side
	o        Options
	report   *Report
	holdings []store.Holding
	// passed is the number of bytes read, total the number to read.
	passed, total int64
	// unread is the error from reading the current session, or nil.
	unread error
}

// carryAll copies the sessions, ordered by ID.
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

// carry copies one session.
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
		m.report.Differ = append(m.report.Differ, Difference{Session: h.ID, Detail: "removed while it was copied: " + err.Error()})
		return nil
	case errors.Is(err, firn.ErrTooLarge) && m.ctx.Err() == nil:
		m.report.Differ = append(m.report.Differ, Difference{Session: h.ID, Detail: "not copied: " + err.Error(), TooLarge: true})
		return nil
	case err != nil && m.unread != nil && m.ctx.Err() == nil && !errors.Is(m.unread, firn.ErrUnavailable):
		m.report.Differ = append(m.report.Differ, Difference{Session: h.ID, Detail: "unreadable, not copied: " + m.unread.Error()})
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

// replace replaces a session of a copy with that of the source.
func (m *move) replace(h store.Holding, s *sum) (store.Loaded, error) {
	if h.Receipt != nil {
		_, err := m.to.Purge(m.ctx, h.ID, h.Receipt.Reason)
		return store.Loaded{}, err
	}
	replacer, ok := m.to.(interface {
		Replace(ctx context.Context, id firn.ID, lines iter.Seq2[[]byte, error]) (int, error)
	})
	if !ok {
		return store.Loaded{}, fmt.Errorf("copy session %s: %w: the store cannot replace sessions", h.ID, firn.ErrUnsupported)
	}
	n, err := replacer.Replace(m.ctx, h.ID, m.read(h.ID, s))
	if err == nil {
		m.report.Replaced++
		_, err = m.to.Load(m.ctx, h, m.read(h.ID, newSum())) // for its archive or trash bin state
	}
	return store.Loaded{Added: n}, err
}

// placeAll updates the archive and trash bin states of sessions that were already in a copy.
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
			return fmt.Errorf("move session %s: %w", h.ID, err)
		}
	}
	return nil
}

// place updates the archive and trash bin state of one session of a copy.
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

// read returns the lines of a session and adds them to s, starting over on each iteration.
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

// progressEvery is the number of bytes between progress reports.
const progressEvery = 1 << 20

func (m *move) pass(what string, line []byte) {
	before := m.passed / progressEvery
	if m.passed += int64(len(line)) + 1; m.passed/progressEvery != before {
		m.o.Progress(what, min(m.passed, m.total), m.total)
	}
}

// compareAll reads all copied sessions from the target.
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
				return fmt.Errorf("read the copy: %w", err)
			}
			got.add(line)
			m.pass("comparing", line)
		}
		if now := got.carried(c.Session); now != c {
			m.report.Differ = append(m.report.Differ, Difference{Session: c.Session, Detail: fmt.Sprintf(
				"the copy differs: %d lines, %d bytes, %s there; %d lines, %d bytes, %s here", c.Lines, c.Bytes, c.Sum, now.Lines, now.Bytes, now.Sum)})
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

// bindAll sets the keys in the target. A key bound to a session that does not exist in the
// source is left alone.
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
			m.report.Differ = append(m.report.Differ, Difference{Key: key, Session: id, Detail: fmt.Sprintf("the key points at session %s, which was created here", now)})
			return nil
		}
	case err != nil && !errors.Is(err, firn.ErrNotFound):
		return err
	}
	err = m.to.Bind(m.ctx, key, id)
	if errors.Is(err, firn.ErrNotFound) {
		m.report.Differ = append(m.report.Differ, Difference{Key: key, Session: id, Detail: "the session of the key is not here"})
		return nil
	}
	if err == nil {
		m.report.Keys++
	}
	return err
}

// sum computes the checksum of lines.
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
