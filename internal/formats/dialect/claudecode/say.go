package claudecode

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/base/blocks"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// told writes the record of something that is said beside answers.
func (p *printer) told(dst []byte, e firn.Entry) []byte {
	r := record{kind: "user", uuid: string(p.uuid(e.ID)), copyOf: p.copying[e.ID], meta: string(e.Extra.Get("isMeta")) == "true"}
	var parts []firn.Part
	switch b := e.Body.(type) {
	case *firn.CustomMessage:
		p.lose(e, limitNotes, false)
		r.meta, parts = true, b.Parts
		r.firn = object(text("kind", string(firn.KindCustomMessage)), text("type", b.Type), flag("display", b.Display), raw("details", b.Details))
	case *firn.BranchSummary:
		p.lose(e, limitNotes, false)
		r.meta, parts = true, []firn.Part{firn.Text{Text: "Summary of a branch of this conversation that was left:\n\n" + b.Summary}}
		r.firn = object(text("kind", string(firn.KindBranchSummary)), text("from", string(p.scanned(b.From))), text("summary", b.Summary),
			raw("details", b.Details), flag("fromHook", b.FromHook))
	case *firn.Message:
		parts = b.Parts
		if b.Role == firn.RoleSystem {
			p.lose(e, limitSystem, false)
			r.meta, r.firn = true, object(text("role", string(b.Role)))
		}
		if b.Role == firn.RoleShell {
			c, ok := command(b)
			if !ok || c.Hidden {
				p.drop(e, limitCommands)
				return dst
			}
			p.lose(e, limitCommands, false)
			parts, r.firn = shellParts(c), shellJSON(c)
		}
	}
	parts = p.sayable(e, &firn.Message{Role: firn.RoleUser}, parts)
	if len(parts) == 0 {
		p.drop(e, limitEmpty)
		return dst
	}
	dst, r.parent = p.close(dst, p.above(e.Parent), e)
	r.at = p.stamp(e.Time)
	r.message = userJSON(parts)
	p.say(r.uuid, e)
	return p.record(dst, r)
}

// drop leaves an entry out: what hangs under it follows the record before it.
func (p *printer) drop(e firn.Entry, limit string) {
	p.lose(e, limit, true)
	p.follow(e)
}

func (p *printer) dropAll(entries []firn.Entry, limit string) {
	for _, e := range entries {
		p.drop(e, limit)
	}
}

// sayable are the parts of an entry that Anthropic's API has blocks for and
// takes from who says them.
func (p *printer) sayable(e firn.Entry, m *firn.Message, parts []firn.Part) []firn.Part {
	var kept []firn.Part
	for _, part := range parts {
		switch b := part.(type) {
		case firn.Text:
			if b.Text == "" {
				continue // the API refuses it, and it says nothing
			}
			if b.Signature != "" {
				p.lose(e, limitSignatures, false)
			}
		case firn.Thinking:
			if m.Role != firn.RoleAssistant || b.Signature == "" || m.Provider != "" && m.Provider != provider {
				p.lose(e, limitThinking, false)
				continue
			}
		case firn.ToolCall:
			b.ID = p.legalID(e, b.ID)
			if b.Signature != "" {
				p.lose(e, limitSignatures, false)
			}
			part = b
		}
		if !p.fits(m.Role, part) {
			p.lose(e, limitParts, false)
			continue
		}
		kept = append(kept, part)
	}
	return kept
}

// fits reports whether a part has its place in what a role says.
func (p *printer) fits(role firn.Role, part firn.Part) bool {
	if !blocks.Known(part) {
		return false
	}
	switch part.(type) {
	case firn.Image:
		return role != firn.RoleAssistant
	case firn.ToolCall, firn.Thinking:
		return role == firn.RoleAssistant
	case firn.ToolResult:
		return false // it has a message of its own
	}
	return true
}

// legalID is the id of a call as the API takes it.
func (p *printer) legalID(e firn.Entry, id string) string {
	clean := legal(id)
	if clean != id {
		p.lose(e, limitCallIDs, false)
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

// synthetic is the model of answers that Claude Code writes itself, such as
// errors of the API. It sends an answer that failed again, unless it is one of
// these.
const synthetic = "<synthetic>"

// answerJSON is the message of an answer as the API gives it.
func (p *printer) answerJSON(uuid string, m *firn.Message, parts []firn.Part) []byte {
	w := writer{dst: []byte{'{'}}
	id := textField(m.Extra, dialect.ResponseID)
	if id == "" || p.copying != nil {
		id = "msg_" + strings.ReplaceAll(uuid, "-", "") // versions before 2.1 join answers of the same id
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

// whose tells of an answer what its record has no members for; nil if there is
// nothing to tell.
func whose(m *firn.Message) []byte {
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

// theirs reports whether a tool is named as Claude Code names its own, which
// alone it reads the details of.
func theirs(name string) bool {
	return strings.HasPrefix(name, "mcp__") || name != "" && name[0] >= 'A' && name[0] <= 'Z'
}

// detailsOf lists the details of results, null for those without.
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

// command is the command of a message.
func command(m *firn.Message) (firn.Shell, bool) {
	if len(m.Parts) != 1 {
		return firn.Shell{}, false
	}
	c, ok := m.Parts[0].(firn.Shell)
	return c, ok
}

// shellParts says a command as Claude Code does in bash mode.
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

// textField is a field that is a text; empty if it is none.
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
