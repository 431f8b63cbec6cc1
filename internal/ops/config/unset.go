package config

import (
	"fmt"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Unset removes a setting from the file and returns the new settings. A table that becomes
// empty is removed too, if it is a section of its own. Everything else in the file stays as it
// is. If the file does not have the setting, the error is [firn.ErrNotFound].
func (s *Settings) Unset(path string) (*Settings, error) {
	release, err := lockFile(vfs.OS{}, s.path)
	if err != nil {
		return nil, fmt.Errorf("lock the settings: %w", err)
	}
	defer release()
	text, err := readText(s.path)
	if err != nil {
		return nil, err
	}
	changed, err := remove(s.path, text, path)
	if err != nil {
		return nil, err
	}
	_, before := assemble(s.path, text, s.vars, s.flags, s.record)
	next, after := assemble(s.path, changed, s.vars, s.flags, s.record)
	if fresh := newProblems(before, after); len(fresh) > 0 {
		return nil, fresh
	}
	if err := replaceFile(vfs.OS{}, s.path, changed); err != nil {
		return nil, fmt.Errorf("write the settings to %s: %w", s.path, err)
	}
	return next, nil
}

// remove returns the text of a file without a setting. It fails if anything else would change.
func remove(file string, text []byte, path string) ([]byte, error) {
	doc, problem := parseDocument(file, text)
	if problem != nil {
		return nil, Problems{*problem}
	}
	segments, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	n := doc.root.at(segments)
	if n == nil {
		return nil, fmt.Errorf("remove the setting %s: %w in %s", path, firn.ErrNotFound, file)
	}
	if n.line.end <= n.line.start {
		return nil, fmt.Errorf("remove the setting %s: %w: it is a table; edit %s by hand", path, firn.ErrUnsupported, file)
	}
	changed := cutLines(text, n.line)
	last := len(segments) - 1
	if table := doc.root.at(segments[:last]); table != nil && len(table.members) == 1 && table.header.end > table.header.start {
		changed = cutLines(changed, table.header)
	}
	if !onlyRemoved(doc, changed, segments) {
		return nil, fmt.Errorf("remove the setting %s: %w: it cannot be done without touching others; edit %s by hand", path, firn.ErrUnsupported, file)
	}
	return changed, nil
}

// cutLines removes the lines that contain a range, and a blank line before them at the end of
// the file.
func cutLines(text []byte, at span) []byte {
	start, end := at.start, at.end
	for start > 0 && text[start-1] != '\n' {
		start--
	}
	for end < len(text) && text[end] != '\n' {
		end++
	}
	end = min(end+1, len(text))
	if end == len(text) {
		for start > 1 && text[start-1] == '\n' && text[start-2] == '\n' {
			start--
		}
	}
	return append(append([]byte{}, text[:start]...), text[end:]...)
}

// onlyRemoved reports whether a text lacks a setting of a document, and has all others.
func onlyRemoved(doc *document, text []byte, path []string) bool {
	now, problem := parseDocument(doc.file, text)
	if problem != nil || now.root.at(path) != nil {
		return false
	}
	before, after := make(map[string]string), make(map[string]string)
	doc.root.flatten(nil, path, before)
	now.root.flatten(nil, path, after)
	for at := range path { // parents may have become empty and be gone
		delete(before, joinPath(path[:at]))
		delete(after, joinPath(path[:at]))
	}
	if len(before) != len(after) {
		return false
	}
	for at, value := range before {
		if after[at] != value {
			return false
		}
	}
	return true
}

// nodeInFile returns a setting in the file; nil if it is not there.
func (s *Settings) nodeInFile(path string) *node {
	text, err := readText(s.path)
	if err != nil {
		return nil
	}
	doc, problem := parseDocument(s.path, text)
	segments, err := splitPath(path)
	if problem != nil || err != nil {
		return nil
	}
	return doc.root.at(segments)
}

// IsInFile reports whether the file has a setting, of any kind.
func (s *Settings) IsInFile(path string) bool { return s.nodeInFile(path) != nil }

// InFile returns the text of a setting in the file, regardless of variables and flags. It
// returns false for tables and lists.
func (s *Settings) InFile(path string) (value string, ok bool) {
	n := s.nodeInFile(path)
	if n == nil || n.shape == tableShape || n.shape == listShape {
		return "", false
	}
	return n.value, true
}

// InlineTable returns the text of a table in braces in the file. It returns false if there is
// none, or if the table is a section.
func (s *Settings) InlineTable(path string) (text string, ok bool) {
	data, err := readText(s.path)
	if err != nil {
		return "", false
	}
	doc, problem := parseDocument(s.path, data)
	segments, err := splitPath(path)
	if problem != nil || err != nil {
		return "", false
	}
	n := doc.root.at(segments)
	if n == nil || !n.inline || n.text.end <= n.text.start {
		return "", false
	}
	return string(data[n.text.start:n.text.end]), true
}

// OwnsModel reports whether the table of an agent in the file has a model.
func (s *Settings) OwnsModel(agent string) bool {
	_, ok := s.InFile(joinPath([]string{"agents", agent, "model"}))
	return ok
}

// UnsetTable removes a table with all its settings from the file, however it is written, and
// returns the new settings. If the file does not have it, the error is [firn.ErrNotFound].
func (s *Settings) UnsetTable(path string) (*Settings, error) {
	release, err := lockFile(vfs.OS{}, s.path)
	if err != nil {
		return nil, fmt.Errorf("lock the settings: %w", err)
	}
	defer release()
	text, err := readText(s.path)
	if err != nil {
		return nil, err
	}
	changed, err := removeTable(s.path, text, path)
	if err != nil {
		return nil, err
	}
	_, before := assemble(s.path, text, s.vars, s.flags, s.record)
	next, after := assemble(s.path, changed, s.vars, s.flags, s.record)
	if fresh := newProblems(before, after); len(fresh) > 0 {
		return nil, fresh
	}
	if err := replaceFile(vfs.OS{}, s.path, changed); err != nil {
		return nil, fmt.Errorf("write the settings to %s: %w", s.path, err)
	}
	return next, nil
}

// removeTable returns the text of a file without a table: it removes its settings one by one.
func removeTable(file string, text []byte, path string) ([]byte, error) {
	segments, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	for removed := 0; ; removed++ {
		doc, problem := parseDocument(file, text)
		if problem != nil {
			return nil, Problems{*problem}
		}
		n := doc.root.at(segments)
		switch {
		case n == nil && removed == 0:
			return nil, fmt.Errorf("remove %s: %w in %s", path, firn.ErrNotFound, file)
		case n == nil:
			return text, nil
		}
		leaf := n.firstLeaf(segments)
		if leaf == nil {
			return nil, fmt.Errorf("remove %s: %w: its table is empty; edit %s by hand", path, firn.ErrUnsupported, file)
		}
		if text, err = remove(file, text, joinPath(leaf)); err != nil {
			return nil, err
		}
	}
}

// firstLeaf returns the path of the first setting in a table that has lines of its own; nil
// if there is none.
func (n *node) firstLeaf(path []string) []string {
	if n.line.end > n.line.start {
		return path
	}
	for _, key := range n.order {
		if leaf := n.members[key].firstLeaf(append(path[:len(path):len(path)], key)); leaf != nil {
			return leaf
		}
	}
	return nil
}
