package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"firn.dev"
)

const (
	// maxEditFile is the largest file that edit_file changes.
	maxEditFile = maxWrite
	// maxEdits limits the number of edits of one call.
	maxEdits = 200
)

type editArguments struct {
	Path  string        `json:"path" desc:"The file, relative to the workspace."`
	Edits []replacement `json:"edits" desc:"The replacements. Each old_text is searched in the file as it is now; they must not overlap. If one cannot be made, none is."`
}

// replacement is one edit of a file.
type replacement struct {
	Old string `json:"old_text" desc:"The exact text to replace, with its spaces and line ends. It must occur once, so include enough lines around it."`
	New string `json:"new_text" desc:"The text to put in its place."`
	All bool   `json:"all,omitempty" desc:"Replace every occurrence instead of exactly one."`
}

// changeDetails is the machine-readable result of edit_file and write_file.
type changeDetails struct {
	Path string `json:"path"`
	// Bytes is the size of the written content, Created whether the file is new.
	Bytes   int  `json:"bytes"`
	Created bool `json:"created"`
	// Edits is the number of replaced places.
	Edits int `json:"edits,omitempty"`
	// Diff is the change as a unified diff; empty if it is too large.
	Diff string `json:"diff,omitempty"`
}

func (w *Workspace) editFile() Tool {
	return withPreview(New("edit_file", "Changes a text file of the workspace by replacing exact texts. One call can make several replacements; it makes all of them or none. "+
		"Line endings and permissions are kept.", anywhere(w, (*Workspace).edit)), anywhere(w, (*Workspace).previewEdit))
}

// edit applies the replacements atomically.
func (w *Workspace) edit(ctx context.Context, a editArguments) (Result, error) {
	w.writing.Lock()
	defer w.writing.Unlock()
	c, err := w.planEdit(a)
	if err != nil {
		return Result{}, err
	}
	now, err := w.root.Stat(c.name)
	if err != nil || !now.ModTime().Equal(c.info.ModTime()) || now.Size() != c.info.Size() {
		return Result{}, fmt.Errorf("edit %s: another process changed the file: read it again (%w)", w.shown(c.name), firn.ErrConflict)
	}
	err = w.recorded(ctx, c.name, func() error { return w.replace(c.name, c.after, c.info) })
	if err != nil {
		return Result{}, w.explain("write", c.name, err)
	}
	return Result{
		Parts:   TextResult(fmt.Sprintf("edited %s: %s", w.shown(c.name), count(c.edits, "replacement"))).Parts,
		Details: quote(changeDetails{Path: w.shown(c.name), Bytes: len(c.after), Edits: c.edits, Diff: c.diff()}),
	}, nil
}

// previewEdit returns the diff that a call would make.
func (w *Workspace) previewEdit(_ context.Context, a editArguments) (string, error) {
	c, err := w.planEdit(a)
	if err != nil {
		return "", err
	}
	return c.diff(), nil
}

// change is a planned change of a file.
type change struct {
	name string
	// path is the name as it is shown.
	path string
	// info is nil if the file does not exist.
	info          fs.FileInfo
	before, after []byte
	edits         int
}

// diff returns the change as a unified diff.
func (c *change) diff() string {
	return unifiedDiff(c.path, c.info != nil, c.before, c.after)
}

// planEdit reads the file and applies the replacements in memory.
func (w *Workspace) planEdit(a editArguments) (*change, error) {
	if len(a.Edits) == 0 || len(a.Edits) > maxEdits {
		return nil, fmt.Errorf("%w arguments for edit_file: from 1 to %d edits are needed", firn.ErrInvalid, maxEdits)
	}
	name, info, err := w.target(writeArguments{Path: a.Path})
	if err != nil {
		return nil, err
	}
	if info == nil {
		return nil, w.missing(name)
	}
	before, err := w.readWhole(name)
	if err != nil {
		return nil, err
	}
	after, n, err := applyEdits(before, a.Edits)
	if err != nil {
		return nil, fmt.Errorf("edit %s: %w", w.shown(name), err)
	}
	if len(after) > maxEditFile {
		return nil, fmt.Errorf("edit %s: with %s the file is %w, at most %s", w.shown(name), size(int64(len(after))), firn.ErrTooLarge, size(maxEditFile))
	}
	return &change{name: name, path: w.shown(name), info: info, before: before, after: after, edits: n}, nil
}

