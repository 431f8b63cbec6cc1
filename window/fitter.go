package window

import (
	"firn.dev"
)

// Fitter makes the messages of a transcript fit a provider, one after the other
// and in the order of their path, so that the transcript may be of any size. It
// is for a transcript that another tool goes on with: the tool sends it to its
// provider message by message, and the provider refuses it as a whole for one
// call id that is too long.
//
// Only the rules of the profile about what is inside a message are applied: parts
// that the API does not know, bytes that are not text, arguments, names of tools,
// single images, and the ids of calls. Which thinking is sent back, and how
// messages are joined, is for the tool.
type Fitter struct {
	profile Profile
	rules   []Rule
	ids     idNames
	// renamed maps the ids of calls to those they have now, for the results to
	// come.
	renamed map[string][]string
}

// NewFitter returns a Fitter for a provider. Parts of unknown kinds are left out
// unless known reports that the tool takes them; nil: it takes none.
func NewFitter(profile Profile, known func(firn.Role, firn.OpaquePart) bool) *Fitter {
	profile.Images.Count, profile.Images.TotalBytes = 0, 0 // they bound a request, not a message
	return &Fitter{
		profile: profile,
		rules:   []Rule{knownParts(known), cleanText, arguments, profile.names, images},
		ids:     idNames{idStyle: profile.ids, used: make(map[string]bool)},
		renamed: make(map[string][]string),
	}
}

// Fit returns the message as the provider takes it, and what was changed; m itself
// if that is nothing. A message of which nothing is left is nil. A result has the
// id that its call was given.
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

// Note tells the fitter that a message stays as it is: its calls keep their ids.
func (f *Fitter) Note(m *firn.Message) {
	for _, part := range m.Parts {
		if call, ok := part.(firn.ToolCall); ok {
			f.ids.used[call.ID] = true
			delete(f.renamed, call.ID)
		}
	}
}

// Renames reports whether a message holds a result whose call was given another
// id, so that it cannot stay as it is.
func (f *Fitter) Renames(m *firn.Message) bool {
	for _, part := range m.Parts {
		if result, ok := part.(firn.ToolResult); ok && len(f.renamed[result.CallID]) > 0 {
			return true
		}
	}
	return false
}

// renameResults gives the results of a message the ids of their calls.
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

// partOmitted stands in a result for a part that cannot be sent.
const partOmitted = "[part omitted: its kind is not known]"

// knownParts leaves out the parts of unknown kinds that a tool does not take,
// and images that the assistant says.
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
			if role == firn.RoleToolResult { // a result must say something
				return firn.Text{Text: partOmitted}, change
			}
			return nil, drop
		})
	}}
}
