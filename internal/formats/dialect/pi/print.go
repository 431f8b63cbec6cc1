package pi

import (
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// printer writes a file of pi or appends to one.
type printer struct {
	lines dialect.Dialect
	to    dialect.Target
	// started is set once there is a header, old if pi will rewrite the file when it opens
	// it.
	started, old bool
	// last is the last line, time its time.
	last  firn.EntryID
	time  time.Time
	title firn.Title
	// nodes is the tree of lines in the file.
	nodes nodes
	// moves maps lines that are missing or no longer on the path to their replacements.
	moves moves
	// tombstones lists the tombstones in file order.
	tombstones []tombstoneRef
	// originals maps copies to their original line.
	originals map[firn.EntryID]firn.EntryID
}

func newPrinter(lines dialect.Dialect, to dialect.Target) *printer {
	return &printer{
		lines: lines, to: to, nodes: make(nodes), moves: newMoves(),
		originals: make(map[firn.EntryID]firn.EntryID),
	}
}

// Print appends the lines for e to dst.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	h, isHeader := e.Body.(*firn.Header)
	switch {
	case p.old:
		return dst, fmt.Errorf("append to a session of pi: %w: the file has version 1; open it with pi once to convert it", firn.ErrUnsupported)
	case isHeader && p.started:
		return dst, fmt.Errorf("writing a session of pi: %w: a second header", firn.ErrInvalid)
	case isHeader:
		return p.header(dst, e, h)
	}
	start := len(dst)
	if !p.started { // pi ignores a file without a header
		var err error
		if dst, err = p.header(dst, firn.Entry{Time: p.to.Created}, &firn.Header{}); err != nil {
			return dst, err
		}
		p.started = false
	}
	dst, err := p.entry(dst, e)
	if err != nil {
		return dst[:start], err
	}
	p.started = true
	return dst, nil
}

// Stale reports whether a line is the header of another file.
func (p *printer) Stale(e firn.Entry, lines [][]byte) bool {
	if _, ok := e.Body.(*firn.Header); !ok || p.to.As == "" {
		return false
	}
	return len(lines) != 1 || text(member(lines[0], "id")) != p.to.As
}

// Finish appends nothing: no lines are held back.
func (p *printer) Finish(dst []byte) ([]byte, error) { return dst, nil }

// entry writes any entry except a header.
func (p *printer) entry(dst []byte, e firn.Entry) ([]byte, error) {
	if e.Time.IsZero() {
		e.Time = p.time
	}
	e.Parent = p.moves.parentFor(e.Parent)
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
	shows := p.revealsHidden(e.Parent)
	e.Body = p.body(e)
	e.Extra = p.extra(e)
	dst, err := p.line(dst, e)
	if err != nil {
		return dst, err
	}
	p.reportLosses(e, shows)
	return dst, nil
}

// line writes an entry unchanged and records it.
func (p *printer) line(dst []byte, e firn.Entry) ([]byte, error) {
	out, err := p.lines.Append(dst, e)
	if err != nil {
		return dst, err
	}
	p.addLine(e.ID, e.Parent, editable(e))
	p.time = e.Time
	return append(out, '\n'), nil
}

// addLine records a line.
func (p *printer) addLine(id, parent firn.EntryID, editable bool) {
	if parent == firn.Root {
		parent = ""
	}
	p.nodes[id] = node{parent, editable}
	p.last = id
}

// header writes the first line without firn's mark, which would identify the file as firn's
// own.
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
	p.started, p.time = true, e.Time
	return append(out, '\n'), nil
}

// body returns the body as pi would write it. The original is not modified.
func (p *printer) body(e firn.Entry) firn.Body {
	switch b := e.Body.(type) {
	case *firn.Message:
		return p.message(e, b)
	case *firn.Compaction:
		c := *b
		c.FirstKept = p.moves.firstKept(b.FirstKept)
		if c.FirstKept == "" {
			c.FirstKept = e.ID // how pi keeps nothing
		}
		return &c
	case *firn.Label:
		l := *b
		l.Target = p.moves.current(b.Target)
		return &l
	}
	return e.Body
}

