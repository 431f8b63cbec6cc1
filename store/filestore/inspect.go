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

// glimpse is how much is read of the beginning and of the end of a transcript at
// first; longHeader is how much of the beginning if it has no whole line in that.
// Headers are that long if they carry what a file of another tool had before its first
// line that could be read.
const (
	glimpse    = 4 << 10
	longHeader = 16 << 20
)

// inspector computes the infos of transcripts, one after the other.
type inspector struct {
	fs      vfs.FS
	reader  dialect.Reader
	maxLine int64
	long    *journal.LongLines
	rows    *rowcache.Cache
	room    *room
	buf     []byte
	// last is the latest line that was not decoded, for its time.
	last    []byte
	pending bool
}

func (st *Store) inspector() inspector {
	return inspector{fs: st.fs, maxLine: st.opts.MaxLine, long: &st.long, rows: st.rows, room: &st.room, reader: dialect.Reader{Dialect: st.dialect, Quick: true}}
}

// inspect reads the beginning of a transcript, and its end from the latest checkpoint
// on; without one all of it, unless the cache has the row. So the info is that of a full
// read, see [store.Checkpoint]. What is wrong with the transcript is told in the info;
// one that is gone gives an empty one.
func (in *inspector) inspect(ctx context.Context, t transcript) store.Info {
	var gist store.Gist
	size, cached, err := in.read(ctx, t, &gist)
	if t.odd && errors.Is(err, fs.ErrNotExist) {
		err = &noTarget{t}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, firn.ErrNotFound) || err == nil && size.Bytes == 0 {
		return store.Info{} // it is gone, or its first append failed
	}
	found := gist.Info()
	if cached != nil {
		found = *cached
	}
	if err == nil && found.ID == "" {
		err = errors.New("it does not begin with a header")
	}
	found.ID, found.Agent, found.Bytes, found.Parts, found.End = t.id, t.agent, size.Bytes, t.further+1, size.End
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

// extent is how long a transcript is.
type extent struct {
	Bytes int64
	End   firn.Pos
	// files are those of its parts, and costly says that much of them was read.
	files  []vfs.Info
	costly bool
}

// costlyRead is how many bytes must have been read for a row to be cached.
const costlyRead = 128 << 10

// read takes a transcript into the gist. If the cache has the row, that is returned.
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
	from, err := in.head(file, gist)
	if err != nil {
		return size, nil, err
	}
	done := t.further == 0 && from >= stat.Size
	if t.further == 0 && !done {
		done, err = in.tail(file, stat.Size, from, gist)
	} else if t.further > 0 {
		size, err = in.measure(t.path)
	}
	if err != nil || done && !gist.Prompted() {
		return size, nil, err
	}
	if info, ok := in.rows.Recall(ctx, t.id, size.files); ok && info.Agent == t.agent {
		return size, &info, nil
	}
	defer in.room.take(size.Bytes)()
	spent := int64(0)
	if !done {
		spent, err = in.rest(t.path, journal.Place(0, from), size.End, gist)
	}
	if err == nil && gist.Prompted() {
		var more int64
		more, err = in.prompt(t.path, gist)
		spent += more
	}
	size.costly = spent >= costlyRead
	return size, nil, err
}

// measure adds up the sizes of the parts of a transcript.
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

// head takes the whole lines at the beginning of a file into the gist, and
// returns where they end. A first line that is longer than a glimpse is read
// to its end.
func (in *inspector) head(file vfs.File, gist *store.Gist) (int64, error) {
	for n := glimpse; ; n *= 8 {
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

// tail takes the end of a file into the gist if a glimpse of it is enough: all that is
// behind an offset, or a checkpoint and what is behind that.
func (in *inspector) tail(file vfs.File, size, from int64, gist *store.Gist) (bool, error) {
	start := max(from, size-glimpse)
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
		if begin == 0 { // the line may have begun before
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
	// counters is in every line that carries a checkpoint.
	counters = []byte(`"` + firn.CountersType + `"`)
)

// isCheckpoint reports whether a line stands for all before it.
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

// rest takes the end of a transcript into the gist, from the latest checkpoint on or,
// if there is none, from a position on. It returns how many bytes it read.
func (in *inspector) rest(path string, from, end firn.Pos, gist *store.Gist) (spent int64, err error) {
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

// prompt adds the first user message of a transcript to the gist. It reads from the
// beginning: if the message that a checkpoint counted was erased, the first one left may
// precede that checkpoint. It returns the number of bytes read.
func (in *inspector) prompt(path string, gist *store.Gist) (spent int64, err error) {
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

// addLines takes lines into the gist.
func (in *inspector) addLines(gist *store.Gist, lines []byte) {
	for len(lines) > 0 {
		line := journal.Line{Data: lines}
		if i := bytes.IndexByte(lines, '\n'); i >= 0 {
			line.Data, lines = lines[:i], lines[i+1:]
		} else {
			line.Open, lines = true, nil
		}
		in.addLine(gist, line)
	}
	in.addLast(gist)
}

// addLine takes a line into the gist. Only those are decoded that can tell more than
// their time; of the others the latest is kept for [inspector.addLast].
func (in *inspector) addLine(gist *store.Gist, line journal.Line) {
	if !line.Open && line.Gap == "" && !gist.Needs(firn.KindMessage) && bytes.HasPrefix(line.Data, messageBegins) && !bytes.Contains(line.Data, directoryField) {
		in.keep(gist, line.Data)
		return // most lines are such
	}
	for _, record := range in.reader.Records(dialect.Line(line)) {
		if record.Gap != nil {
			continue
		}
		if !tells(gist, &record) {
			in.keep(gist, record.Line())
			continue
		}
		if record.Glance.Kind == firn.KindCustom { // its time may not count
			in.addLast(gist)
		}
		in.pending = false
		addRecord(gist, record)
	}
}

// keep keeps a line for its time. A long one is not copied: its time is taken at once.
func (in *inspector) keep(gist *store.Gist, line []byte) {
	in.pending = true
	if len(line) <= smallInspection {
		in.last = append(in.last[:0], line...)
		return
	}
	in.last = line
	in.addLast(gist)
	in.last = nil
}

// addLast takes the time of the latest line into the gist if the line was not decoded.
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

// messageBegins is how the lines of messages begin.
var messageBegins = []byte(`{"type":"message"`)

// directoryField is how a line names the directory that its message was said in.
var directoryField = []byte(`"` + firn.DirectoryField + `":`)

// tells reports whether an entry can tell the gist more than its time.
func tells(gist *store.Gist, record *firn.Record) bool {
	kind := record.Glance.Kind
	if kind == firn.KindMessage && bytes.Contains(record.Line(), directoryField) {
		return true
	}
	if !gist.Needs(kind) || kind != firn.KindCustom {
		return gist.Needs(kind)
	}
	for _, name := range tellingTypes {
		if bytes.Contains(record.Line(), name) {
			return true
		}
	}
	return false
}

// tellingTypes are the types of custom entries that lists show something of. Most
// state that programs keep is not looked into.
var tellingTypes = [][]byte{[]byte("tag"), []byte(firn.CountersType), []byte(store.KeyType), []byte("firn.reset")}

func addRecord(gist *store.Gist, record firn.Record) {
	if entry, err := record.Entry(); err == nil { // else it is damaged, and the others tell
		gist.Add(entry)
	}
}
