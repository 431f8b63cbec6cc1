package window

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"

	"firn.dev"
)

// idStyle is the format that an API requires of call IDs. IDs are mapped in order, so the
// same log always produces the same IDs, and appending entries does not change earlier
// ones.
type idStyle struct {
	// also lists the legal characters besides letters and digits; every other character is
	// replaced by instead.
	also, instead string
	// max is the maximum length; if exact is set, it is the only legal length.
	max   int
	exact bool
	// joint and count precede the hash and the number that make equal IDs unique.
	joint, count string
	// none replaces an empty ID, bare one without legal characters.
	none, bare string
}

var (
	idAnthropic = idStyle{also: "_-", instead: "_", max: 64, joint: "_", count: "_", none: "call", bare: "call"}
	idChat      = idStyle{also: "_-", instead: "_", max: 40, joint: "_", count: "_", none: "call", bare: "call"}
	idResponses = idAnthropic
	// The strict styles map IDs as OpenClaw does, so that Gemini and Mistral see the same
	// session from either program.
	idStrict  = idStyle{max: 40, count: "x", none: "defaulttoolid", bare: "sanitizedtoolid"}
	idStrict9 = idStyle{max: 9, exact: true, none: "defaultid", bare: "defaultid"}
)

const callIDsRule = "call-ids"

// callIDs makes the IDs of calls legal and unique within the window, and renames their
// results. It requires calls and results to be paired.
func callIDs(style idStyle) Rule {
	return Rule{callIDsRule, func(items []Item, p *Pass) []Item {
		names := idNames{idStyle: style, used: make(map[string]bool, len(items)/2)}
		for i := range items {
			if items[i].Message.Role != firn.RoleAssistant {
				continue
			}
			if renamed := names.renameCalls(&items[i], p); renamed != nil {
				renameResults(items[i+1:], renamed)
			}
		}
		return items
	}}
}

// idNames assigns IDs.
type idNames struct {
	idStyle
	used map[string]bool
	// tries counts the attempts per ID, so that the next attempt starts there: a session
	// may use one ID for all of its calls.
	tries map[string]int
}

// renameCalls assigns IDs to the calls of a message. It returns the new IDs by old ID, in
// call order, or nil if all are unchanged.
func (s *idNames) renameCalls(it *Item, p *Pass) map[string][]string {
	var ids [][2]string
	parts, changed := edit(it.Message.Parts, func(part firn.Part) (firn.Part, verdict) {
		call, ok := part.(firn.ToolCall)
		if !ok {
			return part, keep
		}
		old := call.ID
		call.ID = s.unique(old)
		ids = append(ids, [2]string{old, call.ID})
		if call.ID == old {
			return part, keep
		}
		p.Note(it, "call %q sent as %s", firn.CutText(old, 80), call.ID)
		return call, change
	})
	if !changed {
		return nil
	}
	it.Message.Parts = parts
	renamed := make(map[string][]string, len(ids))
	for _, id := range ids {
		renamed[id[0]] = append(renamed[id[0]], id[1])
	}
	return renamed
}

// renameResults renames the results that follow a message.
func renameResults(items []Item, renamed map[string][]string) {
	for i := range items {
		result, ok := resultOf(&items[i])
		if !ok {
			return
		}
		ids := renamed[result.CallID]
		if len(ids) == 0 {
			continue
		}
		renamed[result.CallID] = ids[1:]
		if result.CallID != ids[0] {
			result.CallID = ids[0]
			items[i].Message.Parts = []firn.Part{result}
		}
	}
}

// base returns a legal form of an ID, disregarding length and uniqueness.
func (s idStyle) base(id string) string {
	if id == "" {
		return s.none
	}
	base := sanitize(id, s.also, s.instead)
	if base == "" {
		base = s.bare
	}
	if s.exact && len(base) < s.max {
		base = shortHash(base, s.max)
	} else if s.exact {
		base = base[:s.max]
	}
	return base
}

// unique returns a legal form of an ID that has not been assigned yet.
func (s *idNames) unique(id string) string {
	name := firn.CutText(s.base(id), s.max)
	for s.used[name] {
		if s.tries == nil {
			s.tries = make(map[string]int)
		}
		name = s.other(id, s.tries[id])
		s.tries[id]++
	}
	s.used[name] = true
	return name
}

// other returns the nth alternative for an ID.
func (s *idNames) other(id string, n int) string {
	if s.exact {
		return shortHash(id+":"+strconv.Itoa(n), s.max)
	}
	hash := s.joint + shortHash(id, 8)
	name := firn.CutText(s.base(id), s.max-len(hash)) + hash
	if n == 0 {
		return name
	}
	suffix := s.count + strconv.Itoa(n+1)
	return firn.CutText(name, s.max-len(suffix)) + suffix
}

func shortHash(s string, n int) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])[:n]
}
