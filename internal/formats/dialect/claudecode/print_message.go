package claudecode

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// printAside writes the record of an entry outside of responses: a user message or text for
// the model.
func (p *printer) printAside(dst []byte, e firn.Entry) []byte {
	r := record{kind: "user", uuid: string(p.uuid(e.ID)), copyOf: p.copying[e.ID], meta: string(e.Extra.Get("isMeta")) == "true"}
	var parts []firn.Part
	switch b := e.Body.(type) {
	case *firn.CustomMessage:
		p.to.ReportLoss(&e, limitNotes, false)
		r.meta, parts = true, b.Parts
		r.firn = object(text("kind", string(firn.KindCustomMessage)), text("type", b.Type), flag("display", b.Display), raw("details", b.Details))
	case *firn.BranchSummary:
		p.to.ReportLoss(&e, limitNotes, false)
		r.meta, parts = true, []firn.Part{firn.Text{Text: "Summary of a branch of this conversation that was left:\n\n" + b.Summary}}
		r.firn = object(text("kind", string(firn.KindBranchSummary)), text("from", string(p.scannerID(b.From))), text("summary", b.Summary),
			raw("details", b.Details), flag("fromHook", b.FromHook))
	case *firn.Message:
		parts = b.Parts
		if b.Role == firn.RoleSystem {
			p.to.ReportLoss(&e, limitSystem, false)
			r.meta, r.firn = true, object(text("role", string(b.Role)))
		}
		if b.Role == firn.RoleShell {
			c, ok := command(b)
			if !ok || c.Hidden {
				p.drop(e, limitCommands)
				return dst
			}
			p.to.ReportLoss(&e, limitCommands, false)
			parts, r.firn = shellParts(c), shellJSON(c)
		}
	}
	parts = p.supportedParts(e, &firn.Message{Role: firn.RoleUser}, parts)
	if len(parts) == 0 {
		p.drop(e, limitEmpty)
		return dst
	}
	dst, r.parent = p.closeOpenCalls(dst, p.recordAbove(e.Parent), e)
	r.at = p.stamp(e.Time)
	r.message = userJSON(parts)
	p.bindRecord(r.uuid, e)
	return p.record(dst, r)
}

// drop omits an entry. Its children follow the record before it.
func (p *printer) drop(e firn.Entry, limit string) {
	p.to.ReportLoss(&e, limit, true)
	p.followParent(e)
}

func (p *printer) dropAll(entries []firn.Entry, limit string) {
	for _, e := range entries {
		p.drop(e, limit)
	}
}

// supportedParts returns the parts of an entry that Anthropic's API accepts from its role.
func (p *printer) supportedParts(e firn.Entry, m *firn.Message, parts []firn.Part) []firn.Part {
	var kept []firn.Part
	for _, part := range parts {
		switch b := part.(type) {
		case firn.Text:
			if b.Text == "" {
				continue // the API rejects empty text
			}
			if b.Signature != "" {
				p.to.ReportLoss(&e, limitSignatures, false)
			}
		case firn.Thinking:
			if m.Role != firn.RoleAssistant || b.Signature == "" || m.Provider != "" && m.Provider != provider {
				p.to.ReportLoss(&e, limitThinking, false)
				continue
			}
		case firn.ToolCall:
			b.ID = p.legalID(e, b.ID)
			if b.Signature != "" {
				p.to.ReportLoss(&e, limitSignatures, false)
			}
			part = b
		}
		if !supportsPart(m.Role, part) {
			p.to.ReportLoss(&e, limitParts, false)
			continue
		}
		kept = append(kept, part)
	}
	return kept
}

// supportsPart reports whether a message of this role may contain the part.
func supportsPart(role firn.Role, part firn.Part) bool {
	if !blocks.Known(part) {
		return false
	}
	switch part.(type) {
	case firn.Image:
		return role != firn.RoleAssistant
	case firn.ToolCall, firn.Thinking:
		return role == firn.RoleAssistant
	case firn.ToolResult:
		return false // it is a message of its own
	}
	return true
}

// legalID returns a call ID that the API accepts.
func (p *printer) legalID(e firn.Entry, id string) string {
	clean := legal(id)
	if clean != id {
		p.to.ReportLoss(&e, limitCallIDs, false)
	}
	return clean
}

func legal(id string) string {
	if id == "" {
		return "_"
	}
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (isWord(byte(r)) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, id)
}

