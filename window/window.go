// Package window builds the request that is sent to a model.
//
// [Collect] reads a session backwards and returns its live part, a [Path]. [Build] turns it
// into a [Window]: the messages in order, adapted to one provider by the named rules of a
// [Profile], with a list of every repair and of every entry that is left out.
//
// Both are pure and total: they do no I/O of their own, read no clock, never modify their
// arguments, and return a result for every log, however damaged. Their decisions are never
// written back to the log.
package window

import (
	"slices"
	"strings"

	"firn.dev"
)

// Window is the input of a model, with a record of how it was built.
type Window struct {
	// System is the system prompt.
	System string
	// Items are the messages in order. It is empty if there is nothing to send yet.
	Items []Item
	// Repairs lists the changes made by rules, in order.
	Repairs []Repair
	Tokens  Tokens
	// Out lists the entries that are not sent: those that the path left out, oldest first,
	// then the messages of the path that are never sent.
	Out []Omission
	// Profile and Ask identify the API and model that the window was built for.
	Profile string
	Ask     Ask
}

// Item is one message of a window.
type Item struct {
	// Message has role user, assistant or toolResult. After a profile was applied, a
	// toolResult has exactly one part, a [firn.ToolResult], and follows the assistant
	// message with its call. It shares memory with the log's entries and must not be
	// modified.
	Message firn.Message
	// From lists the entries that the message was made from.
	From []firn.EntryID
	// Injected lists the names of the injections in the message. They are not in the log.
	Injected []string
	// Synthetic reports whether a rule created the message.
	Synthetic bool
	// Tokens is the size of the message according to the counter.
	Tokens int64

	// at is the path index of the latest entry in the message. moved reports whether the
	// message was moved after an answer that did not see it.
	at    int
	moved bool
	// byUser is set for messages of the user, as opposed to summaries, commands and notes.
	byUser bool
}

// entry returns the entry that identifies the item in a repair.
func (it *Item) entry() firn.EntryID {
	if len(it.From) == 0 {
		return ""
	}
	return it.From[0]
}

// Repair is one change that a rule made.
type Repair struct {
	// Rule is the name of the rule.
	Rule string
	// Entry is the entry that was repaired, or empty if the repair is not about one.
	Entry firn.EntryID
	// What describes the change.
	What string
}

// Ask identifies the model that a request is for. Some signatures may only be sent
// back to the model that created them. An empty field matches everything.
type Ask struct {
	API, Provider, Model string
}

// Same reports whether m was written by the model that the request is for.
func (a Ask) Same(m *firn.Message) bool {
	return (a.API == "" || a.API == m.API) &&
		(a.Provider == "" || a.Provider == m.Provider) &&
		(a.Model == "" || a.Model == m.Model)
}

// Injection is context for this request only: recalled memories, the working directory, a
// list of agents. It is sent but never stored.
type Injection struct {
	// Name identifies the injection in [Item.Injected].
	Name  string
	Parts []firn.Part
	// Sources lists the origins of the text, such as file paths.
	Sources []string
}

// Options configures how a window is built. The zero value sends the messages as recorded.
type Options struct {
	// System is the system prompt. Messages of role system are added to it.
	System string
	// Profile adapts the window to a provider. Without rules nothing is repaired, and the
	// provider may reject the window.
	Profile Profile
	Ask     Ask
	// Injected is inserted before the last user message.
	Injected []Injection
	// Agent is the name of the agent that answers. Owner is the agent that the session
	// belongs to; empty means Agent. Answers by other agents are sent with their names.
	Agent, Owner string
	// MaxImages further limits the number of images. Zero leaves it to the profile; a
	// negative number sends none.
	MaxImages int
	// Counter counts tokens; nil means [Chars].
	Counter TokenCounter
}

// Build builds a window from a path. It is deterministic and modifies neither argument.
func Build(p Path, o Options) Window {
	if o.Owner == "" {
		o.Owner = o.Agent
	}
	r := renderPath(p, o.Agent, o.Owner)
	w := Window{Profile: o.Profile.Name, Ask: o.Ask, Out: slices.Concat(p.Out, r.out)}
	pass := newPass(o.Profile, o.Ask, o.MaxImages)
	pass.repairs = r.repairs
	w.System = pass.cleanSystem(append([]string{o.System}, firn.SystemPrompt(r.system...)...))
	w.Items = pass.run(inject(r.items, o.Injected))
	w.Repairs = pass.repairs
	w.Tokens = count(p, &w, o)
	return w
}

// cleanSystem joins the texts of a system prompt and cleans the result.
func (p *Pass) cleanSystem(texts []string) string {
	system := joinSystem(texts)
	if len(p.profile.Rules) == 0 {
		return system
	}
	system, changed := firn.CleanText(system)
	if changed {
		p.repairs = append(p.repairs, Repair{Rule: cleanText.Name, What: "system prompt: invalid UTF-8 replaced"})
	}
	return system
}

// joinSystem joins the non-empty texts of a system prompt.
func joinSystem(texts []string) string {
	return strings.Join(slices.DeleteFunc(texts, blank), "\n\n")
}

// inject inserts the injections before the last user message or, if there is none, after
// the summary at the start of the window.
func inject(items []Item, injected []Injection) []Item {
	at := -1
	for i := len(items) - 1; i >= 0 && at < 0; i-- {
		if items[i].byUser {
			at = i
		}
	}
	if at < 0 {
		at = 0
		for at < len(items) && items[at].Message.Role == firn.RoleUser {
			at++
		}
	}
	made := make([]Item, 0, len(injected))
	for _, in := range injected {
		it := Item{Message: firn.Message{Role: firn.RoleUser, Parts: in.Parts}, Injected: []string{in.Name}}
		if at < len(items) {
			it.at = items[at].at
		} else if at > 0 {
			it.at = items[at-1].at + 1
		}
		made = append(made, it)
	}
	return slices.Insert(items, at, made...)
}
