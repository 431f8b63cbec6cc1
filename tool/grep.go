package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"firn.dev"
)

// The limits of grep.
const (
	defaultMatches = 100
	maxMatches     = 1000
	maxGrepFiles   = 100_000
	maxGrepBytes   = 1 << 30
	maxGrepLine    = 1 << 20 // only the beginning of a longer line is searched
	shownLine      = 300     // characters
	maxPattern     = 10_000
)

type grepArguments struct {
	Pattern    string `json:"pattern" desc:"A regular expression (RE2 syntax, as in Go), matched against each line."`
	Path       string `json:"path,omitempty" desc:"A file or directory to search, relative to the workspace; empty is all of it."`
	Glob       string `json:"glob,omitempty" desc:"Search only files whose name matches, such as *.go or src/**/*.{ts,tsx}."`
	IgnoreCase bool   `json:"ignore_case,omitempty" desc:"Do not tell upper from lower case."`
	Limit      int    `json:"limit,omitempty" desc:"How many lines to show at most; 100 if not given, 1000 at most."`
}

type grepDetails struct {
	Matches int `json:"matches"`
	Files   int `json:"files"`
	// More is set if the search ended early.
	More bool `json:"more,omitempty"`
}

func (w *Workspace) grep() Tool {
	return New("grep", "Searches the files of the workspace for lines that match a regular expression, and shows them as path:line: text. "+
		"Binary files, the contents of .git and targets of symbolic links are left out.", anywhere(w, (*Workspace).search))
}

// grepSearch is one search through files.
type grepSearch struct {
	w     *Workspace
	re    *regexp.Regexp
	glob  *glob
	limit int
	// base is the start directory; globs are matched against paths below it.
	base string

	out     strings.Builder
	matches int
	files   int
	bytes   int64
	binary  int
	failed  int
	// stopReason is the reason why the search ended early.
	stopReason string
}

// errDone ends a walk early.
var errDone = errors.New("done")

func (w *Workspace) search(ctx context.Context, a grepArguments) (Result, error) {
	h := &grepSearch{w: w, limit: defaultMatches}
	if err := h.prepare(a); err != nil {
		return Result{}, err
	}
	name, err := w.local(a.Path)
	if err != nil {
		return Result{}, err
	}
	info, err := w.stat(name)
	if err != nil {
		return Result{}, err
	}
	h.base = name
	if info.IsDir() {
		err = h.walk(ctx, name)
	} else {
		err = h.file(ctx, name)
	}
	if err != nil && !errors.Is(err, errDone) {
		return Result{}, w.explain("search", name, err)
	}
	return Result{
		Parts:   TextResult(h.text(a.Pattern)).Parts,
		Details: quote(grepDetails{Matches: h.matches, Files: h.files, More: h.stopReason != ""}),
	}, nil
}

// prepare compiles the pattern and the glob.
func (h *grepSearch) prepare(a grepArguments) error {
	if a.Pattern == "" || len(a.Pattern) > maxPattern || a.Limit < 0 {
		return fmt.Errorf("%w arguments for grep: pattern must have 1 to %s, and limit must not be negative", firn.ErrInvalid, count(maxPattern, "character"))
	}
	pattern := a.Pattern
	if a.IgnoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return fmt.Errorf("%w pattern %q: %s (the syntax is RE2: no lookaround and no backreferences; to find ( ) [ ] { } . * + ? | ^ $ \\ themselves put a \\ before each)", firn.ErrInvalid, a.Pattern, why)
	}
	h.re = re
	if a.Limit > 0 {
		h.limit = min(a.Limit, maxMatches)
	}
	if a.Glob != "" {
		g, err := compileGlob(a.Glob)
		if err != nil {
			return err
		}
		h.glob = &g
	}
	return nil
}

