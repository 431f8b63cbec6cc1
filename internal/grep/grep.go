// Package grep looks through the lines of transcripts for an expression: all of
// them, as they lie on disk, several at a time. It needs no index, and nothing
// of it has to be sound.
//
// It reads files of any tool that keeps JSON lines. What it tells is bounded,
// whatever it finds.
package grep

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"firn/internal/mask"
	"firn/internal/search"
	"firn/internal/vfs"
)

// Options says what to look for, and how much to tell.
type Options struct {
	Pattern *regexp.Regexp
	// Most is how many matching lines are told at most; zero is all.
	Most int
	// Width is how many bytes of a line are told; zero is 200.
	Width int
	// Secrets shows them; else they are masked.
	Secrets bool
	// Expand opens a compressed file; nil leaves those out.
	Expand func(io.Reader) (io.ReadCloser, error)
}

// Match is a line in which the expression was found.
type Match struct {
	File string `json:"file"`
	// Line is the number of the line, from 1.
	Line int `json:"line"`
	// Session is the file's name without its ending, Entry the id in the line,
	// Role who speaks there; empty if that cannot be told.
	Session string `json:"session"`
	Entry   string `json:"entry,omitempty"`
	Role    string `json:"role,omitempty"`
	// Text is a piece of the line around the first match, as people read it.
	Text string `json:"text"`
}

// Summary tells what was done.
type Summary struct {
	Files   int   `json:"files"`
	Bytes   int64 `json:"bytes"`
	Matches int   `json:"matches"`
	// More says that there may be more: enough was found.
	More bool `json:"more,omitempty"`
	// Failed are files that could not be read, and why.
	Failed []string `json:"failed,omitempty"`
}

// outcome is what was found in one file.
type outcome struct {
	matches []Match
	bytes   int64
	more    bool
	err     error
}

// Run looks through files and calls each for every match, in the order of the
// files and of their lines. A file that cannot be read keeps no other from it.
func Run(ctx context.Context, fsys vfs.FS, files []string, o Options, each func(Match) error) (Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel() // before they are waited for
	results := make([]chan outcome, len(files))
	for i := range results {
		results[i] = make(chan outcome, 1)
	}
	next := make(chan int)
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				results[i] <- o.file(ctx, fsys, files[i])
			}
		})
	}
	// A little ahead of what is told, so that not all is kept in memory.
	ahead := make(chan struct{}, 4*runtime.GOMAXPROCS(0))
	workers.Go(func() {
		defer close(next)
		for i := range files {
			select {
			case ahead <- struct{}{}:
				next <- i
			case <-ctx.Done():
				return
			}
		}
	})
	return o.gather(ctx, files, results, ahead, each)
}

// gather tells what was found, in order, until it is enough.
func (o Options) gather(ctx context.Context, files []string, results []chan outcome, ahead <-chan struct{}, each func(Match) error) (Summary, error) {
	var s Summary
	for i, file := range files {
		var r outcome
		select {
		case r = <-results[i]:
			<-ahead
		case <-ctx.Done():
			return s, ctx.Err()
		}
		s.Files++
		s.Bytes += r.bytes
		if r.err != nil {
			if ctx.Err() != nil {
				return s, ctx.Err()
			}
			s.Failed = append(s.Failed, fmt.Sprintf("%s: %v", file, r.err))
		}
		for _, m := range r.matches {
			if o.Most > 0 && s.Matches == o.Most {
				s.More = true
				return s, nil
			}
			s.Matches++
			if err := each(m); err != nil {
				return s, err
			}
		}
		if r.more {
			s.More = true
			return s, nil
		}
	}
	return s, nil
}

