// Package window decides what a model is sent.
//
// [Collect] reads a session backwards and returns its live part, a [Path].
// [Build] makes a [Window] of it: the messages in order, made to fit one
// provider by the named rules of a [Profile], with a list of every repair and
// of every entry that is left out.
//
// Both are pure and total: they do no I/O of their own, read no clock, never
// change what they are given, and have an answer for every log, however
// broken. Nothing they decide is ever written back to the log.
package window

import (
	"slices"
	"strings"

	"firn.dev"
)

// Window is what a model is sent, and an account of how it came to be.
type Window struct {
	// System is the system prompt.
	System string
	// Items are the messages in order. No items means that there is nothing to
	// send yet.
	Items []Item
	// Repairs tells what the rules changed, in the order they did it.
	Repairs []Repair
	Tokens  Tokens
	// Out lists the entries that are not sent: those the path left out, oldest
	// first, then the messages of the path that are never sent.
	Out []Omission
	// Profile and Ask say for whom the window was built.
	Profile string
	Ask     Ask
}

// Item is one message of a window.
type Item struct {
	// Message is of role user, assistant or toolResult. Once the rules of a
	// profile were applied, a toolResult has exactly one part, a
	// [firn.ToolResult], and it follows the assistant's message that asked for
	// it. It shares memory with the log's entries: it must not be changed.
	Message firn.Message
	// From names the entries the message was made of.
	From []firn.EntryID
	// Injected names the injections in the message. They are not in the log.
	Injected []string
	// Synthetic says that a rule made the message up; nobody said it.
	Synthetic bool
	// Tokens is what the counter makes of the message.
	Tokens int64

	// at is the place on the path of the latest entry in the message; moved
	// says that it is right behind an answer that did not know of it.
	at    int
	moved bool
	// said is set if the user said it: not a summary, a command or a note.
	said bool
}

// entry names the item in a repair.
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
	// Entry is the entry at fault; empty if it is about no entry of the log.
	Entry firn.EntryID
	// What says it in words.
	What string
}

// Ask says which model will be asked, for marks that only the model that made
// them may get back. A field that is empty matches everything.
type Ask struct {
	API, Provider, Model string
}

// Same reports whether the model that will be asked is the one that said m.
func (a Ask) Same(m *firn.Message) bool {
	return (a.API == "" || a.API == m.API) &&
		(a.Provider == "" || a.Provider == m.Provider) &&
		(a.Model == "" || a.Model == m.Model)
}

// Injection is something the model shall know in this run only: what memory
// recalls, the working directory, a list of agents. It is sent, never stored.
type Injection struct {
	// Name says what it is; [Item.Injected] tells it.
	Name  string
	Parts []firn.Part
	// Sources names where it comes from, such as the paths of files.
	Sources []string
}

// Options says how to build a window. The zero value sends what was recorded,
// as it was recorded.
type Options struct {
	// System is the system prompt. Messages of role system are added to it.
	System string
	// Profile makes the window fit a provider. Without rules nothing is
	// repaired, and the window may well be refused.
	Profile Profile
	Ask     Ask
	// Injected goes before the last message of the user.
	Injected []Injection
	// Agent is the name of the agent that answers, Owner that of the agent that the
	// session belongs to; empty means Agent. Answers of other agents are sent with their
	// names.
	Agent, Owner string
	// MaxImages bounds the number of images further than the profile does.
	// Zero leaves it to the profile; less than zero sends none.
	MaxImages int
	// Counter counts tokens; nil means [Chars].
	Counter TokenCounter
}

// Build makes a window of a path. The same path and options always give the
// same window, and neither is changed.
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

// cleanSystem joins the texts of a system prompt and makes them fit to be sent.
func (p *Pass) cleanSystem(texts []string) string {
	system := joinSystem(texts)
	if len(p.profile.Rules) == 0 {
		return system
	}
	system, changed := firn.CleanText(system)
	if changed {
		p.repairs = append(p.repairs, Repair{Rule: cleanText.Name, What: "system prompt: bytes that are not text replaced"})
	}
	return system
}

// joinSystem joins the texts of a system prompt that have anything in them.
func joinSystem(texts []string) string {
	return strings.Join(slices.DeleteFunc(texts, blank), "\n\n")
}

// inject puts what shall be known in this run only before the last message of
// the user; without one, behind the summary that the window begins with.
func inject(items []Item, injected []Injection) []Item {
	at := -1
	for i := len(items) - 1; i >= 0 && at < 0; i-- {
		if items[i].said {
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
