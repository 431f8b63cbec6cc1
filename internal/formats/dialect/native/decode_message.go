package native

import (
	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// room is a firn.Message with space for what most messages have, so that
// reading one is a single allocation.
type room struct {
	message firn.Message
	usage   firn.Usage
	parts   [4]firn.Part
}

// messageEntry reads a member of an entry of the type message.
func (d *decoder) messageEntry(m *firn.Message) bool {
	if string(d.r.Key()) != "message" {
		return false
	}
	if d.seen&hasBody != 0 {
		d.seen |= hasTwice
	}
	return d.essential(d.message(m))
}

// message reads the message itself. If it makes no sense it returns false and
// consumes nothing.
func (d *decoder) message(m *firn.Message) bool {
	here := d.r
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
		d.r = here
	}
	return ok
}

// knownRole returns the constant for a role that we know, so that a long line
// need not be kept for it.
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

// plainMessage reads the members of a message of the user, the assistant or a
// role that we do not know. Only the latter may have no content.
func (d *decoder) plainMessage(m *firn.Message) bool {
	hasContent := !ourRole(m.Role)
	for d.r.Member() {
		if string(d.r.Key()) == "content" && d.parts(&m.Parts, d.room.parts[:0]) {
			if m.Parts == nil && !ourRole(m.Role) {
				m.Parts = []firn.Part{} // which is written; nil is not
			}
			hasContent = true
			continue
		}
		d.anyMessage(m)
	}
	return hasContent
}

// ourRole reports whether messages of that role must have content.
func ourRole(role firn.Role) bool {
	return role == firn.RoleUser || role == firn.RoleAssistant || role == firn.RoleSystem
}

// toolResult reads the members of a message of the role toolResult.
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
			d.anyMessage(m)
		}
	}
	m.Parts = append(d.room.parts[:0], t)
	return hasContent && hasCall
}

// shell reads the members of a message of the role bashExecution.
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
			d.anyMessage(m)
		}
	}
	m.Parts = append(d.room.parts[:0], s)
	return hasCommand
}

// anyMessage reads a member that messages of every role may have, or carries it.
func (d *decoder) anyMessage(m *firn.Message) {
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

// usage reads what an answer cost. One that is all zero is none: it is written
// because pi cannot do without.
func (d *decoder) usage(m *firn.Message) bool {
	if d.r.Null() {
		return true
	}
	here := d.r
	if !d.r.Object() {
		return false
	}
	var u firn.Usage
	for d.r.Member() {
		if !d.usageMember(&u) {
			d.r = here // carry all of it, not one number without the others
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

// cost reads the price. If there is more to it than we have fields for, it is
// carried as well, and then written instead of the fields.
func (d *decoder) cost(u *firn.Usage) {
	here := d.r
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
		d.r = here
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
