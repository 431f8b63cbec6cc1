package blocks

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Sidechain returns the message of a sub-agent recorded in the transcript of another agent,
// as Claude Code wrote it until 2.0 and importers keep it. It is not sent to models but is
// shown and searched. It returns false for any other entry.
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
				m.Parts, _ = Read(r.Raw()) // unreadable content counts as empty
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
