package dialect

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// originField is the extra field in which a converted entry carries the lines
// that a tool wrote for it.
const originField = "origin"

// hole stands in a carried line where a long text of the entry stood, so that
// the text is not kept twice.
const hole = `{"$firn":`

// base64Mark begins a carried line that is not clean text.
const base64Mark = `{"$firn64":"`

// shortest is how long a text must be for a hole to be worth it.
const shortest = 48

// Carry puts the lines that a tool wrote for an entry beside it, as an extra
// field, so that they can be written again byte for byte whatever firn
// understood of them. Texts that the entry has anyway are left out of them.
func Carry(e *firn.Entry, tool Name, lines [][]byte) {
	CarryMarked(e, tool, lines, Marks{})
}

// Marks say how the carried lines of an entry lie in the transcript.
type Marks struct {
	// Open is set if the transcript ended before the tool had settled the entry:
	// lines to come may say it otherwise. It is how many bytes the transcript had.
	Open int64
	// Bare is set if no newline follows the last of the lines, but those of the next
	// entry.
	Bare bool
	// Rest is what follows the last of the lines, if the transcript ended with them
	// and with anything else than one newline: no newline, the beginning of a line,
	// blank lines. It holds as long as no entry after this one carries lines.
	Rest *string
}

// CarryMarked is Carry for lines with marks.
func CarryMarked(e *firn.Entry, tool Name, lines [][]byte, marks Marks) {
	if c, ok := e.Body.(*firn.Custom); ok && marks == (Marks{}) && len(lines) == 1 && IsLine(tool, c) && bytes.Equal(c.Data, lines[0]) {
		return // the entry is the line
	}
	texts := longTexts(*e)
	value := rawjson.AppendString([]byte(`{"tool":`), string(tool))
	value = append(value, `,"lines":[`...)
	for i, line := range lines {
		if i > 0 {
			value = append(value, ',')
		}
		value = appendHollow(value, line, texts)
	}
	value = append(value, ']')
	if marks.Open > 0 {
		value = strconv.AppendInt(append(value, `,"open":`...), marks.Open, 10)
	}
	if marks.Bare {
		value = append(value, `,"bare":true`...)
	}
	if marks.Rest != nil {
		value = appendHollow(append(value, `,"rest":`...), []byte(*marks.Rest), nil)
	}
	value = append(value, '}')
	extra := make(firn.Fields, 0, len(e.Extra)+1)
	for _, f := range e.Extra {
		if f.Name != originField {
			extra = append(extra, f)
		}
	}
	e.Extra = append(extra, firn.Field{Name: originField, Value: value})
}

// CarriedBy returns whose lines an entry carries, and their marks; an empty name
// if it carries none. It is cheaper than [Carried].
func CarriedBy(e firn.Entry) (Name, Marks) {
	value := e.Extra.Get(originField)
	if value == nil {
		tool, _ := carriedLine(e)
		return tool, Marks{}
	}
	var tool string
	var marks Marks
	r := rawjson.New(value)
	for ok := r.Object(); ok && r.Member(); {
		switch string(r.Key()) {
		case "tool":
			tool, _ = r.Text()
		case "open":
			marks.Open, _ = r.Int()
		case "bare":
			marks.Bare, _ = r.Bool()
		case "rest":
			if rest, ok := fill(r.Raw(), nil); ok {
				text := string(rest)
				marks.Rest = &text
			}
		default:
			r.Skip()
		}
	}
	if r.End() != nil {
		return "", Marks{}
	}
	return Name(tool), marks
}

// CarriesLines reports whether an entry carries any lines. One that says a part of
// what a line says may carry none: another one carries the line.
func CarriesLines(e firn.Entry) bool {
	if value := e.Extra.Get(originField); value != nil {
		return !bytes.Contains(value, []byte(`,"lines":[]`))
	}
	_, lines := carriedLine(e)
	return len(lines) > 0
}

// Carried returns the lines an entry carries, and whose they are; no lines if
// it carries none. They are what Carry was given, as long as the entry's own
// texts are the same.
func Carried(e firn.Entry) (Name, [][]byte) {
	value := e.Extra.Get(originField)
	if value == nil {
		return carriedLine(e)
	}
	var tool string
	var lines [][]byte
	texts := longTexts(e)
	r := rawjson.New(value)
	if !r.Object() {
		return "", nil
	}
	for r.Member() {
		switch string(r.Key()) {
		case "tool":
			tool, _ = r.Text()
		case "lines":
			for ok := r.Array(); ok && r.Element(); {
				line, filled := fill(r.Raw(), texts)
				if !filled {
					return "", nil
				}
				lines = append(lines, line)
			}
		default:
			r.Skip()
		}
	}
	if r.End() != nil {
		return "", nil
	}
	return Name(tool), lines
}

