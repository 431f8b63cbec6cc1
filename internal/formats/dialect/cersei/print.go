package cersei

import (
	"fmt"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// printer writes a transcript, or bare messages if it appends to such a file.
type printer struct {
	options      Options
	to           dialect.Target
	session, cwd string
	bare         bool
	last         string // the uuid of the last message
	time         time.Time
	// nodes are the entries in order. They determine the lines to delete when an entry
	// hides others.
	nodes []node
	// firsts maps the uuid of a rewritten entry to its key.
	firsts map[string]string
}

func newPrinter(options Options, to dialect.Target) *printer {
	return &printer{
		options: options, to: to, session: string(to.Session), cwd: to.CWD, time: to.Created, firsts: make(map[string]string),
	}
}

// Print appends the lines for e.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	if e.Body == nil {
		return dst, fmt.Errorf("write entry %s for Cersei: %w: it is empty", e.ID, firn.ErrInvalid)
	}
	if !e.Time.IsZero() {
		p.time = e.Time
	}
	switch b := e.Body.(type) {
	case *firn.Header:
		if p.cwd == "" {
			p.cwd = b.CWD
		}
		return dst, nil
	case *firn.Tombstone:
		return p.tombstone(dst, e, b), nil
	case *firn.Compaction:
		return p.compaction(dst, e, b), nil
	}
	n := node{id: e.ID, key: p.key(e.ID)}
	dst, written := p.entry(dst, e, n.key)
	if written {
		n.uuid = n.key
	}
	p.nodes = append(p.nodes, n)
	return dst, nil
}

// Finish appends nothing: no lines are held back.
func (p *printer) Finish(dst []byte) ([]byte, error) { return dst, nil }

// observeLine takes the form and the names of a file from one of its lines.
func (p *printer) observeLine(l *line) {
	if l.isBare() {
		p.bare = true
		return
	}
	if l.session != "" {
		p.session = l.session
	}
	if l.cwd != "" {
		p.cwd = l.cwd
	}
	if _, ok := roles[l.kind]; ok && l.uuid != "" && !l.sidechain {
		p.last = l.uuid
	}
}

// key returns the key of an entry, which is also the uuid of its line if this printer
// writes it.
func (p *printer) key(id firn.EntryID) string { return dialect.UUID(string(p.to.Session), string(id)) }

// originalKey returns the key of an entry when it was first written. The caller may use the
// entry's own ID or the uuid of its latest copy.
func (p *printer) originalKey(id firn.EntryID) string {
	key := p.key(id)
	if first, again := p.firsts[key]; again {
		return first
	}
	return key
}

// entry writes an entry other than a compaction or a tombstone. spoken reports whether it
// is sent to the model.
func (p *printer) entry(dst []byte, e firn.Entry, uuid string) (out []byte, spoken bool) {
	switch b := e.Body.(type) {
	case *firn.Message:
		return p.message(dst, e, b, uuid)
	case *firn.CustomMessage:
		p.to.ReportLoss(&e, limitInjected, len(b.Parts) == 0)
		return p.user(dst, e, p.known(e, b.Parts), uuid)
	case *firn.BranchSummary:
		p.to.ReportLoss(&e, limitInjected, b.Summary == "")
		text := "<branch_summary>\n" + b.Summary + "\n</branch_summary>"
		return p.user(dst, e, []firn.Part{firn.Text{Text: text}}, uuid)
	case *firn.Title:
		p.to.ReportLoss(&e, limitTitles, p.bare)
		return p.title(dst, b), false
	case *firn.Custom:
		return p.custom(dst, e, b), false
	}
	p.to.ReportLoss(&e, limitOf(e.Body), true)
	return dst, false
}

// limitOf returns the limit for a body without an equivalent in Cersei.
func limitOf(b firn.Body) string {
	switch b.(type) {
	case *firn.Label:
		return limitLabels
	case *firn.ModelChange, *firn.ThinkingChange:
		return limitSettings
	case *firn.Head:
		return limitBranches
	}
	return limitUnknown
}

