// Package grep searches the lines of transcripts for a regular expression. It reads the
// files on disk in parallel, needs no index, and tolerates damaged files.
//
// It reads the files of any tool that writes JSON Lines. Its output is bounded.
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

	"firn.dev/internal/base/hashchain"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/mask"
	"firn.dev/internal/find/search"
)

// Options configures a search.
type Options struct {
	Pattern *regexp.Regexp
	// MaxMatches limits the number of matches; zero means no limit.
	MaxMatches int
	// Width limits the bytes shown of a line; zero means 200.
	Width int
	// Secrets shows secrets instead of masking them.
	Secrets bool
	// Expand opens a compressed file; nil skips compressed files.
	Expand func(io.Reader) (io.ReadCloser, error)
	// MaxLine is the maximum length of a searched line, in bytes; zero means 64 MB. Longer
	// lines are listed in Summary.Failed.
	MaxLine int64
	// Open opens names that are not in the file system, such as sessions in another store.
	// It returns false for names that are. Nil means that all names are files.
	Open func(ctx context.Context, name string) (in io.ReadCloser, ok bool, err error)
}

const defaultMaxLine = 64_000_000

func (o Options) maxLine() int64 {
	if o.MaxLine <= 0 {
		return defaultMaxLine
	}
	return o.MaxLine
}

// Match is a line that matches the expression.
type Match struct {
	File string `json:"file"`
	// Line is the line number, starting at 1.
	Line int `json:"line"`
	// Session is the file name without its extension, Entry the entry ID in the line, and
	// Role the role of its message; each is empty if unknown.
	Session string `json:"session"`
	Entry   string `json:"entry,omitempty"`
	Role    string `json:"role,omitempty"`
	// Text is an excerpt of the line around the first match, with escapes decoded.
	Text string `json:"text"`
}

// Summary is the result of a search.
type Summary struct {
	Files   int   `json:"files"`
	Bytes   int64 `json:"bytes"`
	Matches int   `json:"matches"`
	// More is true if the search stopped at the limit, so that there may be more matches.
	More bool `json:"more,omitempty"`
	// Failed lists the files and lines that could not be read, with reasons.
	Failed []string `json:"failed,omitempty"`
}

// outcome is the result for one file.
type outcome struct {
	matches []Match
	long    []int // numbers of the lines that are too long
	bytes   int64
	more    bool
	err     error
}

// Run searches files and calls each for every match, in the order of the files and lines. A
// file that cannot be read does not stop the search.
func Run(ctx context.Context, fsys vfs.FS, files []string, o Options, each func(Match) error) (Summary, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel() // before waiting for the workers
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
	// Bounds how far the workers run ahead of the output, and so the memory used.
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

// gather reports the matches in order, until the limit is reached.
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
			if o.MaxMatches > 0 && s.Matches == o.MaxMatches {
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
	// bufferSize is the number of bytes read and searched at a time.
	bufferSize = 256 << 10
	// maxBuffer is the size up to which a buffer that was grown for a long line is reused.
	maxBuffer = 4 << 20
)

// file searches one file, using buffer.
func (o Options) file(ctx context.Context, fsys vfs.FS, path string, buffer *[]byte) (out outcome) {
	f, err := o.open(ctx, fsys, path)
	if err != nil {
		out.err = err
		return out
	}
	defer f.Close() // read-only
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
	l := fileScan{o: o, path: path, hint: hintOf(o.Pattern), out: &out}
	if err := l.scan(ctx, in, buffer); !errors.Is(err, io.EOF) {
		out.err = err
	}
	return out
}

// open opens a file, or a name that Options.Open handles.
func (o Options) open(ctx context.Context, fsys vfs.FS, name string) (io.ReadCloser, error) {
	if o.Open != nil {
		if in, ok, err := o.Open(ctx, name); ok {
			return in, err
		}
	}
	return fsys.Open(name, vfs.Read)
}

// fileScan is the state of the search of one file.
type fileScan struct {
	o      Options
	path   string
	hint   *hint // nil if any line may match
	number int   // number of lines read
	out    *outcome
}

// scan searches all lines, one buffer at a time. The buffer grows for a longer line, up to
// the line limit; longer lines are skipped.
func (l *fileScan) scan(ctx context.Context, in io.Reader, kept *[]byte) error {
	buffer := *kept
	defer func() { *kept = buffer }()
	passing := false // inside a line that is too long
	for held := 0; ; {
		n, err := in.Read(buffer[held:])
		held += n
		if passing {
			held, passing = l.skipLong(buffer[:held])
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

// skipLong drops the rest of a line that is too long. It moves the bytes after it to the
// start of text and returns their number, and whether the line continues.
func (l *fileScan) skipLong(text []byte) (left int, on bool) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		l.out.bytes += int64(len(text))
		return 0, true
	}
	l.out.bytes += int64(i + 1)
	return copy(text, text[i+1:]), false
}

// afterLast returns the index after the last occurrence of b in text, or 0 if there is
// none. It skips blocks without b quickly, since the last occurrence may be far from the
// end.
func afterLast(text []byte, b byte) int {
	const piece = 4096
	for len(text) > piece && bytes.IndexByte(text[len(text)-piece:], b) < 0 {
		text = text[:len(text)-piece]
	}
	return bytes.LastIndexByte(text, b) + 1
}

// lines searches complete lines. If none of them can match, they are only counted.
func (l *fileScan) lines(lines []byte) {
	if l.mayMatch(lines) {
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

// line searches one line.
func (l *fileScan) line(line []byte) {
	l.number++
	l.out.bytes += int64(len(line))
	if !l.mayMatch(line) {
		return
	}
	m, ok := l.o.line(l.path, l.number, line)
	if !ok {
		return
	}
	if l.o.MaxMatches > 0 && len(l.out.matches) > l.o.MaxMatches {
		l.out.more = true
		return
	}
	l.out.matches = append(l.out.matches, m)
}

// mayMatch reports whether lines can match: if the expression starts with literal text,
// they must contain it.
func (l *fileScan) mayMatch(lines []byte) bool { return l.hint == nil || l.hint.in(lines) }

// hintOf returns a hint for the literal prefix of an expression, or nil if there is none
// that JSON leaves unescaped.
func hintOf(pattern *regexp.Regexp) *hint {
	word, _ := pattern.LiteralPrefix()
	if len(word) < 2 || strings.ContainsAny(word, "\"\\/<>&") || strings.ContainsFunc(word, func(r rune) bool { return r > '~' || r < ' ' }) {
		return nil
	}
	return newHint(word)
}

// line matches one line.
func (o Options) line(path string, number int, line []byte) (Match, bool) {
	text := Readable(hashchain.Without(bytes.TrimSuffix(line, []byte{'\n'})))
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

// piece returns an excerpt of a line around the match.
func (o Options) piece(text []byte, at []int) string {
	width := o.Width
	if width == 0 {
		width = 200
	}
	const margin = 2048
	from, to := max(0, at[0]-margin), min(len(text), at[1]+margin)
	if !o.Secrets { // the match may be inside a long secret
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

// cut returns an excerpt of text that contains the match.
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

// sessionOf returns the session name for a file path.
func sessionOf(path string) string {
	name := filepath.Base(strings.TrimSuffix(path, compressed))
	name = strings.TrimSuffix(name, filepath.Ext(name))
	if i := strings.LastIndex(name, "_part"); i > 0 && strings.Trim(name[i+len("_part"):], "0123456789") == "" {
		name = name[:i]
	}
	return name
}
