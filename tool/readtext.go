package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"firn.dev"
)

// maxCount limits how many bytes are read after the shown lines only to count lines.
const maxCount = 64 << 20

// excerpt is a range of lines of a file. It holds only the shown lines in memory.
type excerpt struct {
	from, limit int
	// line is the number of the current line, to that of the last line shown in whole or in
	// part.
	line, to int
	text     strings.Builder
	// full is set if the next line does not fit.
	full bool
	// cutOf is the length of a line that is shown only in part.
	cutOf int64
	crlf  bool
	// skipped is the number of bytes read after the shown lines.
	skipped int64
}

// errEnough ends the counting of lines early.
var errEnough = errors.New("read far enough")

// readText returns a range of lines of a text.
func readText(ctx context.Context, r io.Reader, offset, limit int, details readDetails) (Result, error) {
	e := excerpt{from: max(offset, 1), limit: maxReadLines}
	if limit > 0 {
		e.limit = min(limit, maxReadLines)
	}
	all, err := e.read(ctx, bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return Result{}, err
	}
	if e.line == 0 {
		return Result{Parts: TextResult(fmt.Sprintf("[%s is empty]", details.Path)).Parts, Details: quote(details)}, nil
	}
	if e.to == 0 {
		return Result{}, fmt.Errorf("offset %d is past the end of %s, which has %s (%w offset)", e.from, details.Path, count(e.line, "line"), firn.ErrInvalid)
	}
	details.From, details.To, details.Lines, details.AtLeast = e.from, e.to, e.line, !all
	clean, _ := firn.CleanText(e.text.String())
	return Result{Parts: TextResult(clean + e.notice(all)).Parts, Details: quote(details)}, nil
}

// read reads to the end or to the counting limit; all reports whether it reached the end.
func (e *excerpt) read(ctx context.Context, r *bufio.Reader) (all bool, err error) {
	for err == nil {
		err = e.readLine(ctx, r)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, errEnough) {
		return errors.Is(err, io.EOF), nil
	}
	return false, err
}

// readLine reads one line of any length and keeps the part to show. It returns io.EOF if
// there is none.
func (e *excerpt) readLine(ctx context.Context, r *bufio.Reader) error {
	var length int64
	var kept []byte
	reached := e.line+1 >= e.from
	wanted := reached && e.line+1 < e.from+e.limit && !e.full
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		piece, err := r.ReadSlice('\n')
		length += int64(len(piece))
		if wanted && len(kept) <= maxReadBytes {
			kept = append(kept, piece...)
		} else if reached {
			e.skipped += int64(len(piece))
		}
		enough := e.skipped > maxCount
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && !enough:
			continue
		case err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF):
			return err
		case length == 0:
			return io.EOF
		}
		e.line++
		if wanted {
			e.keep(kept, length)
		}
		if enough {
			return errEnough
		}
		return nil
	}
}

// keep adds a line if it fits completely, or if it is the first. Line has the whole line,
// or more than can be shown.
func (e *excerpt) keep(line []byte, length int64) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if bytes.HasSuffix(line, []byte("\r")) {
		line, e.crlf = line[:len(line)-1], true
	}
	switch room := maxReadBytes - e.text.Len(); {
	case len(line) < room:
	case e.to == 0:
		line = []byte(firn.CutText(string(line), maxReadBytes-1))
		e.cutOf, e.full = length, true
	default:
		e.full = true
		return
	}
	e.text.Write(line)
	e.text.WriteByte('\n')
	e.to = e.line
}

// notice describes the omitted lines, or returns "" if there are none.
func (e *excerpt) notice(all bool) string {
	var notes []string
	lines := group(e.line)
	if !all {
		lines = "more than " + lines
	}
	if e.cutOf > 0 {
		notes = append(notes, fmt.Sprintf("line %d has %s or more and is truncated here", e.to, count(e.cutOf, "byte")))
	}
	if e.from > 1 || e.to < e.line || !all {
		notes = append(notes, fmt.Sprintf("lines %d to %d of %s", e.from, e.to, lines))
	}
	if e.to < e.line || !all {
		notes = append(notes, fmt.Sprintf("continue with offset %d", e.to+1))
	}
	if e.crlf {
		notes = append(notes, "lines end in CR LF")
	}
	if len(notes) == 0 {
		return ""
	}
	return "[" + strings.Join(notes, "; ") + "]"
}
