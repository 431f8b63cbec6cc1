// Package grep looks through the lines of transcripts for an expression: all of
// them, as they lie on disk, several at a time. It needs no index, and nothing
// of it has to be sound.
//
// It reads files of any tool that keeps JSON lines. What it tells is bounded,
// whatever it finds.
package grep

import (
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
	// MaxLine is how long a line may be to be searched, in bytes; 64 MB if zero.
	// Longer ones are in Summary.Failed.
	MaxLine int64
	// Open opens what is no file of the file system, such as a session in another
	// store; false leaves it to the file system. Nil: all are files.
	Open func(ctx context.Context, name string) (in io.ReadCloser, ok bool, err error)
}

const defaultMaxLine = 64_000_000

func (o Options) maxLine() int64 {
	if o.MaxLine <= 0 {
		return defaultMaxLine
	}
	return o.MaxLine
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
	// Failed are files and lines that could not be read, and why.
	Failed []string `json:"failed,omitempty"`
}

// outcome is what was found in one file.
type outcome struct {
	matches []Match
	long    []int // the numbers of lines that are too long
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
			buffer := make([]byte, bufferSize)
			for i := range next {
				results[i] <- o.file(ctx, fsys, files[i], &buffer)
				if len(buffer) > maxBuffer {
					buffer = make([]byte, bufferSize)
				}
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
		for _, n := range r.long {
			s.Failed = append(s.Failed, fmt.Sprintf("%s:%d: the line is over the limit of %d bytes and was not searched; store.max_line sets it", file, n, o.maxLine()))
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

const (
	// bufferSize is how much is read at a time, and looked at as a whole.
	bufferSize = 256 << 10
	// maxBuffer is how large a buffer that a long line needed is kept for other files.
	maxBuffer = 4 << 20
)

// file looks through one file, by means of a buffer.
func (o Options) file(ctx context.Context, fsys vfs.FS, path string, buffer *[]byte) (out outcome) {
	f, err := o.open(ctx, fsys, path)
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
	l := looking{o: o, path: path, hint: hintOf(o.Pattern), out: &out}
	if err := l.through(ctx, in, buffer); !errors.Is(err, io.EOF) {
		out.err = err
	}
	return out
}

// open opens a file, or what stands for one.
func (o Options) open(ctx context.Context, fsys vfs.FS, name string) (io.ReadCloser, error) {
	if o.Open != nil {
		if in, ok, err := o.Open(ctx, name); ok {
			return in, err
		}
	}
	return fsys.Open(name, vfs.Read)
}

// looking is a file while it is looked through.
type looking struct {
	o      Options
	path   string
	hint   *hint // nil if any line may match
	number int   // of lines that were read
	out    *outcome
}

// through looks through all lines, as many at a time as the buffer holds. For a line that
// is longer the buffer is made larger, up to the limit of a line; what is longer is passed over.
func (l *looking) through(ctx context.Context, in io.Reader, kept *[]byte) error {
	buffer := *kept
	defer func() { *kept = buffer }()
	passing := false // within a line that is too long
	for held := 0; ; {
		n, err := in.Read(buffer[held:])
		held += n
		if passing {
			held, passing = l.pass(buffer[:held])
			if err = errors.Join(err, ctx.Err()); err != nil && passing {
				return err
			}
		}
		if err == nil && held < len(buffer) {
			continue
		}
		whole := held
		if err == nil {
			whole = afterLast(buffer[:held], '\n')
		}
		l.lines(buffer[:whole])
		if err = errors.Join(err, ctx.Err()); err != nil || l.out.more {
			return err
		}
		if whole == 0 && int64(held) > l.o.maxLine() {
			passing, held = true, 0
			l.number++
			l.out.long = append(l.out.long, l.number)
			l.out.bytes += int64(len(buffer))
			buffer = buffer[:min(len(buffer), maxBuffer)]
			continue
		}
		if whole == 0 {
			more := min(int64(len(buffer)), max(bufferSize, l.o.maxLine()+1-int64(len(buffer))))
			buffer = append(buffer, make([]byte, more)...)
		}
		held = copy(buffer, buffer[whole:held])
	}
}

// pass drops what belongs to a line that is too long. It returns how many bytes
// are left, which it moves to the beginning, and whether the line goes on.
func (l *looking) pass(text []byte) (left int, on bool) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		l.out.bytes += int64(len(text))
		return 0, true
	}
	l.out.bytes += int64(i + 1)
	return copy(text, text[i+1:]), false
}

// afterLast is where text goes on behind the last of some byte; 0 if there is none. The last
// may be far from the end: pieces that have none are passed quickly.
func afterLast(text []byte, b byte) int {
	const piece = 4096
	for len(text) > piece && bytes.IndexByte(text[len(text)-piece:], b) < 0 {
		text = text[:len(text)-piece]
	}
	return bytes.LastIndexByte(text, b) + 1
}

// lines looks at lines. Where none of them can match they are only counted.
func (l *looking) lines(lines []byte) {
	if l.worth(lines) {
		for line := range bytes.Lines(lines) {
			if l.line(line); l.out.more {
				return
			}
		}
		return
	}
	l.number += bytes.Count(lines, []byte{'\n'})
	l.out.bytes += int64(len(lines))
}

// line looks at one line.
func (l *looking) line(line []byte) {
	l.number++
	l.out.bytes += int64(len(line))
	if !l.worth(line) {
		return
	}
	m, ok := l.o.line(l.path, l.number, line)
	if !ok {
		return
	}
	if l.o.Most > 0 && len(l.out.matches) > l.o.Most {
		l.out.more = true
		return
	}
	l.out.matches = append(l.out.matches, m)
}

// worth reports whether lines can match: if the expression begins with plain text, they
// must have it.
func (l *looking) worth(lines []byte) bool { return l.hint == nil || l.hint.in(lines) }

// hintOf is what every match of an expression begins with, if JSON spells that as it
// is; else nil.
func hintOf(pattern *regexp.Regexp) *hint {
	word, _ := pattern.LiteralPrefix()
	if len(word) < 2 || strings.ContainsAny(word, "\"\\/<>&") || strings.ContainsFunc(word, func(r rune) bool { return r > '~' || r < ' ' }) {
		return nil
	}
	return newHint(word)
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
