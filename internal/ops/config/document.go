package config

import (
	"errors"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// document is a parsed settings file with the positions of its values.
type document struct {
	file string
	text []byte
	// lines holds the offsets of the starts of lines.
	lines []int
	root  *node
}

// shape is the type of a node.
type shape int

const (
	tableShape shape = iota
	listShape
	stringShape
	boolShape
	integerShape
	floatShape
	dateShape
	// rawShape is text from outside the file. Its type depends on the setting.
	rawShape
)

var shapeWords = map[shape]string{
	tableShape: "a table", listShape: "a list", stringShape: "a string", boolShape: "true or false",
	integerShape: "a number", floatShape: "a number", dateShape: "a date",
}

// span is a range of the text; end is exclusive.
type span struct{ start, end int }

// node is a value in the settings and its origin.
type node struct {
	shape  shape
	value  string // of a scalar
	origin Origin

	members map[string]*node
	order   []string // of the members
	items   []*node

	// text is the range of the value, key that of its key. They are set only for values in
	// the file; list items have no key.
	key, text span
	// line is the range of the key and value, if there are both.
	line span
	// header is the range of the table's header, if it has one.
	header span
	// dotted is set if the table was created by a dotted key, inline if it is in braces.
	dotted, inline bool
}

// newTable returns an empty table with an origin.
func newTable(at Origin) *node {
	return &node{shape: tableShape, members: make(map[string]*node), origin: at}
}

// put sets a member.
func (n *node) put(key string, member *node) {
	if _, ok := n.members[key]; !ok {
		n.order = append(n.order, key)
	}
	n.members[key] = member
}

// parseDocument parses the text of a file. If it is not valid TOML, the problem contains
// the position.
func parseDocument(file string, text []byte) (*document, *Problem) {
	d := &document{file: file, text: text}
	d.lines = append(d.lines, 0)
	for i, b := range text {
		if b == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	d.root = newTable(Origin{Layer: FromFile, File: file})
	// The decoder reports all TOML errors; the parser below does not.
	var whole map[string]any
	if err := toml.Unmarshal(text, &whole); err != nil {
		return d, d.syntaxProblem(err)
	}
	p := unstable.Parser{}
	p.Reset(text)
	table := d.root
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			table = d.tableAt(e)
		case unstable.ArrayTable:
			table = d.itemAt(e)
		case unstable.KeyValue:
			d.keyValue(&p, table, e)
		}
	}
	if err := p.Error(); err != nil { // cannot happen: the decoder reports it first
		return d, &Problem{File: file, Message: "invalid TOML: " + err.Error()}
	}
	return d, nil
}

// syntaxProblem converts an error of the decoder.
func (d *document) syntaxProblem(err error) *Problem {
	p := &Problem{File: d.file, Message: "invalid TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		p.Line, p.Column = bad.Position()
		p.Hint = syntaxHint(d.line(p.Line))
	}
	return p
}

// syntaxHint guesses the mistake in a line.
func syntaxHint(line string) string {
	key, value, _ := strings.Cut(line, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case key == "" || value == "":
		return ""
	case strings.ContainsAny(value[:1], "0123456789") || value[0] >= 'a' && value[0] <= 'z' || strings.ContainsAny(value[:1], "/~"):
		return "strings, durations and sizes are written in quotes"
	}
	return ""
}

// line returns a line of the text by its number.
func (d *document) line(number int) string {
	if number < 1 || number > len(d.lines) {
		return ""
	}
	rest := d.text[d.lines[number-1]:]
	line, _, _ := strings.Cut(string(rest), "\n")
	return line
}

// place returns the origin for an offset.
func (d *document) place(offset int) Origin {
	line := sort.SearchInts(d.lines, offset+1)
	start := d.lines[line-1]
	return Origin{Layer: FromFile, File: d.file, Line: line, Column: utf8.RuneCount(d.text[start:offset]) + 1}
}

