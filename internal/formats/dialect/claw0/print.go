package claw0

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// printer writes a transcript of either version, with calls before their results.
type printer struct {
	// calls holds the printed calls by ID.
	calls   map[string]named
	to      dialect.Target
	current bool
	time    time.Time
	// number is the number of lines in the file.
	number int
	// lines maps entries that are not named by their lines to their position.
	lines map[firn.EntryID]span
}

// span is the lines of an entry.
type span struct{ first, count int }

func newPrinter(options Options, to dialect.Target) *printer {
	return &printer{to: to, current: options.Current, time: to.Created, lines: make(map[firn.EntryID]span)}
}

// Print appends the lines for e.
func (p *printer) Print(dst []byte, e firn.Entry) ([]byte, error) {
	if e.Body == nil {
		return dst, fmt.Errorf("write entry %s for claw0: %w: it is empty", e.ID, firn.ErrInvalid)
	}
	if !e.Time.IsZero() {
		p.time = e.Time
	}
	before := p.number
	dst = p.entry(dst, e)
	if e.ID != "" {
		p.lines[e.ID] = span{before + 1, p.number - before}
	}
	return dst, nil
}

// Finish appends nothing: no lines are held back.
func (p *printer) Finish(dst []byte) ([]byte, error) { return dst, nil }

// Repeat records lines that are already in the file.
func (p *printer) Repeat(e firn.Entry, lines [][]byte) {
	if !e.Time.IsZero() {
		p.time = e.Time
	}
	for _, raw := range lines {
		if l, err := readLine(raw); err == nil {
			p.current = l.kind != kindSession && (l.epoch || p.current && l.time.IsZero())
		}
	}
	number, named := lineNumber(e.ID)
	if !named && e.ID != "" {
		p.lines[e.ID] = span{p.number + 1, len(lines)}
	}
	p.number = max(p.number+len(lines), number)
}

// lineNumber returns the line number in an entry ID.
func lineNumber(id firn.EntryID) (int, bool) {
	text, _, _ := strings.Cut(string(id), ".")
	if len(text) < 7 || text[0] != 'l' {
		return 0, false
	}
	n, err := strconv.Atoi(text[1:])
	return n, err == nil && n > 0
}

// entry writes an entry.
func (p *printer) entry(dst []byte, e firn.Entry) []byte {
	switch b := e.Body.(type) {
	case *firn.Header:
		return p.header(dst, b)
	case *firn.Message:
		return p.message(dst, e, b)
	case *firn.CustomMessage:
		p.to.ReportLoss(&e, limitInjected, len(b.Parts) == 0)
		return p.user(dst, e, b.Parts)
	case *firn.BranchSummary:
		p.to.ReportLoss(&e, limitInjected, b.Summary == "")
		return p.user(dst, e, []firn.Part{firn.Text{Text: "<branch_summary>\n" + b.Summary + "\n</branch_summary>"}})
	case *firn.Title:
		p.to.ReportLoss(&e, limitTitles, b.Name == "")
		return p.title(dst, b)
	case *firn.Compaction:
		p.to.ReportLoss(&e, limitCompaction, b.Summary == "")
		return p.compaction(dst, b)
	case *firn.Tombstone:
		return p.tombstone(dst, e, b)
	case *firn.Custom:
		return p.custom(dst, e, b)
	}
	p.to.ReportLoss(&e, limitOf(e.Body), true)
	return dst
}

// limitOf returns the limit for a body without an equivalent in claw0.
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

// header writes the session line; the current version has none.
func (p *printer) header(dst []byte, b *firn.Header) []byte {
	if p.current {
		return dst
	}
	dst = appendText(dst, `{"type": "session", "id": `, shortID(p.to.Session))
	dst = appendText(dst, `, "key": `, keyOf(p.to, b.Key))
	dst = appendText(dst, `, "created": `, stamp(p.time))
	return p.end(dst)
}

// message writes a message.
func (p *printer) message(dst []byte, e firn.Entry, m *firn.Message) []byte {
	switch m.Role {
	case firn.RoleUser:
		return p.user(dst, e, m.Parts)
	case firn.RoleToolResult:
		return p.results(dst, e, m.Parts)
	case firn.RoleAssistant:
		return p.assistant(dst, e, m)
	case firn.RoleSystem:
		p.to.ReportLoss(&e, limitSystem, len(m.Parts) == 0)
		return p.content(dst, kindSystem, m.Parts)
	case firn.RoleShell:
		p.to.ReportLoss(&e, limitShell, false)
		return p.user(dst, e, shellParts(m.Parts))
	}
	p.to.ReportLoss(&e, limitUnknown, true)
	return dst
}

// user writes a user message: a string, or blocks if there are images.
func (p *printer) user(dst []byte, e firn.Entry, parts []firn.Part) []byte {
	known := p.known(e, parts)
	if len(known) == 0 {
		p.to.ReportLoss(&e, limitEmpty, true)
		return dst
	}
	return p.content(dst, kindUser, known)
}

