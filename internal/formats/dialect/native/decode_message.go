package native

import (
	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// messageBuffer is a firn.Message with space for the members that most messages have, so
// that decoding one takes a single allocation.
type messageBuffer struct {
	message firn.Message
	usage   firn.Usage
	parts   [4]firn.Part
}

// messageEntry reads a member of an entry of type message.
func (d *decoder) messageEntry(m *firn.Message) bool {
	if string(d.r.Key()) != "message" {
		return false
	}
	if d.seen&hasBody != 0 {
		d.seen |= hasTwice
	}
	return d.essential(d.message(m))
}

// message reads the message itself. If the message is invalid, it returns false and
// consumes nothing.
func (d *decoder) message(m *firn.Message) bool {
	start := d.r
	role := firn.Role(d.r.Lookahead("role"))
	if role == "" || !d.r.Object() {
		return false
	}
	m.Role = knownRole(role)
	ok := false
	switch m.Role {
	case firn.RoleToolResult:
		ok = d.toolResult(m)
	case firn.RoleShell:
		ok = d.shell(m)
	default:
		ok = d.plainMessage(m)
	}
	if !ok && d.r.Err() == nil {
		d.r = start
	}
	return ok
}

// knownRole returns the constant for a known role, so that the role does not keep a long
// line in memory.
func knownRole(role firn.Role) firn.Role {
	switch role {
	case firn.RoleUser:
		return firn.RoleUser
	case firn.RoleAssistant:
		return firn.RoleAssistant
	case firn.RoleToolResult:
		return firn.RoleToolResult
	case firn.RoleShell:
		return firn.RoleShell
	case firn.RoleSystem:
		return firn.RoleSystem
	}
	return role
}

// plainMessage reads the members of a message of the user, the assistant or an unknown
// role. Only an unknown role may have no content.
func (d *decoder) plainMessage(m *firn.Message) bool {
	hasContent := !requiresContent(m.Role)
	for d.r.Member() {
		if string(d.r.Key()) == "content" && d.parts(&m.Parts, d.room.parts[:0]) {
			if m.Parts == nil && !requiresContent(m.Role) {
				m.Parts = []firn.Part{} // an empty slice is written; nil is not
			}
			hasContent = true
			continue
		}
		d.commonMember(m)
	}
	return hasContent
}

// requiresContent reports whether messages of this role must have content.
func requiresContent(role firn.Role) bool {
	return role == firn.RoleUser || role == firn.RoleAssistant || role == firn.RoleSystem
}

// toolResult reads the members of a message of role toolResult.
func (d *decoder) toolResult(m *firn.Message) bool {
	var t firn.ToolResult
	hasContent, hasCall := false, false
	for d.r.Member() {
		ok := false
		switch string(d.r.Key()) {
		case "toolCallId":
			ok = text(&d.r, &t.CallID)
			hasCall = hasCall || ok
		case "toolName":
			ok = text(&d.r, &t.Name)
		case "content":
			ok = d.parts(&t.Content, nil)
			hasContent = hasContent || ok
		case "details":
			t.Details = d.raw()
			ok = true
		case "isError":
			ok = boolean(&d.r, &t.IsError)
		}
		if !ok {
			d.commonMember(m)
		}
	}
	m.Parts = append(d.room.parts[:0], t)
	return hasContent && hasCall
}

// shell reads the members of a message of role bashExecution.
func (d *decoder) shell(m *firn.Message) bool {
	var s firn.Shell
	hasCommand := false
	for d.r.Member() {
		ok := false
		switch string(d.r.Key()) {
		case "command":
			ok = text(&d.r, &s.Command)
			hasCommand = hasCommand || ok
		case "output":
			ok = text(&d.r, &s.Output)
		case "exitCode":
			code := 0
			if ok = integer(&d.r, &code); ok {
				s.ExitCode = &code
			}
		case "cancelled":
			ok = boolean(&d.r, &s.Cancelled)
		case "truncated":
			ok = boolean(&d.r, &s.Truncated)
		case "fullOutputPath":
			ok = text(&d.r, &s.FullOutput)
		case "excludeFromContext":
			ok = boolean(&d.r, &s.Hidden)
		}
		if !ok {
			d.commonMember(m)
		}
	}
	m.Parts = append(d.room.parts[:0], s)
	return hasCommand
}

// commonMember reads a member that messages of every role may have. It stores any other
// member in Extra.
func (d *decoder) commonMember(m *firn.Message) {
	ok := false
	switch string(d.r.Key()) {
	case "role":
		d.r.Skip()
		ok = true
	case "timestamp":
		ok = epochTime(&d.r, &m.Time)
	case "api":
		ok = text(&d.r, &m.API)
	case "provider":
		ok = text(&d.r, &m.Provider)
	case "model":
		ok = text(&d.r, &m.Model)
	case "usage":
		ok = d.usage(m)
	case "stopReason":
		ok = text(&d.r, &m.StopReason)
	case "errorMessage":
		ok = text(&d.r, &m.Error)
	}
	if !ok {
		d.carry(&m.Extra)
	}
}

// usage reads the usage of a response. An all-zero usage is treated as absent: it is
// written only because pi requires one.
func (d *decoder) usage(m *firn.Message) bool {
	if d.r.Null() {
		return true
	}
	start := d.r
	if !d.r.Object() {
		return false
	}
	var u firn.Usage
	for d.r.Member() {
		if !d.usageMember(&u) {
			d.r = start // carry the whole value, not one number without the others
			return false
		}
	}
	m.Usage = nil
	if u.Extra != nil || u.Total != 0 || u.Input != 0 || u.Output != 0 || u.CacheRead != 0 || u.CacheWrite != 0 || u.Cost != (firn.Cost{}) {
		d.room.usage = u
		m.Usage = &d.room.usage
	}
	return true
}

func (d *decoder) usageMember(u *firn.Usage) bool {
	switch string(d.r.Key()) {
	case "input":
		return integer(&d.r, &u.Input)
	case "output":
		return integer(&d.r, &u.Output)
	case "cacheRead":
		return integer(&d.r, &u.CacheRead)
	case "cacheWrite":
		return integer(&d.r, &u.CacheWrite)
	case "totalTokens":
		return integer(&d.r, &u.Total)
	case "cost":
		d.cost(u)
	default:
		d.carry(&u.Extra)
	}
	return true
}

// cost reads the cost. If it has members without a field, the whole value is also stored in
// Extra, and written instead of the fields.
func (d *decoder) cost(u *firn.Usage) {
	start := d.r
	u.Cost = firn.Cost{}
	whole := d.r.Object()
	if whole {
		for d.r.Member() {
			if !costMember(&d.r, &u.Cost) {
				whole = false
				d.r.Skip()
			}
		}
	}
	if !whole && d.r.Err() == nil {
		d.r = start
		d.carry(&u.Extra)
	}
}

func costMember(r *rawjson.Reader, c *firn.Cost) bool {
	switch string(r.Key()) {
	case "input":
		return float(r, &c.Input)
	case "output":
		return float(r, &c.Output)
	case "cacheRead":
		return float(r, &c.CacheRead)
	case "cacheWrite":
		return float(r, &c.CacheWrite)
	case "total":
		return float(r, &c.Total)
	}
	return false
}
