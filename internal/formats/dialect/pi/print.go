package pi

import (
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// printer writes a file of pi, or goes on with one.
type printer struct {
	lines dialect.Dialect
	to    dialect.Target
	// begun is set once there is a header, old if pi will write the file anew
	// when it opens it.
	begun, old bool
	// last is the last line, and time when it was written.
	last  firn.EntryID
	time  time.Time
	title firn.Title
	// nodes is the shape of the file: of the lines, not of what they say.
	nodes nodes
	// moves tells what to name instead of lines that are not there, or not on
	// the path any more.
	moves moves
	// graves are the tombstones of the file, in its order.
	graves []grave
	// first tells of what line another one is a copy.
	first map[firn.EntryID]firn.EntryID
}

func newPrinter(lines dialect.Dialect, to dialect.Target) *printer {
	return &printer{
		lines: lines, to: to, nodes: make(nodes), moves: newMoves(),
		first: make(map[firn.EntryID]firn.EntryID),
	}
}

// Print adds the lines that say e to dst.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	h, isHeader := e.Body.(*firn.Header)
	switch {
	case p.old:
		return dst, fmt.Errorf("adding to a session of pi: %w: the file is of the first version, which pi writes anew when it opens it; open it with pi once", firn.ErrUnsupported)
	case isHeader && p.begun:
		return dst, fmt.Errorf("writing a session of pi: %w: a second header", firn.ErrInvalid)
	case isHeader:
		return p.header(dst, e, h)
	}
	start := len(dst)
	if !p.begun { // without a header pi takes the file for none of its own
		var err error
		if dst, err = p.header(dst, firn.Entry{Time: p.to.Created}, &firn.Header{}); err != nil {
			return dst, err
		}
		p.begun = false
	}
	dst, err := p.entry(dst, e)
	if err != nil {
		return dst[:start], err
	}
	p.begun = true
	return dst, nil
}

// Stale reports whether a line is the header of another file.
func (p *printer) Stale(e firn.Entry, lines [][]byte) bool {
	if _, ok := e.Body.(*firn.Header); !ok || p.to.As == "" {
		return false
	}
	return len(lines) != 1 || text(member(lines[0], "id")) != p.to.As
}

// Finish adds nothing: nothing is held back.
func (p *printer) Finish(dst []byte) ([]byte, error) { return dst, nil }

// entry writes anything but a header.
func (p *printer) entry(dst []byte, e firn.Entry) ([]byte, error) {
	if e.Time.IsZero() {
		e.Time = p.time
	}
	e.Parent = p.moves.under(e.Parent)
	switch b := e.Body.(type) {
	case *firn.Tombstone:
		return p.tombstone(dst, e, b)
	case *firn.Opaque:
		return p.verbatim(dst, e, b.Raw)
	case *firn.Custom:
		if dialect.IsLine(dialect.Pi, b) || dialect.IsLine(dialect.OpenClaw, b) {
			return p.verbatim(dst, e, b.Data)
		}
	}
	shows := p.shows(e.Parent)
	e.Body = p.body(e)
	e.Extra = p.extra(e)
	dst, err := p.line(dst, e)
	if err != nil {
		return dst, err
	}
	p.tell(e, shows)
	return dst, nil
}

// line writes an entry as it is and remembers it.
func (p *printer) line(dst []byte, e firn.Entry) ([]byte, error) {
	out, err := p.lines.Append(dst, e)
	if err != nil {
		return dst, err
	}
	p.note(e.ID, e.Parent, editable(e))
	p.time = e.Time
	return append(out, '\n'), nil
}

// note remembers a line.
func (p *printer) note(id, parent firn.EntryID, editable bool) {
	if parent == firn.Root {
		parent = ""
	}
	p.nodes[id] = node{parent, editable}
	p.last = id
}

// header writes the first line, as pi does: without our mark, by which the file
// would be taken for one of ours.
func (p *printer) header(dst []byte, e firn.Entry, h *firn.Header) ([]byte, error) {
	head := *h
	head.Firn, head.Version = 0, max(h.Version, 3)
	if p.to.Session != "" {
		head.Session = p.to.Session
	}
	if p.to.As != "" {
		head.Session = firn.ID(p.to.As)
	}
	if p.to.CWD != "" {
		head.CWD = p.to.CWD
	}
	if head.ParentSession == "" {
		head.ParentSession = string(p.to.Parent)
	}
	if e.Time.IsZero() {
		e.Time = p.to.Created
	}
	e.ID, e.Parent, e.Body, e.Extra = "", "", &head, withoutIDs(e.Extra)
	out, err := p.lines.Append(dst, e)
	if err != nil {
		return dst, fmt.Errorf("writing a session of pi: %w", err)
	}
	p.begun, p.time = true, e.Time
	return append(out, '\n'), nil
}

// body is what an entry says as pi would have said it. What the entry has is
// not changed.
func (p *printer) body(e firn.Entry) firn.Body {
	switch b := e.Body.(type) {
	case *firn.Message:
		return p.message(e, b)
	case *firn.Compaction:
		c := *b
		c.FirstKept = p.moves.kept(b.FirstKept)
		if c.FirstKept == "" {
			c.FirstKept = e.ID // pi's way to keep nothing
		}
		return &c
	case *firn.Label:
		l := *b
		l.Target = p.moves.now(b.Target)
		return &l
	}
	return e.Body
}

