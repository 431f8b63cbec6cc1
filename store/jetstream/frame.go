package jetstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"firn.dev"
	"firn.dev/store"

	"github.com/nats-io/nats.go"
)

// The headers of a message.
const (
	headID     = "Nats-Msg-Id"
	headExpect = "Nats-Expected-Last-Subject-Sequence"
	headRollup = "Nats-Rollup"
	headKind   = "S-Kind"     // the kind of content; absent for lines
	headEnd    = "S-N"        // the number of records up to its end
	headCount  = "S-K"        // the number of records in it; absent for 1
	headPrev   = "S-Prev"     // the checksum before it
	headSum    = "S-Sum"      // the checksum after it
	headBack   = "S-Back"     // the sequence of the previous message
	headSeal   = "S-Seal"     // the sequence of the previous seal
	headHead   = "S-Head"     // the last entry, if the payload is not lines
	headSize   = "S-Size"     // the size of the session up to its end in bytes, as a file
	headStored = "S-Archived" // the session is archived
	headBinned = "S-Removed"  // the session is in the trash bin
	headTime   = "S-Time"     // the time of the last change of its lines
	headAgent  = "S-Agent"    // the agent in the session's header
	headLoose  = "S-Loose"    // the number of messages after the seal, including this one
	headBase   = "S-Base"     // the size of the session up to the seal in bytes
	headCheck  = "S-Check"    // the hash of a value and its name
)

// checkOf returns the hash of a value and its name.
func checkOf(subject string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(subject)) // a hash never fails
	h.Write([]byte{0})
	h.Write(data)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

// frameKind is the kind of content of a message.
type frameKind string

const (
	kindLines frameKind = ""     // lines
	kindBlob  frameKind = "blob" // the name of an object that holds the lines
	kindSeal  frameKind = "seal" // all lines of the session so far; see sealed
	kindMark  frameKind = "mark" // no lines: a change of the session's state
)

// frame is a message of a session. A session is a chain of them.
type frame struct {
	seq  uint64
	kind frameKind
	// id is the unique ID of the message, chosen by the writer.
	id string
	// end is the number of records up to its end, count the number of records in it.
	end   store.Pos
	count int
	// prev and sum are the checksums before and after it.
	prev, sum sum
	// back is the sequence of the previous message, seal that of the latest seal.
	back, seal uint64
	// head is the last entry, if the payload is not lines.
	head firn.EntryID
	// size is the size of the session up to its end, in bytes.
	size              int64
	archived, removed bool
	// modified is the time of the last change of the lines by the writer's clock, and
	// increases with each change. agent is the session's agent.
	modified time.Time
	agent    string
	// loose is the number of messages after the latest seal, base the number of bytes in
	// the seal.
	loose int
	base  int64
	data  []byte
}

// at returns the position before the frame's records.
func (f *frame) at() store.Pos { return f.end - store.Pos(f.count) }

// sum is a hash over all lines of a session up to a position. It detects missing and
// changed records.
type sum [16]byte

// next returns the sum after one more line.
func (s sum) next(line []byte) sum {
	h := sha256.New()
	h.Write(s[:]) // a hash never fails
	h.Write(line)
	h.Write([]byte{'\n'})
	var all [sha256.Size]byte
	h.Sum(all[:0])
	return sum(all[:len(s)])
}

// over returns the sum after lines.
func (s sum) over(lines [][]byte) sum {
	for _, line := range lines {
		s = s.next(line)
	}
	return s
}

func (s sum) String() string { return base64.RawURLEncoding.EncodeToString(s[:]) }

func parseSum(text string) (sum, error) {
	var s sum
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(b) != len(s) {
		err = fmt.Errorf("%d bytes", len(b))
	}
	copy(s[:], b)
	return s, err
}

// join joins lines for sending: as in a file, without the last newline.
func join(lines [][]byte) []byte { return bytes.Join(lines, []byte{'\n'}) }

// split is the inverse of join.
func split(data []byte, count int) ([][]byte, error) {
	lines := bytes.Split(data, []byte{'\n'})
	if len(lines) != count {
		return nil, fmt.Errorf("it has %d lines, not %d", len(lines), count)
	}
	return lines, nil
}

