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
	headKind   = "S-Kind"     // what the message holds; none: lines
	headEnd    = "S-N"        // the number of records up to its end
	headCount  = "S-K"        // the number of records in it; none: 1
	headPrev   = "S-Prev"     // the chain before it
	headSum    = "S-Sum"      // the chain behind it
	headBack   = "S-Back"     // the sequence of the message before it
	headSeal   = "S-Seal"     // the sequence of the seal before it
	headHead   = "S-Head"     // the last entry, if the payload is not lines
	headSize   = "S-Size"     // the bytes of the session up to its end, as a file
	headStored = "S-Archived" // the session is archived
	headBinned = "S-Removed"  // the session is in the bin
	headTime   = "S-Time"     // when its lines last changed
	headAgent  = "S-Agent"    // whose it is, as its header says
	headLoose  = "S-Loose"    // the number of messages behind the seal, with this one
	headBase   = "S-Base"     // the bytes of the session up to the seal
	headCheck  = "S-Check"    // the hash of a value and its name
)

// checkOf is the hash of a value that is kept under a name.
func checkOf(subject string, data []byte) string {
	h := sha256.New()
	h.Write([]byte(subject)) // a hash never fails
	h.Write([]byte{0})
	h.Write(data)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}

// frameKind is what a message holds.
type frameKind string

const (
	kindLines frameKind = ""     // lines
	kindBlob  frameKind = "blob" // the name of an object that holds the lines
	kindSeal  frameKind = "seal" // all lines of the session so far; see sealed
	kindMark  frameKind = "mark" // no lines: what became of the session
)

// frame is a message of a session. A session is a chain of them.
type frame struct {
	seq  uint64
	kind frameKind
	// id is the message's own, chosen by who made it.
	id string
	// end is the number of records up to its end, count of those in it.
	end   store.Pos
	count int
	// prev and sum are the chain before and behind it.
	prev, sum sum
	// back is the sequence of the message before it, seal that of the latest seal.
	back, seal uint64
	// head is the last entry, if the payload is not lines.
	head firn.EntryID
	// size is the bytes of the session up to its end.
	size              int64
	archived, removed bool
	// modified is when the lines last changed, by the clock of who did it, and
	// later with each change; agent is whose the session is.
	modified time.Time
	agent    string
	// loose is the number of messages behind the latest seal, and base the bytes
	// that the seal holds.
	loose int
	base  int64
	data  []byte
}

// at is the position before the frame's records.
func (f *frame) at() store.Pos { return f.end - store.Pos(f.count) }

// sum is a hash over all lines of a session up to one. A record that is missing
// or not what was written makes another.
type sum [16]byte

// next is the sum behind one more line.
func (s sum) next(line []byte) sum {
	h := sha256.New()
	h.Write(s[:]) // a hash never fails
	h.Write(line)
	h.Write([]byte{'\n'})
	var all [sha256.Size]byte
	h.Sum(all[:0])
	return sum(all[:len(s)])
}

// over is the sum behind lines.
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

// join puts lines together as they are sent: as in a file, but for the last
// newline.
func join(lines [][]byte) []byte { return bytes.Join(lines, []byte{'\n'}) }

// split is the inverse of join.
func split(data []byte, count int) ([][]byte, error) {
	lines := bytes.Split(data, []byte{'\n'})
	if len(lines) != count {
		return nil, fmt.Errorf("it has %d lines, not %d", len(lines), count)
	}
	return lines, nil
}

// msg spells the frame as a message.
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

// parseFrame reads a message as a frame.
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
		p.err = fmt.Errorf("it holds %d records and ends at %d", f.count, f.end)
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

// whole reports what is wrong with the payload of a frame, apart from objects.
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

// soundFrame accepts messages that are frames with a whole payload.
func soundFrame(m *message) bool {
	f, err := parseFrame(m)
	return err == nil && f.whole() == nil || errors.Is(err, firn.ErrUnsupported)
}

func (f *frame) known() bool {
	return f.kind == kindLines || f.kind == kindBlob || f.kind == kindSeal || f.kind == kindMark
}

// parser reads headers and keeps the first thing that is wrong.
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

// mark is the payload of a message that says what became of a session.
type mark struct {
	Time    string         `json:"time"`
	Reason  string         `json:"reason,omitempty"`
	Receipt *store.Receipt `json:"receipt,omitempty"`
}

// tail is the end of a session: all that whoever appends must know.
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
	// removed says that the session is in the bin; receipt is set once somebody
	// has begun to purge it.
	removed bool
	receipt *store.Receipt
}

// gone reports whether the session is not there for those who read and append.
func (t *tail) gone() bool { return t.removed || t.receipt != nil }

// after is the tail behind a frame.
func (st *Store) after(f *frame) (tail, error) {
	t := tail{seq: f.seq, end: f.end, sum: f.sum, head: f.head, seal: f.seal, size: f.size, archived: f.archived, removed: f.removed,
		modified: f.modified, agent: f.agent, loose: f.loose, base: f.base}
	switch f.kind {
	case kindSeal:
		t.seal = f.seq
	case kindMark:
		var m mark
		if err := json.Unmarshal(f.data, &m); err != nil {
			return t, fmt.Errorf("message %d: %w: it does not tell what became of the session: %w", f.seq, firn.ErrCorrupt, err)
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

// follow makes a frame that comes after the tail.
func (t *tail) follow(kind frameKind, id string) *frame {
	return &frame{kind: kind, id: id, end: t.end, prev: t.sum, sum: t.sum, back: t.seq, seal: t.seal, head: t.head, size: t.size, archived: t.archived, removed: t.removed,
		modified: t.modified, agent: t.agent, loose: t.loose + 1, base: t.base}
}

// later is the time of a change that follows the tail: now, but after the change
// before it, whatever clock that one went by.
func (t *tail) later(now time.Time) time.Time {
	if now = now.UTC().Round(0); now.After(t.modified) {
		return now
	}
	return t.modified.Add(time.Nanosecond)
}

// records yields the records of lines, the first of which stands at a position.
func (st *Store) records(at store.Pos, lines [][]byte) iter.Seq[store.Record] {
	return func(yield func(store.Record) bool) {
		for i, line := range lines {
			if !yield(st.record(at+store.Pos(i), line)) {
				return
			}
		}
	}
}

func (st *Store) record(at store.Pos, line []byte) store.Record {
	g, err := st.dialect.Glance(line)
	if err != nil {
		r := firn.LazyRecord(at, at+1, firn.Glance{}, line, st.dialect.Decode) // the line stays: who seals it must have it
		r.Gap = &firn.Gap{Kind: firn.GapDamaged, At: at, Next: at + 1, Detail: err.Error()}
		return r
	}
	return firn.LazyRecord(at, at+1, g, line, st.dialect.Decode)
}