// readWhole reads a text file that can be edited.
func (w *Workspace) readWhole(name string) ([]byte, error) {
	f, info, err := w.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxEditFile+1))
	if err != nil {
		return nil, w.explain("read", name, err)
	}
	if len(content) > maxEditFile {
		return nil, fmt.Errorf("edit %s: a file of %s is %w, at most %s", w.shown(name), size(info.Size()), firn.ErrTooLarge, size(maxEditFile))
	}
	if why := isBinary(content[:min(len(content), sniffLength)]); why != "" {
		return nil, fmt.Errorf("edit %s: it is a binary file%s (%w)", w.shown(name), why, firn.ErrUnsupported)
	}
	return content, nil
}

// span is a place in a file that is replaced.
type span struct {
	from, to int
	text     string
	edit     int
}

// applyEdits returns the content with all replacements and their number, or an error that
// lists every edit that cannot be made.
func applyEdits(content []byte, edits []replacement) ([]byte, int, error) {
	var spans []span
	var problems []error
	for i, e := range edits {
		found, err := findEdit(content, e)
		if err != nil {
			problems = append(problems, fmt.Errorf("edit %d of %d: %w", i+1, len(edits), err))
		}
		for _, s := range found {
			s.edit = i
			spans = append(spans, s)
		}
	}
	if len(problems) > 0 {
		return nil, 0, fmt.Errorf("%w; nothing was changed", errors.Join(problems...))
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.from - b.from })
	var out bytes.Buffer
	at := 0
	for i, s := range spans {
		if s.from < at {
			return nil, 0, fmt.Errorf("edits %d and %d overlap in line %d: make them one; nothing was changed (%w)", spans[i-1].edit+1, s.edit+1, lineAt(content, s.from), firn.ErrInvalid)
		}
		out.Write(content[at:s.from])
		out.WriteString(s.text)
		at = s.to
	}
	out.Write(content[at:])
	return out.Bytes(), len(spans), nil
}

// findEdit returns the places of one edit. A text with LF line ends also matches a file
// with CRLF, and the new text gets the line ends of the file.
func findEdit(content []byte, e replacement) ([]span, error) {
	switch {
	case e.Old == "":
		return nil, fmt.Errorf("old_text is empty: write_file writes a whole file (%w)", firn.ErrInvalid)
	case e.Old == e.New:
		return nil, fmt.Errorf("old_text and new_text are the same (%w)", firn.ErrInvalid)
	}
	old, text := e.Old, e.New
	places := occurrences(content, old)
	if usesCRLF(content) {
		text = toCRLF(text)
		if len(places) == 0 {
			old = toCRLF(old)
			places = occurrences(content, old)
		}
	}
	switch {
	case len(places) == 0:
		return nil, notFound(content, e.Old)
	case len(places) > 1 && !e.All:
		return nil, notUnique(content, places)
	}
	spans := make([]span, len(places))
	for i, at := range places {
		spans[i] = span{from: at, to: at + len(old), text: text}
	}
	return spans, nil
}

// occurrences returns the offsets of the non-overlapping occurrences of a text.
func occurrences(content []byte, text string) []int {
	var places []int
	for at := 0; ; {
		n := bytes.Index(content[at:], []byte(text))
		if n < 0 {
			return places
		}
		places = append(places, at+n)
		at += n + len(text)
	}
}

// usesCRLF reports whether most lines of a file end in CRLF.
func usesCRLF(content []byte) bool {
	crlf := bytes.Count(content, []byte("\r\n"))
	return crlf > 0 && crlf*2 > bytes.Count(content, []byte("\n"))
}

// toCRLF converts all line ends to CRLF.
func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// lineAt returns the line number of an offset.
func lineAt(content []byte, at int) int { return bytes.Count(content[:at], []byte("\n")) + 1 }

// maxNamedLines limits the number of line numbers named in an error.
const maxNamedLines = 10

// notUnique returns the error for a text that occurs several times.
func notUnique(content []byte, places []int) error {
	var lines []string
	for _, at := range places[:min(len(places), maxNamedLines)] {
		lines = append(lines, fmt.Sprint(lineAt(content, at)))
	}
	if len(places) > maxNamedLines {
		lines = append(lines, "…")
	}
	return fmt.Errorf("old_text occurs %d times, in lines %s: include more lines around it, or set all (%w)", len(places), strings.Join(lines, ", "), firn.ErrInvalid)
}

// previewWrite returns the diff that a call of write_file would make.
func (w *Workspace) previewWrite(_ context.Context, a writeArguments) (string, error) {
	name, info, err := w.target(a)
	if err != nil {
		return "", err
	}
	c := change{name: name, path: w.shown(name), info: info, after: []byte(a.Content)}
	if info != nil {
		if c.before, err = w.readWhole(name); err != nil {
			return "", nil // binary or too large: there is no diff to show
		}
	}
	if a.Append {
		c.after = slices.Concat(c.before, c.after)
	}
	return c.diff(), nil
}
