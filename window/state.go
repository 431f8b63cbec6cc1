package window

import (
	"encoding/json"

	"firn"
)

// Compactions is how many compactions the branch has had as far as is known:
// what the one that counts says in the member "count" of its details, else
// one, and none if there is none.
func (p Path) Compactions() int {
	return 0 // skeleton
}

// Labels returns the last label that the entries of the path give to each
// target. An empty name takes a label away.
func (p Path) Labels() map[firn.EntryID]string {
	return nil // skeleton
}

// settle finds the model and thinking level in force at the end of the
// entries. A compaction answers for everything before it.
func settle(entries []firn.Entry) firn.State {
	var s firn.State
	for i := len(entries) - 1; i >= 0 && (s.Model == "" || s.ThinkingLevel == ""); i-- {
		switch b := entries[i].Body.(type) {
		case *firn.ModelChange:
			s = older(s, firn.State{Provider: b.Provider, Model: b.Model})
		case *firn.ThinkingChange:
			s = older(s, firn.State{ThinkingLevel: b.Level})
		case *firn.Message:
			if b.Role == firn.RoleAssistant && !mirrored(b) {
				s = older(s, firn.State{Provider: b.Provider, Model: b.Model})
			}
		case *firn.Compaction:
			s = older(s, stateOf(b.Details))
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
	return s
}

// stateOf reads the member "state" of a compaction's details; what is not
// there or not understood is empty. Names count to the letter, which
// encoding/json does not promise for structs.
func stateOf(details json.RawMessage) firn.State {
	var outer, inner map[string]json.RawMessage
	if json.Unmarshal(details, &outer) != nil || json.Unmarshal(outer["state"], &inner) != nil {
		return firn.State{}
	}
	return firn.State{
		Provider:      stringOf(inner["provider"]),
		Model:         stringOf(inner["modelId"]),
		ThinkingLevel: stringOf(inner["thinkingLevel"]),
	}
}

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
