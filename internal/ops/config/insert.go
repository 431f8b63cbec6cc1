package config

import (
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// with returns the text with the value at a path changed. It replaces the text of the
// value, or adds a line.
func (d *document) with(path []string, value string) ([]byte, error) {
	if n := d.root.at(path); n != nil {
		if n.text.end <= n.text.start {
			return nil, fmt.Errorf("%w: it is a multi-line table; set its members", firn.ErrUnsupported)
		}
		return d.splice(n.text, value), nil
	}
	last := len(path) - 1
	above, depth := d.root, 0
	for depth < last {
		next := above.child(path[depth])
		if next == nil {
			break
		}
		above, depth = next, depth+1
	}
	if above.shape == listShape {
		return nil, noItem(path[:depth+1])
	}
	if above.shape != tableShape {
		return nil, fmt.Errorf("%s is not a table: %w", joinPath(path[:depth]), firn.ErrInvalid)
	}
	return d.insert(above, path, depth, value), nil
}

// noItem returns the error for a missing list item, with a hint.
func noItem(path []string) error {
	last := len(path) - 1
	return fmt.Errorf("%s: %w; to add one, write [[%s]] in the file", joinPath(path), firn.ErrNotFound, joinPath(path[:last]))
}

// numbered returns the path with list items replaced by their indexes.
func (d *document) numbered(path []string) []string {
	path = slices.Clone(path)
	n := d.root
	for i, segment := range path {
		if n != nil && n.shape == listShape {
			if index := itemIndex(n, segment); index >= 0 {
				path[i] = itoa(index)
			}
		}
		if n != nil {
			n = n.child(segment)
		}
	}
	return path
}

// splice replaces a range of the text.
func (d *document) splice(at span, value string) []byte {
	return slices.Concat(d.text[:at.start], []byte(value), d.text[at.end:])
}

// insert adds a value at a path. above is the innermost existing table on the path, at
// path[:depth].
func (d *document) insert(above *node, path []string, depth int, value string) []byte {
	rest := joinPath(path[depth:])
	switch {
	case above.inline:
		return d.insertInline(above, rest+" = "+value)
	case above.dotted && above.header == (span{}):
		// A table created by dotted keys cannot have a header.
		return d.insertDotted(above, path, depth, value)
	case depth == len(path)-1 && (above == d.root || above.header != span{}):
		return d.insertLine(above, rest+" = "+value)
	case depth < len(path)-1 && above != d.root && above.header != (span{}) && d.inList(above):
		// The header of a subtable would have to directly follow its list item.
		return d.insertLine(above, rest+" = "+value)
	case len(path) == 1:
		return d.insertLine(d.root, rest+" = "+value)
	}
	last := len(path) - 1
	return d.append("[" + joinPath(path[:last]) + "]\n" + quoteKey(path[last]) + " = " + value + "\n")
}

// inList reports whether a table is a list item.
func (d *document) inList(table *node) bool {
	at := table.header.start
	return at < len(d.text) && strings.HasPrefix(strings.TrimLeft(string(d.text[at:table.header.end]), " \t"), "[[")
}

// insertInline adds a pair at the end of a table in braces.
func (d *document) insertInline(table *node, pair string) []byte {
	last := table.lastMember()
	if last != (span{}) {
		return d.splice(span{last.end, last.end}, ", "+pair)
	}
	brace := table.text.start + 1
	return d.splice(span{brace, brace}, " "+pair+" ")
}

// insertDotted adds a dotted key after the last one of its table.
func (d *document) insertDotted(table *node, path []string, depth int, value string) []byte {
	last := table.lastLine()
	if last == (span{}) {
		return d.text // rejected later: nothing changed
	}
	// The key has the same prefix as its siblings.
	owner := d.root
	begin := 0
	for i := range depth {
		owner = owner.child(path[i])
		if owner == nil {
			return d.text
		}
		if owner.header != (span{}) {
			begin = i + 1
		}
	}
	return d.lineAfter(last.end, joinPath(path[begin:])+" = "+value)
}

// lastLine returns the range of the last key and value of a table and its dotted subtables.
func (n *node) lastLine() span {
	if last := n.lastMember(); last.end > n.line.end {
		return last
	}
	return n.line
}

// lastMember returns the range of the last key and value in a table, including dotted
// subtables.
func (n *node) lastMember() span {
	last := span{}
	for _, m := range n.members {
		if m.line == (span{}) && !m.dotted || m.header != (span{}) {
			continue // it has its own header
		}
		if line := m.lastLine(); line.end > last.end {
			last = line
		}
	}
	return last
}

// insertLine adds a line to a table, after its last line or directly after its header.
func (d *document) insertLine(table *node, line string) []byte {
	last := table.lastMember()
	switch {
	case last != (span{}):
		return d.lineAfter(last.end, line)
	case table.header != (span{}):
		return d.lineAfter(table.header.end-1, line)
	}
	at := d.afterPreamble()
	text := line + d.newline()
	if at < len(d.text) {
		text += d.newline()
	}
	return d.splice(span{at, at}, text)
}

// afterPreamble returns the offset for the first top-level line in a file that has only
// tables: after the leading comment, if a blank line follows it.
func (d *document) afterPreamble() int {
	for i, start := range d.lines {
		line := strings.TrimSpace(d.line(i + 1))
		switch {
		case line == "" && i > 0 && start < len(d.text):
			return d.lineEnd(start)
		case !strings.HasPrefix(line, "#"):
			return 0
		}
	}
	return 0
}

// lineAfter adds a line after the one that contains offset.
func (d *document) lineAfter(offset int, line string) []byte {
	at := d.lineEnd(max(offset, 0))
	if at > 0 && d.text[at-1] != '\n' {
		return d.splice(span{at, at}, d.newline()+line+d.newline())
	}
	return d.splice(span{at, at}, line+d.newline())
}

// append adds a table at the end of the file, after a blank line.
func (d *document) append(table string) []byte {
	text := strings.ReplaceAll(table, "\n", d.newline())
	end := len(d.text)
	switch {
	case end == 0:
	case d.text[end-1] != '\n':
		text = d.newline() + d.newline() + text
	default:
		text = d.newline() + text
	}
	return d.splice(span{end, end}, text)
}

// newline returns the line terminator of the file.
func (d *document) newline() string {
	if len(d.lines) > 1 && d.lines[1] > 1 && d.text[d.lines[1]-2] == '\r' {
		return "\r\n"
	}
	return "\n"
}