// message fills in the fields that pi always writes, if known.
func (p *printer) message(e firn.Entry, m *firn.Message) firn.Body {
	completed := *m
	if completed.Time.IsZero() {
		completed.Time = e.Time
	}
	if completed.Role == firn.RoleAssistant && completed.Provider == "" && completed.Model == "" {
		completed.Provider, completed.Model = p.to.Provider, p.to.Model
	}
	return &completed
}

// knewField names the last entry that a response was based on.
const knewField = "knew"

// extra returns the extra fields of an entry, with references mapped to entries of this
// file.
func (p *printer) extra(e firn.Entry) firn.Fields {
	knew := firn.EntryID(text(e.Extra.Get(knewField)))
	if knew == "" || p.moves.current(knew) == knew {
		return e.Extra
	}
	fields := append(firn.Fields(nil), e.Extra...)
	for i := range fields {
		if fields[i].Name == knewField {
			fields[i].Value = rawjson.AppendString(nil, string(p.moves.current(knew)))
		}
	}
	return fields
}

// reportLosses reports the losses of a written entry.
func (p *printer) reportLosses(e firn.Entry, shows bool) {
	if shows {
		p.to.ReportLoss(&e, limitElse, false)
	}
	if e.Extra.Get(knewField) != nil {
		p.to.ReportLoss(&e, limitOrder, false)
	}
	if t, ok := e.Body.(*firn.Title); ok && !p.setTitle(t) {
		p.to.ReportLoss(&e, limitTitles, false)
	}
}

// setTitle records a title. It returns false if an earlier one takes precedence.
func (p *printer) setTitle(t *firn.Title) bool {
	if !t.Beats(p.title) {
		return false
	}
	p.title = *t
	return true
}

// verbatim writes an original line of pi: unchanged if its ID and parent match the entry,
// otherwise with these replaced. A line that pi would not treat as an entry, which would
// disconnect the entries after it, is wrapped in one.
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
		out, err = relink(dst, raw, link{id: e.ID, parent: parent, resolve: p.moves.firstKept})
	}
	if err != nil {
		return dst, fmt.Errorf("writing entry %q of a session of pi: %w: %w", e.ID, firn.ErrInvalid, err)
	}
	p.addLine(e.ID, parent, false)
	p.time = e.Time
	return append(out, '\n'), nil
}

// Repeat records an entry that is already in the file.
func (p *printer) Repeat(e firn.Entry, lines [][]byte) {
	p.started = true
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
			p.addLine(own, g.Parent, editable(e))
		}
	}
	switch {
	case own == "": // a line without an ID cannot have children
		p.moves.detach(e.ID, p.moves.parentFor(e.Parent))
	case own != e.ID:
		p.moves.copy(e.ID, own)
	}
	if of := firn.EntryID(text(e.Extra.Get(copyField))); of != "" {
		p.moves.copy(p.moves.current(of), own)
		p.originals[own] = p.original(of)
	}
	switch b := e.Body.(type) {
	case *firn.Title:
		p.setTitle(b)
	case *firn.Tombstone:
		p.repeatTombstone(e, b)
	}
}

// Verbatim reports whether a line in firn's own format is identical to the output of Print
// for the entry. Entry types that pi itself writes are the same in both formats.
func (p *printer) Verbatim(e firn.Entry, _ []byte) bool {
	if !p.started || p.old || len(e.Extra) > 0 || e.Time.IsZero() || p.moves.parentFor(e.Parent) != e.Parent {
		return false
	}
	switch b := e.Body.(type) {
	case *firn.Message:
		return p.isComplete(b)
	case *firn.Compaction:
		return b.FirstKept != "" && p.moves.firstKept(b.FirstKept) == b.FirstKept
	case *firn.Label:
		return p.moves.current(b.Target) == b.Target
	case *firn.BranchSummary, *firn.ModelChange, *firn.ThinkingChange:
		return true
	}
	return false
}

// isComplete reports whether message would fill in nothing.
func (p *printer) isComplete(m *firn.Message) bool {
	switch m.Role {
	case firn.RoleUser, firn.RoleToolResult:
		return !m.Time.IsZero()
	case firn.RoleAssistant:
		return !m.Time.IsZero() && m.Usage != nil && m.Model != ""
	}
	return false
}