// carriedLine is the line that an entry is, if it is nothing else.
func carriedLine(e firn.Entry) (Name, [][]byte) {
	c, ok := e.Body.(*firn.Custom)
	if !ok || c.Data == nil {
		return "", nil
	}
	tool, _, found := strings.Cut(c.Type, ":")
	if !found {
		return "", nil
	}
	return Name(tool), [][]byte{c.Data}
}

// Uncarried returns the entry without the lines it carries.
func Uncarried(e firn.Entry) firn.Entry {
	if e.Extra.Get(originField) == nil {
		return e
	}
	var extra firn.Fields
	for _, f := range e.Extra {
		if f.Name != originField {
			extra = append(extra, f)
		}
	}
	e.Extra = extra
	return e
}

// appendHollow adds the line with holes for the texts. It makes sure that the
// line can be had back; if not, it adds it as a text of its own.
func appendHollow(dst, line []byte, texts [][]byte) []byte {
	if _, unclean := rawjson.Clean(line); unclean || !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
		// What is no text, or cannot be written to a log, is kept all the same.
		dst = append(dst, base64Mark...)
		return append(base64.StdEncoding.AppendEncode(dst, line), `"}`...)
	}
	// White space around a value is no part of it: such a line is kept as a text.
	if !bytes.Contains(line, []byte(`"$firn`)) && len(bytes.TrimSpace(line)) == len(line) {
		hollow := line
		for n, text := range texts {
			hollow = bytes.ReplaceAll(hollow, text, []byte(hole+strconv.Itoa(n)+"}"))
		}
		if back, ok := fill(hollow, texts); ok && bytes.Equal(back, line) && rawjson.Valid(hollow) == nil && !bytes.ContainsRune(hollow, '\n') {
			return append(dst, hollow...)
		}
	}
	return rawjson.AppendString(dst, string(line))
}

// fill puts the texts back into a carried line.
func fill(hollow []byte, texts [][]byte) ([]byte, bool) {
	if len(hollow) > 0 && hollow[0] == '"' {
		r := rawjson.New(hollow)
		text, ok := r.Text()
		return []byte(text), ok
	}
	if coded, ok := bytes.CutPrefix(hollow, []byte(base64Mark)); ok {
		line, err := base64.StdEncoding.AppendDecode(nil, bytes.TrimSuffix(coded, []byte(`"}`)))
		return line, err == nil
	}
	line := make([]byte, 0, len(hollow))
	for {
		before, after, found := bytes.Cut(hollow, []byte(hole))
		line = append(line, before...)
		if !found {
			return line, true
		}
		number, rest, closed := bytes.Cut(after, []byte{'}'})
		n, err := strconv.Atoi(string(number))
		if !closed || err != nil || n < 0 || n >= len(texts) {
			return nil, false
		}
		line = append(line, texts[n]...)
		hollow = rest
	}
}

// longTexts lists the long values of an entry as tools write them, in an order
// that depends only on the entry.
func longTexts(e firn.Entry) [][]byte {
	var list [][]byte
	raw := func(value []byte) {
		if len(value) >= shortest {
			list = append(list, value)
		}
	}
	text := func(s string) {
		if len(s) >= shortest {
			list = append(list, rawjson.AppendString(nil, s))
		}
	}
	var parts func([]firn.Part)
	parts = func(all []firn.Part) {
		for _, p := range all {
			switch p := p.(type) {
			case firn.Text:
				text(p.Text)
				text(p.Signature)
			case firn.Thinking:
				text(p.Text)
				text(p.Signature)
			case firn.Image:
				text(p.Data)
			case firn.ToolCall:
				raw(p.Arguments)
				text(string(p.Arguments))
			case firn.ToolResult:
				parts(p.Content)
				raw(p.Details)
			}
		}
	}
	switch b := e.Body.(type) {
	case *firn.Message:
		parts(b.Parts)
	case *firn.CustomMessage:
		parts(b.Parts)
	case *firn.Compaction:
		text(b.Summary)
	case *firn.BranchSummary:
		text(b.Summary)
	}
	return list
}
