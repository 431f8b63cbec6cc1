package openai

import (
	"bytes"
	"encoding/json"

	"firn"
	"firn/provider"
)

// callDelta is what a chunk adds to a call.
type callDelta struct {
	Index    json.RawMessage `json:"index"`
	ID       json.RawMessage `json:"id"`
	Function functionDelta   `json:"function"`
	Extra    json.RawMessage `json:"extra_content"`
}

type functionDelta struct {
	Name      json.RawMessage `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// arguments are the next piece of the JSON. OpenAI sends it as text; some
// servers send the object itself.
func (f functionDelta) arguments() string {
	if len(f.Arguments) > 0 && f.Arguments[0] == '{' {
		return string(f.Arguments)
	}
	return textOf(f.Arguments)
}

// chatCall is a call on its way.
type chatCall struct {
	// id is ours, given what the server called it.
	id, given string
	index     int
	name      string
	args      []byte
	signature string
	// told is how much of args was told, -1 as long as nothing was.
	told int
}

// callSet finds out which call a chunk is about. The API says: the one with
// that index. Servers that break the rule leave the index out, give all calls
// the same, repeat the name, or give no ids, and mostly several of it at once.
type callSet struct {
	ids  callIDs
	list []*chatCall
}

// take adds a delta to its call. Nth is its place in the chunk. Fresh says
// that the call is new.
func (s *callSet) take(d callDelta, nth int) (call *chatCall, fresh bool) {
	id, name, args := scalar(d.ID), textOf(d.Function.Name), d.Function.arguments()
	index, indexed := readIndex(d.Index)
	call = s.known(id, index, indexed)
	if call == nil && id == "" && name == "" && len(s.list) > 0 {
		call = s.list[len(s.list)-1] // nothing says that it begins one
	}
	if call == nil || isAnother(call, id, name, args, !indexed && nth > 0) {
		call = &chatCall{id: s.ids.unique(id), index: index, told: -1}
		s.list = append(s.list, call)
		fresh = true
	}
	if call.given == "" {
		call.given = id
	}
	if call.name == "" {
		call.name = name
	}
	call.args = append(call.args, args...)
	if signature := readSignature(d.Extra); signature != "" {
		call.signature = signature
	}
	return call, fresh
}

// known is the call that a delta seems to be about.
func (s *callSet) known(id string, index int, indexed bool) *chatCall {
	for i := len(s.list) - 1; i >= 0; i-- {
		call := s.list[i]
		switch {
		case indexed && call.index == index,
			!indexed && id != "" && call.given == id,
			!indexed && id == "":
			return call
		}
	}
	return nil
}

// isAnother reports whether a delta begins another call than the one it seems
// to be about. Only what begins a call has a name.
func isAnother(call *chatCall, id, name, args string, beside bool) bool {
	switch {
	case name == "" || call.name == "":
		return false
	case id != "" && call.given != "":
		return id != call.given
	case name != call.name || beside:
		return true
	}
	// The name once more, or the same tool once more: what is whole does not go on.
	args = string(bytes.TrimSpace([]byte(args)))
	return args != "" && args[0] == '{' && isObject(call.args)
}

// readIndex reads the index of a call; -1 and false if there is none.
func readIndex(raw json.RawMessage) (int, bool) {
	var n int
	if !present(raw) || json.Unmarshal(raw, &n) != nil {
		return -1, false
	}
	return n, true
}

// readSignature reads the signature that Google's servers put on a call.
func readSignature(raw json.RawMessage) string {
	type signed struct {
		Signature string `json:"thought_signature"`
	}
	var extra struct {
		Google signed `json:"google"`
		Vertex signed `json:"vertex"`
	}
	if !present(raw) || json.Unmarshal(raw, &extra) != nil {
		return ""
	}
	if extra.Google.Signature != "" {
		return extra.Google.Signature
	}
	return extra.Vertex.Signature
}

// tell is what was not told of the call yet. A call without a name is not told
// of until it has one.
func (c *chatCall) tell() (provider.CallDelta, bool) {
	if c.name == "" || c.told == len(c.args) {
		return provider.CallDelta{}, false
	}
	delta := provider.CallDelta{ID: c.id}
	if c.told < 0 {
		delta.Name, c.told = c.name, 0
	}
	delta.Arguments = string(c.args[c.told:])
	c.told = len(c.args)
	return delta, true
}

// part is the call, as it came.
func (c *chatCall) part() firn.ToolCall {
	return firn.ToolCall{ID: c.id, Name: c.name, Arguments: argumentsOf(c.args), Signature: c.signature}
}