// message fills in what pi always writes and we know.
func (p *printer) message(e firn.Entry, m *firn.Message) firn.Body {
	said := *m
	if said.Time.IsZero() {
		said.Time = e.Time
	}
	if said.Role == firn.RoleAssistant && said.Provider == "" && said.Model == "" {
		said.Provider, said.Model = p.to.Provider, p.to.Model
	}
	return &said
}

// knewField names the last entry that an answer knew of.
const knewField = "knew"

// extra are the further fields of an entry. Those that name entries name the
// ones of this file.
func (p *printer) extra(e firn.Entry) firn.Fields {
	knew := firn.EntryID(text(e.Extra.Get(knewField)))
	if knew == "" || p.moves.now(knew) == knew {
		return e.Extra
	}
	fields := append(firn.Fields(nil), e.Extra...)
	for i := range fields {
		if fields[i].Name == knewField {
			fields[i].Value = rawjson.AppendString(nil, string(p.moves.now(knew)))
		}
	}
	return fields
}

// tell tells of what pi will make something else of, now that it is written.
func (p *printer) tell(e firn.Entry, shows bool) {
	if shows {
		p.lose(e, limitElse)
	}
	if e.Extra.Get(knewField) != nil {
		p.lose(e, limitOrder)
	}
	if t, ok := e.Body.(*firn.Title); ok && !p.titled(t) {
		p.lose(e, limitTitles)
	}
}

// titled takes a title; false if an earlier one counts.
func (p *printer) titled(t *firn.Title) bool {
	if !t.Beats(p.title) {
		return false
	}
	p.title = *t
	return true
}

// lose tells of a loss. The entry itself is written all the same.
func (p *printer) lose(e firn.Entry, limit string) {
	if p.to.Lose != nil {
		p.to.Lose(dialect.Loss{Entry: e.ID, Kind: e.Body.Kind(), Limit: limit})
	}
}

// verbatim writes a line of pi as it is, if it says what the entry says of its
// place, else with the id and the parent changed. What pi would not count among
// its entries (which would part all that follows from what came before) is
// wrapped into one that it does.
func (p *printer) verbatim(dst []byte, e firn.Entry, raw []byte) ([]byte, error) {
	g, err := p.lines.Glance(raw)
	if err != nil || g.Kind == "" || g.Kind == firn.KindHeader || g.ID == "" {
		if _, ok := e.Body.(*firn.Custom); !ok {
			return dst, fmt.Errorf("writing entry %q of a session of pi: %w: it holds no entry", e.ID, firn.ErrInvalid)
		}
		return p.line(dst, e)
	}
	parent := e.Parent
	if parent == firn.Root {
		parent = ""
	}
	var out []byte
	if g.ID == e.ID && g.Parent == parent && !g.NoParent {
		out, err = rawjson.AppendValue(dst, raw)
	} else {
		out, err = relink(dst, raw, link{id: e.ID, parent: parent, meant: p.moves.kept})
	}
	if err != nil {
		return dst, fmt.Errorf("writing entry %q of a session of pi: %w: %w", e.ID, firn.ErrInvalid, err)
	}
	p.note(e.ID, parent, false)
	p.time = e.Time
	return append(out, '\n'), nil
}

// Repeat remembers what is in the file already.
func (p *printer) Repeat(e firn.Entry, lines [][]byte) {
	p.begun = true
	if !e.Time.IsZero() {
		p.time = e.Time
	}
	if e.Body != nil && e.Body.Kind() == firn.KindHeader {
		for _, line := range lines {
			r := rawjson.New(member(line, "version"))
			version, _ := r.Int()
			p.old = version < 2
		}
		return
	}
	own := firn.EntryID("")
	for _, line := range lines {
		if g, err := p.lines.Glance(line); err == nil && g.ID != "" && g.Kind != firn.KindHeader {
			own = g.ID
			p.note(own, g.Parent, editable(e))
		}
	}
	switch {
	case own == "": // a line without an id is no place to hang anything under
		p.moves.leave(e.ID, p.moves.under(e.Parent))
	case own != e.ID:
		p.moves.copy(e.ID, own)
	}
	if of := firn.EntryID(text(e.Extra.Get(copyField))); of != "" {
		p.moves.copy(p.moves.now(of), own)
		p.first[own] = p.original(of)
	}
	switch b := e.Body.(type) {
	case *firn.Title:
		p.titled(b)
	case *firn.Tombstone:
		p.recall(e, b)
	}
}

// Verbatim reports whether a line of firn's own format, which says the entry, is
// what Print would print: what pi itself writes is the same in both.
func (p *printer) Verbatim(e firn.Entry, _ []byte) bool {
	if !p.begun || p.old || len(e.Extra) > 0 || e.Time.IsZero() || p.moves.under(e.Parent) != e.Parent {
		return false
	}
	switch b := e.Body.(type) {
	case *firn.Message:
		return p.same(b)
	case *firn.Compaction:
		return b.FirstKept != "" && p.moves.kept(b.FirstKept) == b.FirstKept
	case *firn.Label:
		return p.moves.now(b.Target) == b.Target
	case *firn.BranchSummary, *firn.ModelChange, *firn.ThinkingChange:
		return true
	}
	return false
}

// same reports whether nothing need be filled in to a message.
func (p *printer) same(m *firn.Message) bool {
	switch m.Role {
	case firn.RoleUser, firn.RoleToolResult:
		return !m.Time.IsZero()
	case firn.RoleAssistant:
		return !m.Time.IsZero() && m.Usage != nil && m.Model != ""
	}
	return false
}