// file looks through one file.
func (o Options) file(ctx context.Context, fsys vfs.FS, path string) (out outcome) {
	f, err := fsys.Open(path, vfs.Read)
	if err != nil {
		out.err = err
		return out
	}
	defer f.Close() // only read
	var in io.Reader = f
	if strings.HasSuffix(path, compressed) {
		plain, err := o.Expand(f)
		if err != nil {
			out.err = err
			return out
		}
		defer plain.Close()
		in = plain
	}
	lines := bufio.NewReaderSize(in, 256<<10)
	literal, _ := o.Pattern.LiteralPrefix()
	for number := 1; ; number++ {
		line, err := readLine(lines)
		out.bytes += int64(len(line))
		if (err != nil && !errors.Is(err, io.EOF)) || ctx.Err() != nil {
			out.err = errors.Join(err, ctx.Err())
			return out
		}
		if len(line) > 0 && worth(line, literal) {
			if m, ok := o.line(path, number, line); ok {
				if o.Most > 0 && len(out.matches) > o.Most {
					out.more = true
					return out
				}
				out.matches = append(out.matches, m)
			}
		}
		if err != nil {
			return out
		}
	}
}

// worth reports whether a line can match: if the expression is plain text that
// JSON spells as it is, the line must have it.
func worth(line []byte, literal string) bool {
	if literal == "" || strings.ContainsAny(literal, "\"\\/\b\f\n\r\t<>&") || strings.ContainsFunc(literal, func(r rune) bool { return r > '~' || r < ' ' }) {
		return true
	}
	// A line may spell any character by its number; that is rare, and then it has
	// a backslash and a u.
	return bytes.Contains(line, []byte(literal)) || bytes.Contains(line, []byte(`\u`))
}

func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := bytes.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = in.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}

// line looks into one line.
func (o Options) line(path string, number int, line []byte) (Match, bool) {
	text := Readable(line)
	at := o.Pattern.FindIndex(text)
	if at == nil {
		return Match{}, false
	}
	m := Match{File: path, Line: number, Session: sessionOf(path), Text: o.piece(text, at)}
	var head struct {
		ID      string `json:"id"`
		UUID    string `json:"uuid"`
		Role    string `json:"role"`
		Type    string `json:"type"`
		Message struct {
			Role string `json:"role"`
		} `json:"message"`
	}
	if json.Unmarshal(line, &head) == nil || head.ID != "" || head.UUID != "" {
		m.Entry, m.Role = first(head.ID, head.UUID), first(head.Message.Role, head.Role, head.Type)
	}
	return m, true
}

func first(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// piece is what is shown of a line: some of it around the match.
func (o Options) piece(text []byte, at []int) string {
	width := o.Width
	if width == 0 {
		width = 200
	}
	const margin = 2048
	from, to := max(0, at[0]-margin), min(len(text), at[1]+margin)
	if !o.Secrets { // it may be in the middle of a long one
		from = search.BlockStart(string(text[:to]), from)
	}
	wide := strings.ToValidUTF8(string(text[from:to]), "")
	if o.Secrets {
		return cut(wide, at[0]-from, at[1]-from, width)
	}
	masked := mask.Text(wide)
	if masked == wide {
		return cut(wide, at[0]-from, at[1]-from, width)
	}
	if again := o.Pattern.FindStringIndex(masked); again != nil {
		return cut(masked, again[0], again[1], width)
	}
	where := max(0, strings.Index(masked, mask.Mark))
	return cut(masked, where, where+len(mask.Mark), width)
}

// cut takes a piece out of a text, with the match in it.
func cut(text string, start, end, width int) string {
	start = min(max(start, 0), len(text))
	end = min(max(end, start), len(text))
	a, b := search.Region(text, []search.Found{{Start: start, End: end}}, width)
	piece := text[a:b]
	if a > 0 {
		piece = "…" + piece
	}
	if b < len(text) {
		piece += "…"
	}
	return piece
}

// sessionOf is the name of a session by that of its file.
func sessionOf(path string) string {
	name := filepath.Base(strings.TrimSuffix(path, compressed))
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if i := strings.LastIndex(name, "_part"); i > 0 && strings.Trim(name[i+len("_part"):], "0123456789") == "" {
		name = name[:i]
	}
	return name
}
