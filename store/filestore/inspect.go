package filestore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/rowcache"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// peekSize is the number of bytes first read from the beginning and the end of a
// transcript. If the beginning contains no complete line, up to longHeader bytes are read.
// Headers are long if they contain unreadable lines from the start of an imported file.
const (
	peekSize   = 4 << 10
	longHeader = 16 << 20
)

// inspector computes the infos of transcripts, one after the other.
type inspector struct {
	fs      vfs.FS
	reader  dialect.Reader
	maxLine int64
	long    *journal.LongLines
	rows    *rowcache.Cache
	limit   *memoryLimit
	buf     []byte
	// last is the latest line that was not decoded, kept for its time.
	last    []byte
	pending bool
}

func (st *inspection) inspector() inspector {
	return inspector{fs: st.fs, maxLine: st.opts.MaxLine, long: &st.long, rows: st.rows, limit: &st.inspections, reader: dialect.Reader{Dialect: st.dialect, Quick: true}}
}

// inspect reads the beginning of a transcript and its end from the latest checkpoint on, or
// all of it if there is no checkpoint and no cached row. The result is the same as for a
// full read, see [store.Checkpoint]. Errors are returned in the Fault field. It returns a
// zero Info if the transcript does not exist.
func (in *inspector) inspect(ctx context.Context, t transcript) store.Info {
	var gist store.Gist
	size, cached, err := in.read(ctx, t, &gist)
	if t.irregular && errors.Is(err, fs.ErrNotExist) {
		err = &danglingLink{t}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, firn.ErrNotFound) || err == nil && size.Bytes == 0 {
		return store.Info{} // removed, or its first append failed
	}
	found := gist.Info()
	if cached != nil {
		found = *cached
	}
	if err == nil && found.ID == "" {
		err = errors.New("it does not start with a header")
	}
	found.ID, found.Agent, found.Bytes, found.Parts, found.End = t.id, t.agent, size.Bytes, t.extraParts+1, size.End
	if err != nil {
		found.Fault = err.Error()
	} else if size.costly && cached == nil {
		in.rows.Remember(found, size.files, func() ([]vfs.Info, error) {
			now, err := in.measure(t.path)
			return now.files, err
		})
	}
	return found
}

// extent is the size of a transcript.
type extent struct {
	Bytes int64
	End   firn.Pos
	// files are the files of its parts. costly is set if a large amount was read.
	files  []vfs.Info
	costly bool
}

// costlyRead is the number of bytes read from which a row is cached.
const costlyRead = 128 << 10

// read adds a transcript to the gist. If the cache has its row, read returns that instead.
func (in *inspector) read(ctx context.Context, t transcript, gist *store.Gist) (extent, *store.Info, error) {
	file, err := in.fs.Open(t.path, vfs.Read)
	if err != nil {
		return extent{}, nil, err
	}
	defer file.Close() // only read
	stat, err := file.Stat()
	if err != nil {
		return extent{}, nil, err
	}
	size := extent{Bytes: stat.Size, End: journal.Place(0, stat.Size), files: []vfs.Info{stat}}
	from, err := in.addHead(file, gist)
	if err != nil {
		return size, nil, err
	}
	done := t.extraParts == 0 && from >= stat.Size
	if t.extraParts == 0 && !done {
		done, err = in.addTail(file, stat.Size, from, gist)
	} else if t.extraParts > 0 {
		size, err = in.measure(t.path)
	}
	if err != nil || done && !gist.Prompted() {
		return size, nil, err
	}
	if info, ok := in.rows.Recall(ctx, t.id, size.files); ok && info.Agent == t.agent {
		return size, &info, nil
	}
	defer in.limit.acquire(size.Bytes)()
	spent := int64(0)
	if !done {
		spent, err = in.addRest(t.path, journal.Place(0, from), size.End, gist)
	}
	if err == nil && gist.Prompted() {
		var more int64
		more, err = in.addPrompt(t.path, gist)
		spent += more
	}
	size.costly = spent >= costlyRead
	return size, nil, err
}

