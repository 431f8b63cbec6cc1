package window

import (
	"crypto/sha1"
	"encoding/hex"
	"strconv"

	"firn.dev"
)

// idStyle is what the ids of calls must look like. Ids are mapped in order, so
// that the same log always gives the same ids and more entries at its end do
// not change those before.
type idStyle struct {
	// also are the characters that are legal beside letters and digits; each
	// other one becomes instead.
	also, instead string
	// max is the greatest length; exact says that it is the only one.
	max   int
	exact bool
	// joint and count go before the hash, and before the number, that tell
	// apart ids which would be the same.
	joint, count string
	// none stands for an empty id, bare for one without a legal character.
	none, bare string
}

var (
	idAnthropic = idStyle{also: "_-", instead: "_", max: 64, joint: "_", count: "_", none: "call", bare: "call"}
	idChat      = idStyle{also: "_-", instead: "_", max: 40, joint: "_", count: "_", none: "call", bare: "call"}
	idResponses = idAnthropic
	// The strict styles map as OpenClaw does, so that a session looks the same
	// to Gemini and Mistral whichever of us sends it.
	idStrict  = idStyle{max: 40, count: "x", none: "defaulttoolid", bare: "sanitizedtoolid"}
	idStrict9 = idStyle{max: 9, exact: true, none: "defaultid", bare: "defaultid"}
)

const callIDsRule = "call-ids"

// callIDs makes the ids of calls legal and unique within the window, and
// renames their results along. It wants calls and results paired.
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

// idNames hands out ids.
type idNames struct {
	idStyle
	used map[string]bool
	// tries is how often an id had to be told apart, which is where the next
	// attempt begins: a session may well use one id for all of its calls.
	tries map[string]int
}

// renameCalls gives the calls of a message their ids. It returns the new ids
// by old id, in the order of calls, or nil if all stay as they are.
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

// base is an id made legal, but for its length and for being unique.
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

// unique is an id made legal that was not handed out yet.
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

// other is the nth other name for an id.
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
