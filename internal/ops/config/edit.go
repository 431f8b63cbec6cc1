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

// Set writes a setting into the file and returns the settings as they are then.
// Lists may be written with commas; tables stand in braces, as in the file.
//
// The text of the file stays as it is, but for the value: comments, order and
// blank lines are kept. The file is read again, and replaced in one step. A
// value that is wrong, or that would make something else wrong, is refused with
// [Problems], and nothing is written. What the environment or a flag says still
// goes before it; [Settings.Explain] tells.
func (s *Settings) Set(path, value string) (*Settings, error) {
	release, err := lockFile(vfs.OS{}, s.path)
	if err != nil {
		return nil, fmt.Errorf("lock the settings: %w", err)
	}
	defer release()
	next, changed, err := s.with(path, value)
	if err != nil {
		return nil, err
	}
	if err := replaceFile(vfs.OS{}, s.path, changed); err != nil {
		return nil, fmt.Errorf("write the settings to %s: %w", s.path, err)
	}
	return next, nil
}

// Plan returns what [Settings.Set] would, and writes nothing.
func (s *Settings) Plan(path, value string) (*Settings, error) {
	next, _, err := s.with(path, value)
	return next, err
}

// with returns the settings, and the text of the file, with a setting changed.
func (s *Settings) with(path, value string) (*Settings, []byte, error) {
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

// lockFile keeps others from setting something meanwhile, who would lose it. A
// file that is not there yet cannot be locked.
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
		_ = f.Close() // it was replaced while we waited
	}
}

// newProblems are those that were not there before, wherever they were.
func newProblems(before, after Problems) Problems {
	return slices.DeleteFunc(slices.Clone(after), func(p Problem) bool {
		return slices.ContainsFunc(before, func(b Problem) bool { return b.Key == p.Key && b.Message == p.Message && b.Source == p.Source })
	})
}

// replaceFile writes the file. If its name is a link, what it points at is
// replaced.
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

// edit returns a file's text with a setting changed. Everything else it says
// stays the same, or the edit is refused.
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
	spelt, err := respell(s, segments, value)
	if err != nil {
		return nil, err
	}
	segments = doc.numbered(segments)
	if item := doc.missingItem(segments); item != nil {
		return nil, fmt.Errorf("change the setting %s: %w", path, noItem(item))
	}
	changed, err := doc.with(segments, spelt)
	if err != nil {
		return nil, fmt.Errorf("change the setting %s: %w", path, err)
	}
	if !onlyChanged(doc, changed, segments) {
		return nil, fmt.Errorf("change the setting %s: %w: it cannot be done without touching others; edit %s by hand", path, firn.ErrUnsupported, file)
	}
	return changed, nil
}

// respell checks a value that somebody gave as text, and spells it as it
// stands in the file: as it was given, if that is possible.
func respell(s *spec, path []string, value string) (string, error) {
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
			return inlineText(trimmed), nil // what was left out stays so
		}
	}
	return spell(&under, v), nil
}

// missingItem is the item of a list that a path goes through and that is not
// there, nil if all are.
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

// onlyChanged reports whether a text differs from a document in nothing but
// what stands at a path.
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
			return false // a table above is all that may be new
		}
	}
	return true
}

// flatten notes all that a node holds, but for what is at a path.
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