// measure returns the total size of the parts of a transcript.
func (in *inspector) measure(path string) (size extent, err error) {
	parts, err := journal.Parts(in.fs, path)
	if err == nil && len(parts) == 0 { // removed meanwhile
		err = fs.ErrNotExist
	}
	for _, p := range parts {
		size.Bytes += p.Size
		size.files = append(size.files, p.Info)
		if p.Size > 0 {
			size.End = journal.Place(p.Number, p.Size)
		}
	}
	return size, err
}

// addHead adds the complete lines at the beginning of a file to the gist and returns the
// offset of their end. A first line longer than peekSize is read to its end.
func (in *inspector) addHead(file vfs.File, gist *store.Gist) (int64, error) {
	for n := peekSize; ; n *= 8 {
		b, err := in.readAt(file, 0, n)
		if err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			in.addLines(gist, b[:i+1])
			return int64(i + 1), nil
		}
		if len(b) < n || n >= longHeader {
			return 0, nil
		}
	}
}

// addTail adds the end of a file to the gist if the last peekSize bytes are sufficient:
// they include everything after from, or a checkpoint. It reports whether that was the
// case.
func (in *inspector) addTail(file vfs.File, size, from int64, gist *store.Gist) (bool, error) {
	start := max(from, size-peekSize)
	b, err := in.readAt(file, start, int(size-start))
	if err != nil {
		return false, err
	}
	if start == from {
		in.addLines(gist, b)
		return true, nil
	}
	for end := len(b); ; {
		at := bytes.LastIndex(b[:end], counters)
		if at < 0 {
			return false, nil
		}
		begin := bytes.LastIndexByte(b[:at], '\n') + 1
		if begin == 0 { // the line may start earlier
			return false, nil
		}
		line, _, closed := bytes.Cut(b[begin:], newline)
		if closed && in.isCheckpoint(dialect.Line{Data: line}) {
			in.addLines(gist, b[begin:])
			return true, nil
		}
		end = begin
	}
}

var (
	newline = []byte{'\n'}
	// counters is contained in every line with a checkpoint.
	counters = []byte(`"` + firn.CountersType + `"`)
)

// isCheckpoint reports whether a line contains a complete checkpoint.
func (in *inspector) isCheckpoint(line dialect.Line) bool {
	if !bytes.Contains(line.Data, counters) {
		return false
	}
	for _, record := range in.reader.Records(line) {
		if entry, err := record.Entry(); err == nil {
			if custom, ok := entry.Body.(*firn.Custom); ok {
				if _, ok := store.CheckpointOf(custom); ok {
					return true
				}
			}
		}
	}
	return false
}

// addRest adds the end of a transcript to the gist, starting at the latest checkpoint or,
// if there is none, at from. It returns the number of bytes read.
func (in *inspector) addRest(path string, from, end firn.Pos, gist *store.Gist) (spent int64, err error) {
	source := journal.Source{FS: in.fs, Path: path, MaxLine: in.maxLine, Long: in.long}
	for line, err := range source.Back(end) {
		if err != nil {
			return spent, err
		}
		spent += int64(len(line.Data))
		if line.At < from {
			break
		}
		if in.isCheckpoint(dialect.Line(line)) {
			from = line.At
			break
		}
	}
	for line, err := range source.Lines(from) {
		if err != nil {
			return spent, err
		}
		if line.At >= end {
			break
		}
		spent += int64(len(line.Data))
		in.addLine(gist, line)
	}
	in.addLast(gist)
	return spent, nil
}

// addPrompt adds the first user message of a transcript to the gist. It reads from the
// beginning: if the message that a checkpoint counted was erased, the first one left may
// precede that checkpoint. It returns the number of bytes read.
func (in *inspector) addPrompt(path string, gist *store.Gist) (spent int64, err error) {
	source := journal.Source{FS: in.fs, Path: path, MaxLine: in.maxLine, Long: in.long}
	for line, err := range source.Lines(journal.Place(0, 0)) {
		if err != nil {
			return spent, err
		}
		spent += int64(len(line.Data))
		for _, record := range in.reader.Records(dialect.Line(line)) {
			if record.Gap != nil || record.Glance.Kind != firn.KindMessage {
				continue
			}
			if entry, err := record.Entry(); err == nil {
				gist.Prompt(entry)
			}
		}
		if !gist.Prompted() {
			break
		}
	}
	return spent, nil
}

