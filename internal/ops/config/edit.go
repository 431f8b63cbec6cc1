package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// Set writes a setting to the file and returns the new settings. Lists may be separated by
// commas; tables are in braces, as in the file.
//
// Only the text of the value changes: comments, order and blank lines are preserved. The
// file is read again and replaced atomically. A value that is invalid, or that makes
// another setting invalid, is rejected with [Problems], and nothing is written. Variables
// and flags still take precedence; see [Settings.Explain].
func (s *Settings) Set(path, value string) (*Settings, error) {
	release, err := lockFile(vfs.OS{}, s.path)
	if err != nil {
		return nil, fmt.Errorf("lock settings: %w", err)
	}
	defer release()
	next, changed, err := s.withValue(path, value)
	if err != nil {
		return nil, err
	}
	if err := replaceFile(vfs.OS{}, s.path, changed); err != nil {
		return nil, fmt.Errorf("write settings to %s: %w", s.path, err)
	}
	return next, nil
}

// Plan returns the result of [Settings.Set] without writing it.
func (s *Settings) Plan(path, value string) (*Settings, error) {
	next, _, err := s.withValue(path, value)
	return next, err
}

// withValue returns the settings and the text of the file with one setting changed.
func (s *Settings) withValue(path, value string) (*Settings, []byte, error) {
	text, err := readText(s.path)
	if err != nil {
		return nil, nil, err
	}
	changed, err := edit(s.path, text, path, value)
	if err != nil {
		return nil, nil, err
	}
	_, before := assemble(s.path, text, s.vars, s.flags, s.record)
	next, after := assemble(s.path, changed, s.vars, s.flags, s.record)
	if fresh := newProblems(before, after); len(fresh) > 0 {
		return nil, nil, fresh
	}
	return next, changed, nil
}

// lockFile locks the settings file against concurrent changes. A file that does not exist
// cannot be locked.
func lockFile(fsys vfs.FS, path string) (release func(), err error) {
	for {
		f, err := fsys.Open(path, vfs.Read)
		if errors.Is(err, fs.ErrNotExist) {
			return func() {}, nil
		}
		if err != nil {
			return nil, err
		}
		if err := f.Lock(); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		ours, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		if now, err := fsys.Stat(path); err == nil && now.Same(ours) {
			return func() { _ = f.Close() }, nil // it was only locked
		}
		_ = f.Close() // replaced while we waited
	}
}

// newProblems returns the problems in after that are not in before, regardless of their
// position.
func newProblems(before, after Problems) Problems {
	return slices.DeleteFunc(slices.Clone(after), func(p Problem) bool {
		return slices.ContainsFunc(before, func(b Problem) bool { return b.Key == p.Key && b.Message == p.Message && b.Source == p.Source })
	})
}

// replaceFile writes the file. If it is a symbolic link, its target is replaced.
func replaceFile(fsys vfs.FS, path string, text []byte) error {
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		target = path
		if err := fsys.MkdirAll(filepath.Dir(path)); err != nil {
			return fmt.Errorf("%w: %w", firn.ErrNotSaved, err)
		}
	case err != nil:
		return fmt.Errorf("%w: %w", firn.ErrNotSaved, err)
	}
	return vfs.WriteFile(fsys, target, text)
}

// edit returns a file's text with a setting changed. It fails if anything else would
// change.
func edit(file string, text []byte, path, value string) ([]byte, error) {
	doc, problem := parseDocument(file, text)
	if problem != nil {
		return nil, Problems{*problem}
	}
	segments, err := splitPath(path)
	if err != nil {
		return nil, err
	}
	s, err := schema().at(segments)
	if err != nil {
		var bad *badKey
		if errors.As(err, &bad) {
			return nil, Problems{{Key: joinPath(segments), Message: bad.message, Hint: bad.hint}}
		}
		return nil, Problems{{Key: path, Message: err.Error()}}
	}
	encoded, err := normalizeValue(s, segments, value)
	if err != nil {
		return nil, err
	}
	segments = doc.numbered(segments)
	if item := doc.missingItem(segments); item != nil {
		return nil, fmt.Errorf("change setting %s: %w", path, noItem(item))
	}
	changed, err := doc.with(segments, encoded)
	if err != nil {
		return nil, fmt.Errorf("change setting %s: %w", path, err)
	}
	if !onlyChanged(doc, changed, segments) {
		return nil, fmt.Errorf("change setting %s: %w: it would affect other settings; edit %s by hand", path, firn.ErrUnsupported, file)
	}
	return changed, nil
}

// normalizeValue validates a value given as text and returns it in TOML syntax, unchanged
// if possible.
func normalizeValue(s *spec, path []string, value string) (string, error) {
	n, bad := textNode(s, value, Origin{})
	if bad != "" {
		return "", Problems{{Key: joinPath(path), Message: bad}}
	}
	d := &decoder{}
	v := reflect.New(s.typ).Elem()
	under := *s
	under.pointer = false
	under.setDefault(v)
	d.decode(&under, v, n, path)
	if len(d.problems) > 0 {
		return "", d.problems
	}
	switch s.kind {
	case durationKind, bytesKind:
		if strings.Trim(value, "0123456789") == "" {
			return value, nil
		}
		return quoteText(strings.TrimSpace(value)), nil
	case tableKind, mapKind, listKind:
		if trimmed := strings.TrimSpace(value); strings.HasPrefix(trimmed, "[") || strings.HasPrefix(trimmed, "{") {
			return inlineText(trimmed), nil // omitted members stay omitted
		}
	}
	return formatValue(&under, v), nil
}

// missingItem returns the path of the first missing list item in a path, or nil if all
// exist.
func (d *document) missingItem(path []string) []string {
	s := schema()
	for i, segment := range path {
		switch {
		case s.kind == listKind && d.root.at(path[:i+1]) == nil:
			return path[:i+1]
		case s.kind == tableKind:
			s = s.member(segment)
		default:
			s = s.elem
		}
	}
	return nil
}

// onlyChanged reports whether a text differs from a document only at a path.
func onlyChanged(doc *document, text []byte, path []string) bool {
	now, problem := parseDocument(doc.file, text)
	if problem != nil || now.root.at(path) == nil {
		return false
	}
	before, after := make(map[string]string), make(map[string]string)
	doc.root.flatten(nil, path, before)
	now.root.flatten(nil, path, after)
	for at, value := range before {
		if after[at] != value {
			return false
		}
		delete(after, at)
	}
	for at := range after {
		if !strings.HasPrefix(joinPath(path)+".", at+".") {
			return false // only parent tables may be new
		}
	}
	return true
}

// flatten records the contents of a node by path, except those at but.
func (n *node) flatten(at, but []string, into map[string]string) {
	if slices.Equal(at, but) {
		return
	}
	into[joinPath(at)] = shapeWords[n.shape] + " " + n.value
	for name, m := range n.members {
		m.flatten(append(slices.Clip(at), name), but, into)
	}
	for i, item := range n.items {
		item.flatten(append(slices.Clip(at), itoa(i)), but, into)
	}
}
