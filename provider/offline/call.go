package offline

import (
	"encoding/json"
	"strconv"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// wanted is a tool call to make.
type wanted struct {
	tool string
	args args
	// edit, if not nil, is the only element of the additional argument "edits".
	edit args
}

// json encodes the arguments as an object.
func (w wanted) json() json.RawMessage {
	out := w.args.json()
	if w.edit == nil {
		return out
	}
	out = append(out[:len(out)-1], `,"edits":[`...)
	return append(append(out, w.edit.json()...), "]}"...)
}

// args are the arguments of a call, in order. All values are strings.
type args [][2]string

// json encodes the arguments as an object.
func (a args) json() json.RawMessage {
	out := []byte{'{'}
	for i, arg := range a {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(rawjson.AppendString(out, arg[0]), ':')
		out = rawjson.AppendString(out, arg[1])
	}
	return append(out, '}')
}

// argument returns an argument of an earlier call, or "" if it is missing.
func argument(call firn.ToolCall, name string) string {
	return rawjson.New(call.Arguments).Lookahead(name)
}

// call returns an answer that calls tools. The call IDs continue the numbering of the
// conversation, so each is unique.
func (c *conversation) call(thought string, calls ...wanted) reply {
	r := reply{thought: thought}
	for i, w := range calls {
		r.calls = append(r.calls, firn.ToolCall{
			ID: callPrefix + strconv.Itoa(c.number+i+1), Name: w.tool, Arguments: w.json(),
		})
	}
	return r
}