// title writes a title in a line that Cersei skips.
func (p *printer) title(dst []byte, b *firn.Title) []byte {
	if p.bare {
		return dst
	}
	if p.options.ForClaude {
		dst = appendText(dst, `{"type":"custom-title","customTitle":`, b.Name)
		dst = appendText(dst, `,"sessionId":`, p.session)
		return append(dst, "}\n"...)
	}
	dst = appendText(dst, `{"type":"title","title":`, b.Name)
	if b.Source != "" {
		dst = appendText(dst, `,"source":`, string(b.Source))
	}
	dst = appendText(dst, `,"session_id":`, p.session)
	dst = appendText(dst, `,"timestamp":`, dialect.ChronoTime(p.time))
	return append(dst, "}\n"...)
}

// custom writes an original line of Cersei unchanged. Among bare messages it would make the
// file unreadable for Cersei.
func (p *printer) custom(dst []byte, e firn.Entry, b *firn.Custom) []byte {
	if dialect.IsLine(dialect.Cersei, b) && !p.bare && rawjson.Valid(b.Data) == nil {
		if out, err := rawjson.AppendValue(dst, b.Data); err == nil {
			return append(out, '\n')
		}
	}
	p.to.ReportLoss(&e, limitCustom, true)
	return dst
}

// message writes a message.
func (p *printer) message(dst []byte, e firn.Entry, m *firn.Message, uuid string) ([]byte, bool) {
	switch m.Role {
	case firn.RoleUser, firn.RoleToolResult:
		return p.user(dst, e, p.known(e, m.Parts), uuid)
	case firn.RoleSystem:
		return p.write(dst, e, utterance{kind: "system", parts: p.known(e, m.Parts), uuid: uuid})
	case firn.RoleShell:
		p.to.ReportLoss(&e, limitShell, false)
		return p.user(dst, e, shellParts(m.Parts), uuid)
	case firn.RoleAssistant:
		if m.StopReason == firn.StopError || m.StopReason == firn.StopAborted {
			parts := blocks.VisibleTexts(m.Parts)
			p.to.ReportLoss(&e, limitErrors, len(parts) == 0)
			return p.write(dst, e, utterance{kind: "assistant", parts: parts, uuid: uuid, answer: m})
		}
		return p.write(dst, e, utterance{kind: "assistant", parts: p.thinking(e, m, p.known(e, m.Parts)), uuid: uuid, answer: m})
	}
	p.to.ReportLoss(&e, limitUnknown, true)
	return dst, false
}

func (p *printer) user(dst []byte, e firn.Entry, parts []firn.Part, uuid string) ([]byte, bool) {
	return p.write(dst, e, utterance{kind: "user", parts: parts, uuid: uuid})
}

// known returns the parts that Cersei knows.
func (p *printer) known(e firn.Entry, parts []firn.Part) []firn.Part {
	var known []firn.Part
	for _, part := range parts {
		if !blocks.Known(part) {
			p.to.ReportLoss(&e, limitParts, len(parts) == 1)
			continue
		}
		if result, ok := part.(firn.ToolResult); ok && len(result.Details) > 0 {
			p.to.ReportLoss(&e, limitDetails, false)
		}
		known = append(known, part)
	}
	return known
}

// thinking removes thinking that Anthropic has not signed: Cersei would send it, and the
// API would reject it.
func (p *printer) thinking(e firn.Entry, m *firn.Message, parts []firn.Part) []firn.Part {
	who := m.API + " " + m.Provider
	if who == " " || strings.Contains(who, "anthropic") || strings.Contains(m.Model, "claude") {
		return parts
	}
	var rest []firn.Part
	for _, part := range parts {
		if _, ok := part.(firn.Thinking); ok {
			p.to.ReportLoss(&e, limitThinking, len(parts) == 1)
			continue
		}
		rest = append(rest, part)
	}
	return rest
}

// shellParts renders shell commands of the user as text.
func shellParts(parts []firn.Part) []firn.Part {
	var shown []firn.Part
	for _, part := range parts {
		if s, ok := part.(firn.Shell); ok && !s.Hidden {
			shown = append(shown, firn.Text{Text: "Ran `" + s.Command + "`\n```\n" + s.Output + "\n```"})
		}
	}
	return shown
}
