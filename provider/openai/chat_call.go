package openai

import (
	"bytes"
	"encoding/json"

	"firn.dev"
	"firn.dev/provider"
)

// callDelta is a chunk's delta of a call.
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

// arguments returns the next piece of the JSON. OpenAI sends it as text; some servers send
// the object itself.
func (f functionDelta) arguments() string {
	if len(f.Arguments) > 0 && f.Arguments[0] == '{' {
		return string(f.Arguments)
	}
	return textOf(f.Arguments)
}

// chatCall is a call under construction.
type chatCall struct {
	// id is the ID in the answer, given the one sent by the server.
	id, given string
	index     int
	name      string
	args      []byte
	signature string
	// sent is the number of bytes of args already emitted, or -1 if nothing was emitted.
	sent int
}

// callSet assigns deltas to calls. According to the API the index identifies the call. Some
// servers leave the index out, use the same one for all calls, repeat the name, or send no
// IDs, often several of these together.
type callSet struct {
	ids  callIDs
	list []*chatCall
}

// take adds a delta to its call. Nth is its position in the chunk. Fresh reports whether
// the call is new.
func (s *callSet) take(d callDelta, nth int) (call *chatCall, fresh bool) {
	id, name, args := scalar(d.ID), textOf(d.Function.Name), d.Function.arguments()
	index, indexed := readIndex(d.Index)
	call = s.known(id, index, indexed)
	if call == nil && id == "" && name == "" && len(s.list) > 0 {
		call = s.list[len(s.list)-1] // no sign of a new call
	}
	if call == nil || startsNewCall(call, id, name, args, !indexed && nth > 0) {
		call = &chatCall{id: s.ids.unique(id), index: index, sent: -1}
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

// known returns the call that a delta appears to belong to.
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

// startsNewCall reports whether a delta starts a new call instead of continuing the one it
// appears to belong to. Only the first delta of a call has a name.
func startsNewCall(call *chatCall, id, name, args string, beside bool) bool {
	switch {
	case name == "" || call.name == "":
		return false
	case id != "" && call.given != "":
		return id != call.given
	case name != call.name || beside:
		return true
	}
	// Either the name is repeated or the same tool is called again. Complete arguments
	// cannot be continued.
	args = string(bytes.TrimSpace([]byte(args)))
	return args != "" && args[0] == '{' && isObject(call.args)
}

// readIndex parses the index of a call. It returns -1 and false if there is none.
func readIndex(raw json.RawMessage) (int, bool) {
	var n int
	if !present(raw) || json.Unmarshal(raw, &n) != nil {
		return -1, false
	}
	return n, true
}

// readSignature parses the signature that Google's servers put on a call.
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

// nextDelta returns the part of the call that was not emitted yet. A call is not emitted
// before it has a name.
func (c *chatCall) nextDelta() (provider.CallDelta, bool) {
	if c.name == "" || c.sent == len(c.args) {
		return provider.CallDelta{}, false
	}
	delta := provider.CallDelta{ID: c.id}
	if c.sent < 0 {
		delta.Name, c.sent = c.name, 0
	}
	delta.Arguments = string(c.args[c.sent:])
	c.sent = len(c.args)
	return delta, true
}

// part returns the call as received.
func (c *chatCall) part() firn.ToolCall {
	return firn.ToolCall{ID: c.id, Name: c.name, Arguments: argumentsOf(c.args), Signature: c.signature}
}
