package window

import (
	"firn.dev"
)

// Fitter makes the messages of a transcript fit a provider, one at a time in path order, so
// the transcript may have any size. It is meant for transcripts that another tool
// continues: that tool sends the messages to its provider unchanged, and the provider
// rejects the whole request because of one call ID that is too long.
//
// Only the profile's rules about the content of a message are applied: unknown parts,
// invalid and blank text, arguments, tool names, single images and call IDs. The tool itself decides
// which thinking is sent back and how messages are merged.
type Fitter struct {
	profile Profile
	rules   []Rule
	ids     idNames
	// renamed maps old call IDs to new ones, for results that follow.
	renamed map[string][]string
}

// NewFitter returns a Fitter for a provider. Parts of unknown kinds are left out unless
// known reports that the tool accepts them. A nil known accepts none.
func NewFitter(profile Profile, known func(firn.Role, firn.OpaquePart) bool) *Fitter {
	profile.Images.Count, profile.Images.TotalBytes = 0, 0 // these bound a request, not a message
	return &Fitter{
		profile: profile,
		rules:   []Rule{knownParts(known), cleanText, noBlankText, arguments, profile.names, images},
		ids:     idNames{idStyle: profile.ids, used: make(map[string]bool)},
		renamed: make(map[string][]string),
	}
}

// Fit returns the message as the provider accepts it, and the repairs that were made. It
// returns m itself if there were none, and nil if no part of the message is left. Results
// get the new IDs of their calls.
func (f *Fitter) Fit(id firn.EntryID, m *firn.Message) (*firn.Message, []Repair) {
	pass := newPass(f.profile, Ask{}, 0)
	items := []Item{{Message: *m, From: []firn.EntryID{id}}}
	for _, rule := range f.rules {
		pass.rule = rule.Name
		items = rule.Fix(items, pass)
	}
	pass.rule = callIDsRule
	it := &items[0]
	if m.Role == firn.RoleAssistant {
		for old, ids := range f.ids.renameCalls(it, pass) {
			f.renamed[old] = ids
		}
	}
	f.renameResults(it, pass)
	switch {
	case len(pass.repairs) == 0:
		return m, nil
	case len(it.Message.Parts) == 0:
		return nil, pass.repairs
	}
	return &it.Message, pass.repairs
}

// Note records that a message is used unchanged, so its calls keep their IDs.
func (f *Fitter) Note(m *firn.Message) {
	for _, part := range m.Parts {
		if call, ok := part.(firn.ToolCall); ok {
			f.ids.used[call.ID] = true
			delete(f.renamed, call.ID)
		}
	}
}

// Renames reports whether a message holds a result whose call was renamed, so that it
// cannot be used unchanged.
func (f *Fitter) Renames(m *firn.Message) bool {
	for _, part := range m.Parts {
		if result, ok := part.(firn.ToolResult); ok && len(f.renamed[result.CallID]) > 0 {
			return true
		}
	}
	return false
}

// renameResults gives the results of a message the new IDs of their calls.
func (f *Fitter) renameResults(it *Item, p *Pass) {
	parts, changed := edit(it.Message.Parts, func(part firn.Part) (firn.Part, verdict) {
		result, ok := part.(firn.ToolResult)
		ids := f.renamed[result.CallID]
		if !ok || len(ids) == 0 {
			return part, keep
		}
		if len(ids) > 1 {
			f.renamed[result.CallID] = ids[1:]
		}
		if result.CallID == ids[0] {
			return part, keep
		}
		p.Note(it, "result of call %q sent as that of %s", firn.CutText(result.CallID, 80), ids[0])
		result.CallID = ids[0]
		return result, change
	})
	if changed {
		it.Message.Parts = parts
	}
}

// noBlankText leaves out text of white space, which Anthropic's API rejects. Tools do not
// send empty text, so it stays.
var noBlankText = Rule{"blank-text", func(items []Item, p *Pass) []Item {
	return editAll(items, func(it *Item, part firn.Part) (firn.Part, verdict) {
		if text, ok := part.(firn.Text); !ok || text.Text == "" || !blank(text.Text) {
			return part, keep
		}
		p.Note(it, "blank text left out")
		return nil, drop
	})
}}

// partOmitted replaces a part of a result that cannot be sent.
const partOmitted = "[part omitted: unknown type]"

// knownParts leaves out parts of unknown kinds that the tool does not accept, and images in
// assistant messages.
func knownParts(known func(firn.Role, firn.OpaquePart) bool) Rule {
	return Rule{"parts", func(items []Item, p *Pass) []Item {
		return editAll(items, func(it *Item, part firn.Part) (firn.Part, verdict) {
			role := it.Message.Role
			switch b := part.(type) {
			case firn.OpaquePart:
				if known != nil && known(role, b) {
					return part, keep
				}
			case firn.Image:
				if role != firn.RoleAssistant {
					return part, keep
				}
			default:
				return part, keep
			}
			if q, ok := refit(it, role, part, p); ok {
				return q, change
			}
			if role == firn.RoleToolResult { // a result must not be empty
				return firn.Text{Text: partOmitted}, change
			}
			return nil, drop
		})
	}}
}