// msg encodes the frame as a message.
func (f *frame) msg(subject string) *nats.Msg {
	m := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: f.data}
	set := func(name, value string, when bool) {
		if when {
			m.Header.Set(name, value)
		}
	}
	set(headID, f.id, true)
	set(headKind, string(f.kind), f.kind != kindLines)
	set(headEnd, strconv.FormatUint(uint64(f.end), 10), true)
	set(headCount, strconv.Itoa(f.count), f.count != 1)
	set(headPrev, f.prev.String(), true)
	set(headSum, f.sum.String(), true)
	set(headBack, strconv.FormatUint(f.back, 10), f.back > 0)
	set(headSeal, strconv.FormatUint(f.seal, 10), f.seal > 0)
	set(headHead, strconv.QuoteToASCII(string(f.head)), f.kind != kindLines)
	set(headSize, strconv.FormatInt(f.size, 10), true)
	set(headStored, "yes", f.archived)
	set(headBinned, "yes", f.removed)
	set(headTime, f.modified.UTC().Format(time.RFC3339Nano), !f.modified.IsZero())
	set(headLoose, strconv.Itoa(f.loose), f.loose > 0)
	set(headBase, strconv.FormatInt(f.base, 10), f.base > 0)
	set(headAgent, strconv.QuoteToASCII(f.agent), f.agent != "")
	return m
}

// parseFrame decodes a frame from a message.
func parseFrame(m *message) (*frame, error) {
	f := &frame{seq: m.seq, kind: frameKind(m.header.Get(headKind)), id: m.header.Get(headID), count: 1, data: m.data,
		archived: m.header.Get(headStored) != "", removed: m.header.Get(headBinned) != ""}
	p := parser{header: m.header}
	f.end = store.Pos(p.number(headEnd, 0))
	f.count = int(p.number(headCount, 1))
	f.back, f.seal = p.number(headBack, 0), p.number(headSeal, 0)
	f.size = int64(p.number(headSize, 0))
	f.prev, f.sum = p.sum(headPrev), p.sum(headSum)
	f.modified = p.time(headTime)
	f.loose, f.base = int(p.number(headLoose, 0)), int64(p.number(headBase, 0))
	if m.header.Get(headAgent) != "" {
		f.agent = p.quoted(headAgent)
	}
	if f.kind != kindLines {
		f.head = firn.EntryID(p.quoted(headHead))
	}
	if p.err == nil && store.Pos(f.count) > f.end {
		p.err = fmt.Errorf("it has %d records and ends at %d", f.count, f.end)
	}
	if p.err == nil && !f.known() {
		p.err = fmt.Errorf("%w: it is of a kind %q that this version does not know", firn.ErrUnsupported, f.kind)
		return nil, fmt.Errorf("message %d of %s: %w", m.seq, m.subject, p.err)
	}
	if p.err != nil {
		return nil, fmt.Errorf("message %d of %s: %w: %w", m.seq, m.subject, firn.ErrCorrupt, p.err)
	}
	return f, nil
}

// whole verifies the payload of a frame, without its objects.
func (f *frame) whole() error {
	switch f.kind {
	case kindSeal:
		_, err := parseSealed(f)
		return err
	case kindMark:
		var m mark
		return json.Unmarshal(f.data, &m)
	case kindBlob:
		if len(f.data) == 0 {
			return errWrongSum
		}
		return nil
	}
	lines, err := split(f.data, f.count)
	if err == nil && f.prev.over(lines) != f.sum {
		err = errWrongSum
	}
	return err
}

// soundFrame reports whether a message is a frame with a valid payload.
func soundFrame(m *message) bool {
	f, err := parseFrame(m)
	return err == nil && f.whole() == nil || errors.Is(err, firn.ErrUnsupported)
}

func (f *frame) known() bool {
	return f.kind == kindLines || f.kind == kindBlob || f.kind == kindSeal || f.kind == kindMark
}

// parser parses headers and keeps the first error.
type parser struct {
	header nats.Header
	err    error
}

func (p *parser) fail(name string, err error) {
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("its header %s is %q: %w", name, p.header.Get(name), err)
	}
}

