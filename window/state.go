package window

import (
	"encoding/json"

	"firn.dev"
)

// Compactions returns the known number of compactions of the branch: the member "count" in
// the details of the compaction in effect, or one if it is missing; zero without a
// compaction.
func (p Path) Compactions() int {
	if p.Compaction == nil {
		return 0
	}
	n := 0
	c, ok := p.Compaction.Body.(*firn.Compaction)
	if !ok || json.Unmarshal(member(c.Details, "count"), &n) != nil {
		return 1 // not a number that firn writes
	}
	return max(n, 1)
}

// Labels returns the last label that the path's entries give to each target. An empty name
// removes a label.
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

// resolveState returns the state in effect at the end of the entries. A compaction covers
// everything before it. The model of an answer counts only if answers is set, because it
// need not have been chosen.
func resolveState(entries []firn.Entry, answers bool) firn.State {
	var s firn.State
	for i := len(entries) - 1; i >= 0 && (s.Model == "" || s.ThinkingLevel == "" || s.Verbose == "" || s.Send == "" || s.Auth == ""); i-- {
		switch b := entries[i].Body.(type) {
		case *firn.ModelChange:
			s = mergeState(s, firn.State{Provider: b.Provider, Model: b.Model})
		case *firn.ThinkingChange:
			s = mergeState(s, firn.State{ThinkingLevel: b.Level})
		case *firn.Custom:
			switch b.Type {
			case firn.VerboseType:
				s = mergeState(s, firn.State{Verbose: stringOf(member(b.Data, "level"))})
			case firn.DefaultType:
				s = mergeState(s, revokedState(b.Data))
			case firn.SendType:
				s = mergeState(s, firn.State{Send: stringOf(member(b.Data, "policy"))})
			case firn.AuthType:
				s = mergeState(s, firn.State{Auth: stringOf(member(b.Data, "profile"))})
			}
		case *firn.Message:
			if answers && b.Role == firn.RoleAssistant && !mirrored(b) {
				s = mergeState(s, firn.State{Provider: b.Provider, Model: b.Model})
			}
		case *firn.Compaction:
			s = mergeState(s, stateOf(b.Details))
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

// byDefault marks a choice that was revoked, while the state is resolved: earlier entries
// do not count.
const byDefault = "\x00"

// revokedState returns the choices that an entry revokes, marked with byDefault.
func revokedState(data json.RawMessage) firn.State {
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

// mergeState fills the empty fields of s from an earlier state. Provider and model are
// filled together.
func mergeState(s, earlier firn.State) firn.State {
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

// stateOf reads the member "state" of a compaction's details. Missing or invalid fields are
// empty.
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

// members decodes an object; any other value has no members. Unlike struct decoding in
// encoding/json, names are case-sensitive.
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

// mirrored reports whether an assistant message is a copy that OpenClaw keeps of a
// delivered message. No model produced it, so it implies neither a model nor a usage.
func mirrored(m *firn.Message) bool {
	return m.Provider == "openclaw" || m.Provider == "clawdbot"
}
