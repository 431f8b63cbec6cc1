package offline

import (
	"encoding/json"
	"strconv"

	"firn"
	"firn/internal/rawjson"
)

// wanted is a call that is wanted.
type wanted struct {
	tool string
	args args
}

// args are arguments of a call, in order. All of ours are text.
type args [][2]string

// json spells them as an object.
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

// argument reads an argument of a call that was made, empty if it has none.
func argument(call firn.ToolCall, name string) string {
	return rawjson.New(call.Arguments).Lookahead(name)
}

// call makes an answer that calls tools. The ids go on where those of the
// conversation end, so that each is there once.
func (c *conversation) call(thought string, calls ...wanted) reply {
	r := reply{thought: thought}
	for i, w := range calls {
		r.calls = append(r.calls, firn.ToolCall{
			ID: callPrefix + strconv.Itoa(c.number+i+1), Name: w.tool, Arguments: w.args.json(),
		})
	}
	return r
}