// keysOf returns the segments of a key and their ranges.
func keysOf(e *unstable.Node) (names []string, spans []span) {
	for it := e.Key(); it.Next(); {
		k := it.Node()
		names = append(names, string(k.Data))
		spans = append(spans, spanOf(k))
	}
	return names, spans
}

func spanOf(n *unstable.Node) span {
	return span{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)}
}

// descend follows names from a table and creates missing tables. In an array of tables it
// uses the last one.
func (d *document) descend(table *node, names []string, spans []span, dotted bool) *node {
	for i, name := range names {
		next := table.members[name]
		if next == nil {
			next = newTable(d.place(spans[i].start))
			next.key, next.dotted = spans[i], dotted
			table.put(name, next)
		}
		if next.shape == listShape && len(next.items) > 0 {
			next = next.items[len(next.items)-1]
		}
		if next.shape != tableShape {
			return newTable(next.origin) // cannot happen: the decoder rejects it
		}
		table = next
	}
	return table
}

// tableAt returns the table that a header in brackets starts.
func (d *document) tableAt(e *unstable.Node) *node {
	names, spans := keysOf(e)
	table := d.descend(d.root, names, spans, false)
	table.header = d.headerSpan(spans)
	table.origin = d.place(spans[len(spans)-1].start)
	return table
}

// itemAt returns the table that a header in double brackets starts.
func (d *document) itemAt(e *unstable.Node) *node {
	names, spans := keysOf(e)
	last := len(names) - 1
	parent := d.descend(d.root, names[:last], spans[:last], false)
	at := d.place(spans[last].start)
	list := parent.members[names[last]]
	if list == nil {
		list = &node{shape: listShape, origin: at, key: spans[last]}
		parent.put(names[last], list)
	}
	item := newTable(at)
	item.header = d.headerSpan(spans)
	list.items = append(list.items, item)
	return item
}

// headerSpan returns the range of a header line.
func (d *document) headerSpan(keys []span) span {
	start := d.lines[d.place(keys[0].start).Line-1]
	return span{start, d.lineEnd(keys[len(keys)-1].end)}
}

// lineEnd returns the end of the line that contains offset, after its newline.
func (d *document) lineEnd(offset int) int {
	if i := strings.IndexByte(string(d.text[offset:]), '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(d.text)
}

// keyValue adds a key and its value to a table.
func (d *document) keyValue(p *unstable.Parser, table *node, e *unstable.Node) {
	names, spans := keysOf(e)
	last := len(names) - 1
	whole := spanOf(e)
	start := spans[last].end
	for start < whole.end && d.text[start] != '=' {
		start++
	}
	start++
	for start < whole.end && (d.text[start] == ' ' || d.text[start] == '\t') {
		start++
	}
	table = d.descend(table, names[:last], spans[:last], true)
	value := d.value(p, e.Value(), spans[last].start)
	value.key, value.line, value.text = spans[last], whole, span{start, whole.end}
	value.origin = d.place(spans[last].start)
	table.put(names[last], value)
}

var scalarShapes = map[unstable.Kind]shape{
	unstable.String: stringShape, unstable.Bool: boolShape, unstable.Integer: integerShape, unstable.Float: floatShape,
	unstable.LocalDate: dateShape, unstable.LocalTime: dateShape, unstable.LocalDateTime: dateShape, unstable.DateTime: dateShape,
}

// value converts a value to a node. A value without a position gets that of its key.
func (d *document) value(p *unstable.Parser, v *unstable.Node, at int) *node {
	if v.Raw.Length > 0 {
		at = int(v.Raw.Offset)
	}
	n := &node{origin: d.place(at), text: spanOf(v)}
	switch v.Kind {
	case unstable.Array:
		n.shape = listShape
		for it := v.Children(); it.Next(); {
			n.items = append(n.items, d.value(p, it.Node(), at))
		}
	case unstable.InlineTable:
		n.shape, n.members, n.inline = tableShape, make(map[string]*node), true
		for it := v.Children(); it.Next(); {
			d.keyValue(p, n, it.Node())
		}
	default:
		n.shape, n.value = scalarShapes[v.Kind], string(v.Data)
	}
	return n
}