// synthetic is the model of responses that Claude Code writes itself, such as API errors.
// It sends a failed response to the model again, except for these.
const synthetic = "<synthetic>"

// answerJSON encodes a response message as the API returns it.
func (p *printer) answerJSON(uuid string, m *firn.Message, parts []firn.Part) []byte {
	w := writer{dst: []byte{'{'}}
	id := textField(m.Extra, dialect.ResponseID)
	if id == "" || p.copying != nil {
		id = "msg_" + strings.ReplaceAll(uuid, "-", "") // versions before 2.1 merge responses with the same ID
	}
	w.text("id", id)
	w.text("type", "message")
	w.text("role", "assistant")
	model := orElse(m.Model, orElse(p.to.Model, "unknown"))
	if failed(m) {
		model = synthetic
	}
	w.text("model", model)
	w.raw("content", blocks.Append(nil, parts, blocks.Compact))
	w.text("stop_reason", stopWord(m.StopReason))
	w.orNull("stop_sequence", "")
	w.raw("usage", usageJSON(m.Usage))
	return append(w.dst, '}')
}

func stopWord(s firn.StopReason) string {
	switch s {
	case firn.StopToolUse:
		return "tool_use"
	case firn.StopLength:
		return "max_tokens"
	}
	return "end_turn"
}

func usageJSON(u *firn.Usage) []byte {
	if u == nil {
		u = &firn.Usage{}
	}
	w := writer{dst: []byte{'{'}}
	w.integer("input_tokens", u.Input)
	w.integer("cache_creation_input_tokens", u.CacheWrite)
	w.integer("cache_read_input_tokens", u.CacheRead)
	w.integer("output_tokens", u.Output)
	return append(w.dst, '}')
}

// privateAnswer encodes the fields of a response that its record has no members for, nil if
// there are none.
func privateAnswer(m *firn.Message) []byte {
	var members []member
	if m.Provider != "" && m.Provider != provider {
		members = append(members, text("provider", m.Provider), text("api", m.API))
	}
	if failed(m) {
		if m.Model != synthetic {
			members = append(members, text("model", m.Model))
		}
		members = append(members, text("stopReason", string(m.StopReason)), text("errorMessage", m.Error), flag("empty", len(m.Parts) == 0))
	}
	if members == nil {
		return nil
	}
	return object(members...)
}

// isClaudeTool reports whether a tool is named like Claude Code's own or an MCP tool.
// Claude Code reads the details of these only.
func isClaudeTool(name string) bool {
	return strings.HasPrefix(name, "mcp__") || name != "" && name[0] >= 'A' && name[0] <= 'Z'
}

// detailsOf encodes the details of results as an array, null for those without.
func detailsOf(results []firn.Entry) []byte {
	list := []byte{'['}
	for i, e := range results {
		if i > 0 {
			list = append(list, ',')
		}
		details := e.Body.(*firn.Message).Parts[0].(firn.ToolResult).Details
		var err error
		if list, err = rawjson.AppendValue(list, details); err != nil {
			list = append(list, "null"...)
		}
	}
	return append(list, ']')
}

// command returns the shell command of a message.
func command(m *firn.Message) (firn.Shell, bool) {
	if len(m.Parts) != 1 {
		return firn.Shell{}, false
	}
	c, ok := m.Parts[0].(firn.Shell)
	return c, ok
}

// shellParts encodes a shell command as Claude Code does in bash mode.
func shellParts(c firn.Shell) []firn.Part {
	return []firn.Part{
		firn.Text{Text: "<bash-input>" + c.Command + "</bash-input>"},
		firn.Text{Text: "<bash-stdout>" + c.Output + "</bash-stdout><bash-stderr></bash-stderr>"},
	}
}

func shellJSON(c firn.Shell) []byte {
	members := []member{
		text("role", string(firn.RoleShell)), text("command", c.Command), text("output", c.Output), text("fullOutput", c.FullOutput),
		flag("cancelled", c.Cancelled), flag("truncated", c.Truncated),
	}
	if c.ExitCode != nil {
		w := writer{dst: []byte{'{'}}
		w.integer("exitCode", int64(*c.ExitCode))
		members = append(members, raw("exitCode", valueOf(append(w.dst, '}'), "exitCode")))
	}
	return object(members...)
}

// textField returns a field that is a string, "" otherwise.
func textField(f firn.Fields, name string) string {
	r := rawjson.New(f.Get(name))
	s, _ := r.Text()
	return s
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