func (in *inspector) readAt(file vfs.File, offset int64, n int) ([]byte, error) {
	if cap(in.buf) < n {
		in.buf = make([]byte, n)
	}
	got, err := file.ReadAt(in.buf[:n], offset)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return in.buf[:got], nil
}

// addLines adds lines to the gist.
func (in *inspector) addLines(gist *store.Gist, lines []byte) {
	for len(lines) > 0 {
		line := journal.Line{Data: lines}
		if i := bytes.IndexByte(lines, '\n'); i >= 0 {
			line.Data, lines = lines[:i], lines[i+1:]
		} else {
			line.Unfinished, lines = true, nil
		}
		in.addLine(gist, line)
	}
	in.addLast(gist)
}

// addLine adds a line to the gist. It decodes the line only if it can affect more than the
// times; the latest other line is kept for [inspector.addLast].
func (in *inspector) addLine(gist *store.Gist, line journal.Line) {
	if !line.Unfinished && line.Gap == "" && !gist.Needs(firn.KindMessage) && bytes.HasPrefix(line.Data, messagePrefix) && !bytes.Contains(line.Data, directoryField) {
		in.keepForTime(gist, line.Data)
		return // the common case
	}
	for _, record := range in.reader.Records(dialect.Line(line)) {
		if record.Gap != nil {
			gist.Lost()
			continue
		}
		if !isRelevant(gist, &record) {
			in.keepForTime(gist, record.Line())
			continue
		}
		if record.Glance.Kind == firn.KindCustom { // its time may not count
			in.addLast(gist)
		}
		in.pending = false
		addRecord(gist, record)
	}
}

// keepForTime keeps a line for its time. The time of a long line is added immediately to
// avoid copying it.
func (in *inspector) keepForTime(gist *store.Gist, line []byte) {
	in.pending = true
	if len(line) <= smallInspection {
		in.last = append(in.last[:0], line...)
		return
	}
	in.last = line
	in.addLast(gist)
	in.last = nil
}

// addLast adds the time of the latest line to the gist if the line was not decoded.
func (in *inspector) addLast(gist *store.Gist) {
	if !in.pending {
		return
	}
	in.pending = false
	if timer, ok := in.reader.Dialect.(dialect.Timer); ok {
		if t, ok := timer.Time(in.last); ok {
			gist.Seen(t)
			return
		}
	}
	for _, record := range in.reader.Records(dialect.Line{Data: in.last}) {
		if record.Gap == nil {
			addRecord(gist, record)
		}
	}
}

// messagePrefix is the beginning of the lines of messages.
var messagePrefix = []byte(`{"type":"message"`)

// directoryField is contained in a line that records the directory of its message.
var directoryField = []byte(`"` + firn.DirectoryField + `":`)

// isRelevant reports whether an entry can affect more of the gist than the times.
func isRelevant(gist *store.Gist, record *firn.Record) bool {
	kind := record.Glance.Kind
	if kind == firn.KindMessage && bytes.Contains(record.Line(), directoryField) {
		return true
	}
	if !gist.Needs(kind) || kind != firn.KindCustom || !gist.Used() {
		return gist.Needs(kind)
	}
	for _, name := range relevantTypes {
		if bytes.Contains(record.Line(), name) {
			return true
		}
	}
	return false
}

// relevantTypes are the types of custom entries that affect lists. Most state entries of
// programs are not decoded.
var relevantTypes = [][]byte{[]byte("tag"), []byte(firn.CountersType), []byte(store.KeyType), []byte("firn.reset")}

func addRecord(gist *store.Gist, record firn.Record) {
	if entry, err := record.Entry(); err == nil { // a damaged entry is ignored
		gist.Add(entry)
	}
}
