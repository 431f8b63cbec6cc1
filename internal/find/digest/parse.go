package digest

import (
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Parse parses the result of [Write]. It returns the same lines, except for text that was
// cut. Text before the first tag is attributed to the user.
func Parse(text string) []Line {
	var lines []Line
	head, body, ok := readTag(text)
	if !ok {
		head, body = Line{Role: firn.RoleUser, Kind: Speech}, text
	}
	for {
		end, next := nextTag(body)
		if ok || strings.TrimSpace(body[:end]) != "" {
			lines = appendParsed(lines, head, unescape(body[:end]))
		}
		if next == len(body) {
			return lines
		}
		head, body, ok = readTag(body[next:])
	}
}

// nextTag finds the next paragraph that starts with a tag. It returns the end of the body
// before it and the start of the tag; both are len(body) if there is none.
func nextTag(body string) (end, next int) {
	for from := 0; ; {
		i := strings.Index(body[from:], "\n[")
		if i < 0 {
			return len(body), len(body)
		}
		next = from + i + 1
		if _, _, ok := readTag(body[next:]); ok {
			break
		}
		from = next
	}
	end = next - 1
	if end > 0 && body[end-1] == '\n' {
		end--
	}
	return end, next
}

// readTag parses the tag at the beginning of text and returns the rest.
func readTag(text string) (head Line, body string, ok bool) {
	for _, t := range [...]struct {
		tag  string
		head Line
	}{
		{tagUser, Line{Role: firn.RoleUser, Kind: Speech}},
		{tagAssistant, Line{Role: firn.RoleAssistant, Kind: Speech}},
		{tagSystem, Line{Role: firn.RoleSystem, Kind: Speech}},
		{tagThinking, Line{Role: firn.RoleAssistant, Kind: Thought}},
		{tagCalls, Line{Role: firn.RoleAssistant, Kind: Call}},
		{tagUserCalls, Line{Role: firn.RoleUser, Kind: Call}},
	} {
		if rest, found := strings.CutPrefix(text, t.tag); found {
			return t.head, strings.TrimPrefix(rest, " "), true
		}
	}
	head = Line{Role: firn.RoleToolResult, Kind: Result}
	rest, found := strings.CutPrefix(text, tagResult)
	if !found {
		rest, found = strings.CutPrefix(text, tagError)
		head.IsError = true
	}
	if !found {
		return Line{}, "", false
	}
	if named, space := strings.CutPrefix(rest, " "); space {
		if head.Name, rest, found = readName(named); !found {
			return Line{}, "", false
		}
	}
	if rest, found = strings.CutPrefix(rest, "]:"); !found {
		return Line{}, "", false
	}
	return head, strings.TrimPrefix(rest, " "), true
}

// readName parses a name in the format of formatName.
func readName(text string) (name, rest string, ok bool) {
	if strings.HasPrefix(text, `"`) {
		return readString(text)
	}
	n := 0
	for n < len(text) && nameByte(text[n]) {
		n++
	}
	return text[:n], text[n:], n > 0
}

// readString parses a JSON string.
func readString(text string) (value, rest string, ok bool) {
	end := 1
	for ; end < len(text) && text[end] != '"'; end++ {
		if text[end] == '\n' {
			return "", "", false // names contain no newline, and this bounds the search
		}
		if text[end] == '\\' {
			end++
		}
	}
	if end >= len(text) {
		return "", "", false
	}
	r := rawjson.New([]byte(text[:end+1]))
	value, ok = r.Text()
	return value, text[end+1:], ok
}

// appendParsed adds the lines of one paragraph, which may contain several calls. Invalid
// calls are treated as text.
func appendParsed(lines []Line, head Line, body string) []Line {
	if head.Kind != Call {
		head.Text = body
		return append(lines, head)
	}
	calls, ok := readCalls(body)
	if !ok {
		return append(lines, Line{Role: head.Role, Kind: Speech, Text: body})
	}
	for _, call := range calls {
		call.Role = head.Role
		lines = append(lines, call)
	}
	return lines
}

// readCalls parses consecutive calls in the format of Write.
func readCalls(body string) ([]Line, bool) {
	var calls []Line
	r := callReader{text: body, data: []byte(body)}
	for {
		call, ok := r.call()
		if !ok {
			return nil, false
		}
		calls = append(calls, call)
		if !r.skip("; ") {
			return calls, strings.TrimSpace(body[r.at:]) == ""
		}
	}
}

// callReader parses calls. It holds the text both as string and as bytes, for the JSON
// reader.
type callReader struct {
	text string
	data []byte
	at   int
}

// skip consumes a mark if it is next.
func (r *callReader) skip(mark string) bool {
	if !strings.HasPrefix(r.text[r.at:], mark) {
		return false
	}
	r.at += len(mark)
	return true
}

func (r *callReader) name() (string, bool) {
	name, rest, ok := readName(r.text[r.at:])
	if ok {
		r.at = len(r.text) - len(rest)
	}
	return name, ok
}

func (r *callReader) call() (call Line, ok bool) {
	call.Kind = Call
	if call.Name, ok = r.name(); !ok || !r.skip("(") {
		return call, false
	}
	if strings.HasPrefix(r.text[r.at:], `"`) {
		start := r.at
		if text, ok := r.name(); ok && r.skip(")") {
			call.Text = text
			return call, true
		}
		r.at = start
	}
	call.Text, ok = r.members()
	return call, ok
}

// members parses key=value pairs up to the closing bracket and returns them as a JSON
// object.
func (r *callReader) members() (object string, ok bool) {
	if r.skip(")") {
		return "{}", true
	}
	for out := []byte{'{'}; ; out = append(out, ',') {
		key, ok := r.name()
		if !ok || !r.skip("=") {
			return "", false
		}
		value := rawjson.New(r.data[r.at:])
		raw := value.Raw()
		if raw == nil {
			return "", false
		}
		r.at += value.Offset()
		out = append(append(rawjson.AppendString(out, key), ':'), raw...)
		if r.skip(")") {
			return string(append(out, '}')), true
		}
		if !r.skip(", ") {
			return "", false
		}
	}
}
