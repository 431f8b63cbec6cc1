package claudecode

import (
	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Lines of type "firn" hold entries that Claude Code has no lines for. They are not part of
// its chain, so it ignores them. Their member "firn" holds the entry:
//
//	{"type":"firn","firn":{"id":"…","kind":"label","target":"…","name":"…"},"timestamp":"…","sessionId":"…"}
//
// Messages without an equivalent in Claude Code are user messages with an additional member
// "firn".

// privateID returns the entry ID in a private line.
func privateID(l line) string {
	if l.kind != "firn" {
		return ""
	}
	return textOf(l.firn, "id")
}

// private reads a private line.
func (s *scanner) private(l *line, data []byte) {
	body := s.privateBody(l)
	if body == nil {
		s.add(s.custom(l, data, l.kind))
		return
	}
	s.releaseReply("")
	e := firn.Entry{ID: s.id(l), Time: s.now, Body: body}
	if target := textOf(l.firn, "target"); body.Kind() == firn.KindHead && s.thread.has(target) {
		s.reply = nil
		e.Parent = s.thread.move(target)
		s.push(e)
		return
	}
	s.add(e)
}

// privateBody decodes the body of a private line, nil if its kind is unknown.
func (s *scanner) privateBody(l *line) firn.Body {
	text := func(name string) string { return textOf(l.firn, name) }
	switch firn.Kind(text("kind")) {
	case firn.KindLabel:
		return &firn.Label{Target: firn.EntryID(text("target")), Name: text("name")}
	case firn.KindTombstone:
		return &firn.Tombstone{Target: firn.EntryID(text("target")), Reason: text("reason")}
	case firn.KindModelChange:
		return &firn.ModelChange{Provider: text("provider"), Model: text("model")}
	case firn.KindThinkingChange:
		return &firn.ThinkingChange{Level: text("level")}
	case firn.KindHead:
		return &firn.Head{Reason: text("reason")}
	case firn.KindCustom:
		return &firn.Custom{Type: text("type"), Data: rawjson.CleanLine(valueOf(l.firn, "data"))}
	}
	return nil
}

// readPrivateMessage decodes a message that firn wrote for an entry without an equivalent
// in Claude Code.
func (s *scanner) readPrivateMessage(l *line, m *message) (firn.Entry, bool) {
	text := func(name string) string { return textOf(l.firn, name) }
	e := firn.Entry{Time: s.now}
	switch kind := firn.Kind(text("kind")); {
	case len(l.firn) == 0 || m.answer:
		return e, false
	case kind == firn.KindCustomMessage:
		e.Body = &firn.CustomMessage{Type: text("type"), Parts: m.parts, Display: boolOf(l.firn, "display"), Details: rawjson.CleanLine(valueOf(l.firn, "details"))}
	case kind == firn.KindBranchSummary:
		e.Body = &firn.BranchSummary{
			From: firn.EntryID(text("from")), Summary: text("summary"), Details: rawjson.CleanLine(valueOf(l.firn, "details")), FromHook: boolOf(l.firn, "fromHook"),
		}
	case text("role") == string(firn.RoleSystem):
		e.Body = &firn.Message{Role: firn.RoleSystem, Parts: m.parts, Time: s.now}
	case text("role") == string(firn.RoleShell):
		e.Body = &firn.Message{Role: firn.RoleShell, Parts: []firn.Part{shellOf(l.firn)}, Time: s.now}
	default:
		return e, false
	}
	return e, true
}

// shellOf decodes a shell command that the user ran.
func shellOf(raw []byte) firn.Shell {
	c := firn.Shell{
		Command: textOf(raw, "command"), Output: textOf(raw, "output"), FullOutput: textOf(raw, "fullOutput"),
		Cancelled: boolOf(raw, "cancelled"), Truncated: boolOf(raw, "truncated"),
	}
	if code, ok := intOf(raw, "exitCode"); ok {
		exit := int(code)
		c.ExitCode = &exit
	}
	return c
}
