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

// originField is the extra field in which a converted entry carries its original lines.
const originField = "origin"

// holePrefix starts a placeholder in a carried line. The placeholder replaces a long text
// that the entry itself holds, so that the text is not stored twice.
const holePrefix = `{"$firn":`

// base64Prefix starts a carried line that is not clean UTF-8 text.
const base64Prefix = `{"$firn64":"`

// minHoleLen is the minimum length in bytes of a text that is replaced by a placeholder.
const minHoleLen = 48

// Carry attaches a tool's original lines to an entry as an extra field, so that they can be
// written back byte for byte. Long texts that the entry holds are replaced by placeholders.
func Carry(e *firn.Entry, tool Name, lines [][]byte) {
	CarryMarked(e, tool, lines, Marks{})
}

// Marks describe the position of carried lines in the transcript.
type Marks struct {
	// Open is the size of the transcript in bytes if it ended before the entry was final:
	// later lines may change the entry. Otherwise it is 0.
	Open int64
	// NoNewline is set if the last line has no newline and the lines of the next entry follow
	// directly.
	NoNewline bool
	// Rest holds the bytes after the last line if the transcript ended there with anything
	// but a single newline: no newline, a partial line or blank lines. It applies only
	// while no later entry carries lines.
	Rest *string
}

// CarryMarked is like [Carry], for lines with marks.
func CarryMarked(e *firn.Entry, tool Name, lines [][]byte, marks Marks) {
	if c, ok := e.Body.(*firn.Custom); ok && marks == (Marks{}) && len(lines) == 1 && IsLine(tool, c) && isStoredAsIs(c.Data, lines[0]) {
		return // the entry's data is the line
	}
	texts := longTexts(*e)
	value := rawjson.AppendString([]byte(`{"tool":`), string(tool))
	value = append(value, `,"lines":[`...)
	for i, line := range lines {
		if i > 0 {
			value = append(value, ',')
		}
		value = appendWithHoles(value, line, texts)
	}
	value = append(value, ']')
	if marks.Open > 0 {
		value = strconv.AppendInt(append(value, `,"open":`...), marks.Open, 10)
	}
	if marks.NoNewline {
		value = append(value, `,"bare":true`...)
	}
	if marks.Rest != nil {
		value = appendWithHoles(append(value, `,"rest":`...), []byte(*marks.Rest), nil)
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

// CarriedBy returns the tool whose lines an entry carries, and their marks. The name is
// empty if the entry carries none. It is cheaper than [Carried].
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
			marks.NoNewline, _ = r.Bool()
		case "rest":
			if rest, ok := fillHoles(r.Raw(), nil); ok {
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

// CarriesLines reports whether an entry carries lines. If a line makes several entries,
// only one of them carries it.
func CarriesLines(e firn.Entry) bool {
	if value := e.Extra.Get(originField); value != nil {
		return !bytes.Contains(value, []byte(`,"lines":[]`))
	}
	_, lines := carriedLine(e)
	return len(lines) > 0
}

// Carried returns the lines that an entry carries and the tool that wrote them. It returns
// no lines if the entry carries none. The lines equal those passed to [Carry] as long as
// the entry's texts are unchanged.
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
				line, filled := fillHoles(r.Raw(), texts)
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

// carriedLine returns the data of a [firn.Custom] entry that consists of one line of a
// tool.
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

// Uncarried returns the entry without its carried lines.
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

// isStoredAsIs reports whether a log stores data as exactly this line. It does not store
// white space around a JSON value, and cleans text.
func isStoredAsIs(data, line []byte) bool {
	_, unclean := rawjson.Clean(line)
	return !unclean && bytes.Equal(data, line) && len(bytes.TrimSpace(line)) == len(line)
}

// appendWithHoles appends the line with placeholders for the texts. If the line cannot be
// restored from that form, it is appended as a JSON string, or in base64 if it is not clean
// text.
func appendWithHoles(dst, line []byte, texts [][]byte) []byte {
	if _, unclean := rawjson.Clean(line); unclean || !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
		// Binary data cannot be written to a log as text.
		dst = append(dst, base64Prefix...)
		return append(base64.StdEncoding.AppendEncode(dst, line), `"}`...)
	}
	// White space around a JSON value would be lost: such a line is stored as a string.
	if !bytes.Contains(line, []byte(`"$firn`)) && len(bytes.TrimSpace(line)) == len(line) {
		hollow := line
		for n, text := range texts {
			hollow = bytes.ReplaceAll(hollow, text, []byte(holePrefix+strconv.Itoa(n)+"}"))
		}
		if back, ok := fillHoles(hollow, texts); ok && bytes.Equal(back, line) && rawjson.Valid(hollow) == nil && !bytes.ContainsRune(hollow, '\n') {
			return append(dst, hollow...)
		}
	}
	return rawjson.AppendString(dst, string(line))
}

// fillHoles restores a carried line from its stored form.
func fillHoles(hollow []byte, texts [][]byte) ([]byte, bool) {
	if len(hollow) > 0 && hollow[0] == '"' {
		r := rawjson.New(hollow)
		text, ok := r.Text()
		return []byte(text), ok
	}
	if coded, ok := bytes.CutPrefix(hollow, []byte(base64Prefix)); ok {
		line, err := base64.StdEncoding.AppendDecode(nil, bytes.TrimSuffix(coded, []byte(`"}`)))
		return line, err == nil
	}
	line := make([]byte, 0, len(hollow))
	for {
		before, after, found := bytes.Cut(hollow, []byte(holePrefix))
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

// longTexts lists the long values of an entry as the tools encode them. The order depends
// only on the entry.
func longTexts(e firn.Entry) [][]byte {
	var list [][]byte
	raw := func(value []byte) {
		if len(value) >= minHoleLen {
			list = append(list, value)
		}
	}
	text := func(s string) {
		if len(s) >= minHoleLen {
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