// content appends a line with parts.
func (p *printer) content(dst []byte, kind string, parts []firn.Part) []byte {
	if len(parts) == 0 {
		return dst
	}
	dst = appendText(dst, `{"type": `, kind)
	dst = append(dst, `, "content": `...)
	return p.endWithTime(appendContent(dst, parts))
}

// appendContent appends parts: texts as one string, others as blocks.
func appendContent(dst []byte, parts []firn.Part) []byte {
	for _, part := range parts {
		if _, ok := part.(firn.Text); !ok {
			return blocks.Append(dst, parts, blocks.Python)
		}
	}
	return rawjson.AppendString(dst, firn.JoinText(parts))
}

// known returns the parts that a provider accepts from a user.
func (p *printer) known(e firn.Entry, parts []firn.Part) (known []firn.Part) {
	for _, part := range parts {
		if blocks.Known(part) {
			known = append(known, part)
		} else {
			p.to.ReportLoss(&e, limitParts, len(parts) == 1)
		}
	}
	return known
}

// results writes tool results.
func (p *printer) results(dst []byte, e firn.Entry, parts []firn.Part) []byte {
	for _, part := range parts {
		r, ok := part.(firn.ToolResult)
		if !ok {
			p.to.ReportLoss(&e, limitParts, len(parts) == 1)
			continue
		}
		if len(r.Details) > 0 {
			p.to.ReportLoss(&e, limitDetails, false)
		}
		dst = appendText(dst, `{"type": "tool_result", "tool_use_id": `, p.calls[r.CallID].or(r.CallID))
		member := `, "output": `
		if p.current {
			member = `, "content": `
		}
		dst = appendContent(append(dst, member...), p.known(e, r.Content))
		if r.IsError {
			p.to.ReportLoss(&e, limitFailures, false)
			dst = append(dst, `, "is_error": true`...)
		}
		dst = p.endWithTime(dst)
	}
	return dst
}

// assistant writes a response: in the first version its text and then its calls, each on a
// line, in the current one all on one line.
func (p *printer) assistant(dst []byte, e firn.Entry, m *firn.Message) []byte {
	answerParts, texts, calls := p.answer(e, m)
	if len(answerParts) == 0 {
		p.to.ReportLoss(&e, limitEmpty, true)
		return dst
	}
	if p.current {
		dst = append(dst, `{"type": "assistant", "content": `...)
		return p.endWithTime(blocks.Append(dst, answerParts, blocks.Python))
	}
	dst = p.content(dst, kindAssistant, texts)
	for _, c := range calls {
		dst = appendText(dst, `{"type": "tool_use", "name": `, c.Name)
		dst = appendText(dst, `, "tool_use_id": `, c.ID)
		dst = append(dst, `, "input": `...)
		out, err := blocks.AppendValue(dst, c.Arguments, blocks.Python)
		if err != nil {
			out = append(dst, "{}"...)
		}
		dst = p.endWithTime(out)
	}
	return dst
}

// named counts the uses of a call ID and holds the ID written for the last of them.
type named struct {
	times int
	name  string
}

func (n named) or(id string) string {
	if n.name == "" {
		return id
	}
	return n.name
}

// callID returns the ID written for a call. claw0 confuses calls with the same ID, so a
// repeated ID gets a numeric suffix.
func (p *printer) callID(e firn.Entry, id string) string {
	n := p.calls[id]
	n.times++
	n.name = id
	if n.times > 1 {
		n.name = fmt.Sprintf("%s_%d", id, n.times)
		p.to.ReportLoss(&e, limitCalls, false)
	}
	if p.calls == nil {
		p.calls = make(map[string]named)
	}
	p.calls[id] = n
	return n.name
}

// answer returns the parts of a response that claw0 can store: texts and calls.
func (p *printer) answer(e firn.Entry, m *firn.Message) (answerParts, texts []firn.Part, calls []firn.ToolCall) {
	if m.Model != "" || m.Usage != nil {
		p.to.ReportLoss(&e, limitAnswers, false)
	}
	parts := m.Parts
	if m.StopReason == firn.StopError || m.StopReason == firn.StopAborted {
		parts = blocks.VisibleTexts(parts)
		p.to.ReportLoss(&e, limitErrors, len(parts) == 0)
	}
	for _, part := range parts {
		switch part := part.(type) {
		case firn.Text:
			if part.Text != "" {
				texts, answerParts = append(texts, part), append(answerParts, part)
			}
		case firn.ToolCall:
			part.ID = p.callID(e, part.ID)
			calls, answerParts = append(calls, part), append(answerParts, part)
		case firn.Thinking:
			p.to.ReportLoss(&e, limitThinking, len(m.Parts) == 1)
		default:
			p.to.ReportLoss(&e, limitParts, len(m.Parts) == 1)
		}
	}
	return answerParts, texts, calls
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