// walk searches a directory recursively, in order of names.
func (h *grepSearch) walk(ctx context.Context, dir string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	entries, more, err := h.w.readDir(dir)
	if err != nil {
		h.failed++
	}
	if more {
		h.stopReason = h.w.shown(dir) + " has too many files"
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case entry.IsDir() && !strings.EqualFold(entry.Name(), ".git"):
			err = h.walk(ctx, path)
		case entry.Type().IsRegular() && h.included(path):
			err = h.file(ctx, path)
		default:
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// included reports whether a file is to be searched. The glob may be relative to the
// workspace or to the searched directory.
func (h *grepSearch) included(path string) bool {
	if h.glob == nil {
		return true
	}
	below, err := filepath.Rel(h.base, path)
	return h.glob.match(filepath.ToSlash(path)) || err == nil && h.glob.match(filepath.ToSlash(below))
}

// file searches one file. Unreadable files are counted and are not an error.
func (h *grepSearch) file(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if h.files == maxGrepFiles {
		h.stopReason = "there are too many files"
		return errDone
	}
	f, _, err := h.w.open(name)
	if err != nil {
		if name == h.base {
			return err
		}
		h.failed++
		return nil
	}
	defer f.Close()
	h.files++
	r := bufio.NewReaderSize(f, 64<<10)
	begin, err := r.Peek(sniffLength)
	if err != nil && !errors.Is(err, io.EOF) {
		h.failed++
		return nil
	}
	if isBinary(begin) != "" || imageType(begin) != "" {
		h.binary++
		return nil
	}
	return h.lines(ctx, name, r)
}

// lines searches the lines of a file.
func (h *grepSearch) lines(ctx context.Context, name string, r *bufio.Reader) error {
	var long []byte
	for n := 1; ; n++ {
		line, read, err := readBounded(r, &long)
		h.bytes += read
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			h.failed++
			return nil
		case read == 0:
			return nil
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if at := h.re.FindIndex(line); at != nil {
			if h.matches == h.limit {
				h.stopReason = fmt.Sprintf("there are more than %s", count(h.limit, "match"))
				return errDone
			}
			h.matches++
			fmt.Fprintf(&h.out, "%s:%d: %s\n", h.w.shown(name), n, around(line, at[0], at[1]))
		}
		if h.bytes > maxGrepBytes {
			h.stopReason = fmt.Sprintf("%s were read", size(h.bytes))
			return errDone
		}
	}
}

// readBounded reads a line and returns at most maxGrepLine bytes of it, and the number of
// bytes read. The line is valid until the next call.
func readBounded(r *bufio.Reader, long *[]byte) (line []byte, read int64, err error) {
	line, err = r.ReadSlice('\n')
	read = int64(len(line))
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, read, err
	}
	*long = append((*long)[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = r.ReadSlice('\n')
		read += int64(len(line))
		*long = append(*long, line[:min(len(line), maxGrepLine-len(*long))]...)
		if read > maxGrepBytes {
			return *long, read, nil
		}
	}
	return *long, read, err
}

// around returns the part of a line that contains the match, sanitized.
func around(line []byte, from, to int) string {
	text, before, after := string(line), "", ""
	if utf8.RuneCountInString(text) > shownLine {
		// A third of the space is context before the match.
		for room := shownLine / 3; from > 0 && room > 0; room-- {
			_, width := utf8.DecodeLastRuneInString(text[:from])
			from -= width
		}
		if from > 0 {
			before = "…"
		}
		text = text[from:]
		if cut := ellipsis(text, shownLine); cut != text {
			text, after = strings.TrimSuffix(cut, "…"), "…"
		}
	}
	clean, _ := firn.CleanText(text)
	return before + clean + after
}

// text returns the result for the model.
func (h *grepSearch) text(pattern string) string {
	var notes []string
	if h.matches == 0 {
		notes = append(notes, fmt.Sprintf("no line matches %q in %s", ellipsis(pattern, 100), count(h.files, "file")))
	}
	if h.stopReason != "" {
		notes = append(notes, "not all was searched, because "+h.stopReason+": name a path or a glob, or a narrower pattern")
	}
	if h.binary > 0 {
		notes = append(notes, count(h.binary, "binary file")+" left out")
	}
	if h.failed > 0 {
		notes = append(notes, count(h.failed, "file")+" could not be read")
	}
	if len(notes) == 0 {
		return strings.TrimSuffix(h.out.String(), "\n")
	}
	return h.out.String() + "[" + strings.Join(notes, "; ") + "]"
}
