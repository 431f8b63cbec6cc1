package sourcestore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// Tools write titles anywhere in a transcript. A list decodes only its start and its end;
// in between it looks for the tokens without which no line has a title, which is much
// faster than decoding all lines.

// titleMarks are these tokens. CrabTalk has titles in the first line only.
var titleMarks = map[dialect.Name][][]byte{
	dialect.ClaudeCode: {[]byte(`"custom-title"`), []byte(`"ai-title"`), leafMark},
	dialect.Codex:      {[]byte(`"thread_name_updated"`)},
	dialect.Pi:         {[]byte(`"session_info"`)},
	dialect.OpenClaw:   {[]byte(`"session_info"`)},
	dialect.Native:     {[]byte(`"session_info"`)},
	dialect.Cersei:     {[]byte(`"custom-title"`), []byte(`"title"`)},
	dialect.Claw0:      {[]byte(`"title"`)},
}

// A summary of Claude Code is a title if the line it names is in the same transcript, so
// the whole transcript must be read.
var (
	leafMark    = []byte(`"leafUuid"`)
	summaryMark = []byte(`"summary"`)
)

// maxTitleLine is the maximum length of a line with a title.
const maxTitleLine = 1 << 20

// titleScan is the result of the search in a prefix of a transcript.
type titleScan struct {
	// end is the length of the prefix, and edge its last bytes, which detect that the tool
	// rewrote the file.
	end  int64
	edge []byte
	// titles are the titles that can have an effect, oldest first.
	titles []firn.Entry
	// whole is set if the transcript must be read completely.
	whole bool
}

const edgeLen = 256

// laterTitles returns the titles after the first bytes of a transcript. whole is set if the
// transcript must be read completely to know them. A transcript of a single file is
// searched from where the last search ended.
func (st *Store) laterTitles(t dialect.Transcript, from int64) (titles []firn.Entry, whole bool, err error) {
	marks := titleMarks[st.tool.Name()]
	if len(marks) == 0 {
		return nil, false, nil
	}
	scan := titleScan{end: from}
	single := len(t.Parts) == 1 && !t.Compressed
	if single {
		st.mu.Lock()
		known, ok := st.titles[t.ID]
		st.mu.Unlock()
		if ok && known.end >= from && st.hasEdge(t, &known) {
			scan = known
		}
	}
	for i, name := range t.Parts {
		if i > 0 {
			scan.end = 0
		}
		if err := st.searchTitles(t, name, marks, &scan); err != nil {
			return nil, false, err
		}
	}
	if single {
		st.mu.Lock()
		st.titles[t.ID] = scan
		st.mu.Unlock()
	}
	return scan.titles, scan.whole, nil
}

// hasEdge reports whether the file still has the searched prefix.
func (st *Store) hasEdge(t dialect.Transcript, scan *titleScan) bool {
	edge, err := st.readFrom(t, t.Parts[0], scan.end-int64(len(scan.edge)), int64(len(scan.edge)))
	return err == nil && len(edge) > 0 && bytes.Equal(edge, scan.edge)
}

// searchTitles continues a search to the last complete line of a file.
func (st *Store) searchTitles(t dialect.Transcript, name string, marks [][]byte, scan *titleScan) error {
	file, err := st.openPart(t, name, scan.end)
	if err != nil {
		return err
	}
	defer file.Close() // read only
	in := bufio.NewReaderSize(file, maxTitleLine)
	for {
		line, err := in.ReadSlice('\n')
		size := int64(len(line))
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = in.ReadSlice('\n')
			size += int64(len(line))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !long {
			scan.line(line, marks, func() dialect.Scanner { return st.tool.Scanner(dialect.Origin{Transcript: t}) })
		}
		scan.edge = append(scan.edge[:0:0], line[max(len(line)-edgeLen, 0):]...)
		scan.end += size
	}
}

// line adds the titles of a line, which is read by a scanner of its own.
func (s *titleScan) line(line []byte, marks [][]byte, newScanner func() dialect.Scanner) {
	marked := false
	for _, mark := range marks {
		marked = marked || bytes.Contains(line, mark)
	}
	line = bytes.TrimRight(line, "\r\n")
	switch {
	case !marked:
		return
	case bytes.Contains(line, leafMark) && bytes.Contains(line, summaryMark), rawjson.Valid(line) != nil:
		s.whole = true
		return
	}
	scanner := newScanner()
	entries, err := scanner.Scan(line)
	if err != nil {
		return
	}
	for _, e := range append(slices.Clone(entries), scanner.Finish()...) {
		if b, ok := e.Body.(*firn.Title); ok {
			s.add(firn.Entry{ID: e.ID, Body: &firn.Title{Name: b.Name, Source: b.Source}})
		}
	}
}

// add adds a title and drops those that it replaces in any case.
func (s *titleScan) add(e firn.Entry) {
	title := e.Body.(*firn.Title)
	if title.Source != firn.SourceAuto {
		s.titles = nil
	} else if n := len(s.titles); n > 0 && s.titles[n-1].Body.(*firn.Title).Source == firn.SourceAuto {
		s.titles = s.titles[:n-1]
	}
	s.titles = append(s.titles[:len(s.titles):len(s.titles)], e)
}

// wholeGist reads a transcript completely.
func (st *Store) wholeGist(t dialect.Transcript) (gist store.Gist, err error) {
	for record, err := range st.read(t).all(context.Background()) {
		if err != nil {
			return gist, err
		}
		if record.Gap != nil {
			continue
		}
		if e, err := record.Entry(); err == nil {
			gist.Add(e)
		}
	}
	return gist, nil
}