func (p *parser) number(name string, missing uint64) uint64 {
	if p.header.Get(name) == "" {
		return missing
	}
	n, err := strconv.ParseUint(p.header.Get(name), 10, 48)
	p.fail(name, err)
	return n
}

func (p *parser) sum(name string) sum {
	s, err := parseSum(p.header.Get(name))
	p.fail(name, err)
	return s
}

func (p *parser) time(name string) time.Time {
	if p.header.Get(name) == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, p.header.Get(name))
	p.fail(name, err)
	return t.UTC()
}

func (p *parser) quoted(name string) string {
	s, err := strconv.Unquote(p.header.Get(name))
	p.fail(name, err)
	return s
}

// mark is the payload of a message that changes the state of a session.
type mark struct {
	Time    string         `json:"time"`
	Reason  string         `json:"reason,omitempty"`
	Receipt *store.Receipt `json:"receipt,omitempty"`
}

// tail is the end of a session: everything an append needs.
type tail struct {
	// seq is the sequence of the last message; 0 if there is none.
	seq      uint64
	end      store.Pos
	sum      sum
	head     firn.EntryID
	seal     uint64
	size     int64
	archived bool
	modified time.Time
	agent    string
	loose    int
	base     int64
	// removed reports whether the session is in the trash bin; receipt is set once a purge has
	// started.
	removed bool
	receipt *store.Receipt
}

// gone reports whether the session cannot be read or appended to.
func (t *tail) gone() bool { return t.removed || t.receipt != nil }

// tailAfter returns the tail after a frame.
func (st *connection) tailAfter(f *frame) (tail, error) {
	t := tail{seq: f.seq, end: f.end, sum: f.sum, head: f.head, seal: f.seal, size: f.size, archived: f.archived, removed: f.removed,
		modified: f.modified, agent: f.agent, loose: f.loose, base: f.base}
	switch f.kind {
	case kindSeal:
		t.seal = f.seq
	case kindMark:
		var m mark
		if err := json.Unmarshal(f.data, &m); err != nil {
			return t, fmt.Errorf("message %d: %w: it has no state of the session: %w", f.seq, firn.ErrCorrupt, err)
		}
		t.receipt = m.Receipt
	case kindLines:
		last := f.data[bytes.LastIndexByte(f.data, '\n')+1:]
		g, err := st.dialect.Glance(last)
		if err != nil {
			return t, fmt.Errorf("message %d: %w", f.seq, err)
		}
		if g.Kind != firn.KindHeader {
			t.head = g.ID
		}
	}
	return t, nil
}

// nextFrame returns a frame that follows the tail.
func (t *tail) nextFrame(kind frameKind, id string) *frame {
	return &frame{kind: kind, id: id, end: t.end, prev: t.sum, sum: t.sum, back: t.seq, seal: t.seal, head: t.head, size: t.size, archived: t.archived, removed: t.removed,
		modified: t.modified, agent: t.agent, loose: t.loose + 1, base: t.base}
}

// nextModified returns the time of a change that follows the tail: now, but later than the
// previous change by any clock.
func (t *tail) nextModified(now time.Time) time.Time {
	if now = now.UTC().Round(0); now.After(t.modified) {
		return now
	}
	return t.modified.Add(time.Nanosecond)
}

// records yields the records of lines, the first of which is at the given position.
func (st *reader) records(at store.Pos, lines [][]byte) iter.Seq[store.Record] {
	return func(yield func(store.Record) bool) {
		for i, line := range lines {
			if !yield(st.record(at+store.Pos(i), line)) {
				return
			}
		}
	}
}

func (st *reader) record(at store.Pos, line []byte) store.Record {
	g, err := st.dialect.Glance(line)
	if err != nil {
		r := firn.LazyRecord(at, at+1, firn.Glance{}, line, st.dialect.Decode) // keeps the line, which sealing needs
		r.Gap = &firn.Gap{Kind: firn.GapDamaged, At: at, Next: at + 1, Detail: err.Error()}
		return r
	}
	return firn.LazyRecord(at, at+1, g, line, st.dialect.Decode)
}
