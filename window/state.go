package window

import (
	"encoding/json"

	"firn.dev"
)

// Compactions is how many compactions the branch has had as far as is known:
// the number that the one that counts tells in the member "count" of its
// details, else one; zero if there is none.
func (p Path) Compactions() int {
	if p.Compaction == nil {
		return 0
	}
	n := 0
	c, ok := p.Compaction.Body.(*firn.Compaction)
	if !ok || json.Unmarshal(member(c.Details, "count"), &n) != nil {
		return 1 // no number that we would have written
	}
	return max(n, 1)
}

// Labels returns the last label that the entries of the path give to each
// target. An empty name takes a label away.
func (p Path) Labels() map[firn.EntryID]string {
	labels := make(map[firn.EntryID]string)
	for i := range p.Entries {
		l, ok := p.Entries[i].Body.(*firn.Label)
		switch {
		case !ok:
		case l.Name == "":
			delete(labels, l.Target)
		default:
			labels[l.Target] = l.Name
		}
	}
	return labels
}

// settle finds the state in force at the end of the entries. A compaction
// answers for everything before it. The model that gave an answer counts only
// if answers is set: it need not have been chosen.
func settle(entries []firn.Entry, answers bool) firn.State {
	var s firn.State
	for i := len(entries) - 1; i >= 0 && (s.Model == "" || s.ThinkingLevel == "" || s.Verbose == "" || s.Send == "" || s.Auth == ""); i-- {
		switch b := entries[i].Body.(type) {
		case *firn.ModelChange:
			s = older(s, firn.State{Provider: b.Provider, Model: b.Model})
		case *firn.ThinkingChange:
			s = older(s, firn.State{ThinkingLevel: b.Level})
		case *firn.Custom:
			switch b.Type {
			case firn.VerboseType:
				s = older(s, firn.State{Verbose: stringOf(member(b.Data, "level"))})
			case firn.DefaultType:
				s = older(s, takenBack(b.Data))
			case firn.SendType:
				s = older(s, firn.State{Send: stringOf(member(b.Data, "policy"))})
			case firn.AuthType:
				s = older(s, firn.State{Auth: stringOf(member(b.Data, "profile"))})
			}
		case *firn.Message:
			if answers && b.Role == firn.RoleAssistant && !mirrored(b) {
				s = older(s, firn.State{Provider: b.Provider, Model: b.Model})
			}
		case *firn.Compaction:
			s = older(s, stateOf(b.Details))
		}
	}
	if s.Model == byDefault {
		s.Provider, s.Model = "", ""
	}
	for _, v := range []*string{&s.ThinkingLevel, &s.Verbose, &s.Auth} {
		if *v == byDefault {
			*v = ""
		}
	}
	return s
}

// byDefault stands for a choice that was taken back, while the state is looked for:
// nothing earlier counts.
const byDefault = "\x00"

// takenBack are the choices that an entry takes back.
func takenBack(data json.RawMessage) firn.State {
	var what []string
	if json.Unmarshal(member(data, "what"), &what) != nil {
		return firn.State{}
	}
	var s firn.State
	for _, name := range what {
		switch name {
		case "model":
			s.Model = byDefault
		case "thinking":
			s.ThinkingLevel = byDefault
		case "verbose":
			s.Verbose = byDefault
		case "auth":
			s.Auth = byDefault
		}
	}
	return s
}

// older fills what s leaves open from an earlier state. Provider and model
// belong together.
func older(s, earlier firn.State) firn.State {
	if s.Model == "" {
		s.Provider, s.Model = earlier.Provider, earlier.Model
	}
	if s.ThinkingLevel == "" {
		s.ThinkingLevel = earlier.ThinkingLevel
	}
	if s.Verbose == "" {
		s.Verbose = earlier.Verbose
	}
	if s.Send == "" {
		s.Send = earlier.Send
	}
	if s.Auth == "" {
		s.Auth = earlier.Auth
	}
	return s
}

// stateOf reads the member "state" of a compaction's details; what is not
// there or not understood is empty.
func stateOf(details json.RawMessage) firn.State {
	state := members(member(details, "state"))
	return firn.State{
		Provider:      stringOf(state["provider"]),
		Model:         stringOf(state["modelId"]),
		ThinkingLevel: stringOf(state["thinkingLevel"]),
		Verbose:       stringOf(state["verboseLevel"]),
		Send:          stringOf(state["sendPolicy"]),
		Auth:          stringOf(state["authProfile"]),
	}
}

// members reads an object; anything else has none. Names count to the letter,
// which encoding/json does not promise for structs.
func members(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

func member(raw json.RawMessage, name string) json.RawMessage { return members(raw)[name] }

func stringOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// mirrored reports whether an assistant's message is a copy that OpenClaw
// keeps of what it delivered. No model said it, so it tells neither the model
// in force nor a usage.
func mirrored(m *firn.Message) bool {
	return m.Provider == "openclaw" || m.Provider == "clawdbot"
}
