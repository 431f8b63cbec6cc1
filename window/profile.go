package window

import (
	"fmt"
	"slices"

	"firn.dev"
)

// Profile describes the requirements of one provider's API as a list of rules, applied in
// order. Applying them to a window that satisfies them changes nothing.
type Profile struct {
	Name  string
	Rules []Rule
	// Images and Documents bound the images and documents of a request.
	Images    ImageLimits
	Documents DocumentLimits

	// ids and names are the rules for calls that a [Fitter] applies.
	ids   idStyle
	names Rule
}

// Rule is one requirement of an API, with the function that enforces it.
type Rule struct {
	Name string
	// Fix changes the items so that they satisfy the rule, records each change, and returns
	// the new items. It may modify the slice, but not the parts of the messages or the data
	// they refer to: those belong to the log and are replaced instead. Fix is idempotent.
	Fix func(items []Item, p *Pass) []Item
}

// Pass is one application of a profile.
type Pass struct {
	profile   Profile
	ask       Ask
	maxImages int
	rule      string
	repairs   []Repair
}

// newPass returns a pass that applies a profile. The limit on images is the smaller of the
// profile's and the caller's: a negative limit allows none, and zero means no limit.
func newPass(profile Profile, ask Ask, maxImages int) *Pass {
	if limit := profile.Images.Count; maxImages == 0 || limit > 0 && limit < maxImages {
		maxImages = limit
	}
	return &Pass{profile: profile, ask: ask, maxImages: maxImages}
}

// Apply makes items satisfy the profile and returns the repairs. The given items are not
// modified.
func (p Profile) Apply(items []Item, ask Ask) ([]Item, []Repair) {
	pass := newPass(p, ask, 0)
	return pass.run(slices.Clone(items)), pass.repairs
}

func (p *Pass) run(items []Item) []Item {
	for _, rule := range p.profile.Rules {
		p.rule = rule.Name
		items = rule.Fix(items, p)
	}
	return items
}

// Ask identifies the model that the request is for.
func (p *Pass) Ask() Ask { return p.ask }

// Note records that the rule changed an item.
func (p *Pass) Note(it *Item, format string, args ...any) {
	p.repairs = append(p.repairs, Repair{Rule: p.rule, Entry: it.entry(), What: fmt.Sprintf(format, args...)})
}

// Anthropic returns the profile of Anthropic's Messages API.
func Anthropic() Profile {
	return Profile{
		Name: "anthropic",
		Rules: slices.Concat(content(thinkingSigned, toolNames),
			[]Rule{pair, callIDs(idAnthropic), mergeUsers, mergeThinkingFirst, beginWithUser, endWithUser}),
		Images:    ImageLimits{Count: 20, Bytes: 5 << 20, TotalBytes: 24 << 20, Side: 8000},
		Documents: DocumentLimits{Count: 20, TotalBytes: 24 << 20, Text: true},
		ids:       idAnthropic,
		names:     toolNames,
	}
}

// OpenAIChat returns the profile of OpenAI's Chat Completions API and of servers compatible
// with it.
func OpenAIChat() Profile {
	return Profile{
		Name: "openai-chat",
		Rules: slices.Concat(content(thinkingNone, toolNames),
			[]Rule{pair, callIDs(idChat), imagesOutsideResults, mergeUsers, mergeAssistants, beginWithUser}),
		Images: ImageLimits{Count: 50, Bytes: 20 << 20, TotalBytes: 45 << 20},
		ids:    idChat,
		names:  toolNames,
	}
}

// OpenAIResponses returns the profile of OpenAI's Responses API.
func OpenAIResponses() Profile {
	return Profile{
		Name: "openai-responses",
		Rules: slices.Concat(content(thinkingItems, toolNames),
			[]Rule{pair, callIDs(idResponses), mergeUsers, mergeAssistants, beginWithUser}),
		Images:    ImageLimits{Count: 50, Bytes: 20 << 20, TotalBytes: 45 << 20},
		Documents: DocumentLimits{Count: 20, TotalBytes: 45 << 20},
		ids:       idResponses,
		names:     toolNames,
	}
}

// Gemini returns the profile of Google's Gemini API.
func Gemini() Profile {
	return Profile{
		Name: "gemini",
		Rules: slices.Concat(content(thinkingBase64, toolNamesGemini),
			[]Rule{pair, callIDs(idStrict), mergeUsers, mergeAssistants, beginWithUser, endWithUser}),
		Images: ImageLimits{Count: 50, Bytes: 7 << 20, TotalBytes: 14 << 20},
		ids:    idStrict,
		names:  toolNamesGemini,
	}
}

// Mistral returns the profile of Mistral's API.
func Mistral() Profile {
	return Profile{
		Name: "mistral",
		Rules: slices.Concat(content(thinkingNone, toolNames),
			[]Rule{pair, callIDs(idStrict9), imagesOutsideResults, mergeUsers, mergeAssistants, answerResults, beginWithUser, endWithUser}),
		Images: ImageLimits{Count: 8, Bytes: 10 << 20, TotalBytes: 45 << 20},
		ids:    idStrict9,
		names:  toolNames,
	}
}

// Portable returns a profile that satisfies both Anthropic and OpenAI, for tools that can
// be configured for either provider.
func Portable() Profile {
	p := Anthropic()
	p.Name, p.Documents = "portable", DocumentLimits{}
	p.ids = idChat
	return p
}

// Profiles returns the profiles of all APIs. [Portable], which is for several, is not among
// them.
func Profiles() []Profile {
	return []Profile{Anthropic(), OpenAIChat(), OpenAIResponses(), Gemini(), Mistral()}
}

// content lists the rules about the content of messages. They precede the rules about
// message order: empty messages must be removed before calls are paired with results.
func content(thinking, names Rule) []Rule {
	return []Rule{shape, cleanText, arguments, names, noEmptyText, thinking, images, documents, noEmptyMessage}
}

// verdict is the decision about a part.
type verdict int

const (
	keep verdict = iota
	change
	drop
)

// edit applies f to each part. The parts are never modified: if f changes or drops one, the
// result is a copy.
func edit(parts []firn.Part, f func(firn.Part) (firn.Part, verdict)) (edited []firn.Part, changed bool) {
	for i, p := range parts {
		q, v := f(p)
		if v != keep && !changed {
			changed = true
			edited = append(make([]firn.Part, 0, len(parts)), parts[:i]...)
		}
		switch {
		case !changed || v == drop:
		case v == change:
			edited = append(edited, q)
		default:
			edited = append(edited, p)
		}
	}
	if !changed {
		return parts, false
	}
	return edited, true
}

// editAll applies editDeep to the parts of all items. f receives the item that contains the
// part.
func editAll(items []Item, f func(*Item, firn.Part) (firn.Part, verdict)) []Item {
	var it *Item
	each := func(p firn.Part) (firn.Part, verdict) { return f(it, p) }
	for i := range items {
		it = &items[i]
		if parts, changed := editDeep(it.Message.Parts, each); changed {
			it.Message.Parts = parts
		}
	}
	return items
}

// editDeep is like edit, but edits the content of a tool result before it passes the result
// itself to f.
func editDeep(parts []firn.Part, f func(firn.Part) (firn.Part, verdict)) (edited []firn.Part, changed bool) {
	return edit(parts, func(p firn.Part) (firn.Part, verdict) {
		result, ok := p.(firn.ToolResult)
		if !ok {
			return f(p)
		}
		content, inside := edit(result.Content, f)
		if inside {
			result.Content = content
		}
		q, v := f(result)
		if v == keep && inside {
			return result, change
		}
		return q, v
	})
}
