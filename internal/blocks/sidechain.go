package blocks

import (
	"strings"

	"firn"
	"firn/internal/rawjson"
)

// Sidechain reads a line that a sub-agent said within the transcript of another, as
// Claude Code wrote it until 2.0 and importers carry it. No model is sent it, but
// people read and search it. It is false for any other entry.
func Sidechain(c *firn.Custom) (*firn.Message, bool) {
	if !strings.HasSuffix(c.Type, ":sidechain") {
		return nil, false
	}
	m := &firn.Message{}
	r := rawjson.New(c.Data)
	for ok := r.Object(); ok && r.Member(); {
		if string(r.Key()) != "message" {
			r.Skip()
			continue
		}
		for ok := r.Object(); ok && r.Member(); {
			switch string(r.Key()) {
			case "role":
				role, _ := r.Text()
				m.Role = firn.Role(role)
			case "content":
				m.Parts, _ = Read(r.Raw()) // what cannot be read says nothing
			default:
				r.Skip()
			}
		}
	}
	if r.End() != nil || len(m.Parts) == 0 || m.Role != firn.RoleUser && m.Role != firn.RoleAssistant {
		return nil, false
	}
	return m, true
}
