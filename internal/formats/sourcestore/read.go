package sourcestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// Expander opens a compressed file.
type Expander func(io.Reader) (io.ReadCloser, error)

func vfsPath(home, name string) string { return filepath.Join(home, filepath.FromSlash(name)) }

// reading reads a transcript forwards.
type reading struct {
	st      *Store
	t       dialect.Transcript
	scanner dialect.Scanner
	// at is the position after the last record read.
	at      firn.Pos
	records []store.Record
	// lines maps the positions of the last records to their lines; nil if not requested.
	// waiting are the lines of entries that the scanner holds back.
	lines   map[firn.Pos][][]byte
	waiting [][]byte
}

func (st *Store) read(t dialect.Transcript) *reading {
	return &reading{st: st, t: t, scanner: st.tool.Scanner(dialect.Origin{Transcript: t})}
}

// Read yields the records after a position, oldest first. It also reads the transcript
// before the position, because the meaning of a line may depend on it.
func (st *Store) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		t, err := st.find(ctx, id)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		for record, err := range st.read(t).all(ctx) {
			if err == nil && record.At < after {
				continue
			}
			if !yield(st.withoutLine(record), err) {
				return
			}
		}
	}
}

// withoutLine returns a record without its raw line, which is in another tool's format and
// would be misread.
func (st *Store) withoutLine(r store.Record) store.Record {
	if r.Gap != nil || st.tool.Name() == dialect.Native {
		return r
	}
	e, err := r.Entry()
	if err != nil {
		return r
	}
	return firn.NewRecord(r.At, r.Next, e)
}

func (st *Store) find(ctx context.Context, id firn.ID) (dialect.Transcript, error) {
	if err := st.check(ctx); err != nil {
		return dialect.Transcript{}, err
	}
	return st.transcript(id)
}

// all yields every record of the transcript, including those held back at its end.
func (r *reading) all(ctx context.Context) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if r.more(ctx, yield) {
			r.rest(yield)
		}
	}
}

// more continues reading up to the current end. Unfinished lines are left for later. It
// returns false to stop.
func (r *reading) more(ctx context.Context, yield func(store.Record, error) bool) bool {
	first, offset := journal.Split(r.at)
	for number, name := range r.t.Parts {
		if number < first {
			continue
		}
		if number != first {
			offset = 0
		}
		if !r.part(ctx, number, name, offset, yield) {
			return false
		}
	}
	return true
}

// rest yields the entries that the scanner held back. These records have no extent: a
// reader that continues after them gets them again, when more may be known.
func (r *reading) rest(yield func(store.Record, error) bool) bool {
	for _, e := range r.scanner.Finish() {
		if !yield(firn.NewRecord(r.at, r.at, e), nil) {
			return false
		}
	}
	return true
}

// part reads one file from an offset.
func (r *reading) part(ctx context.Context, number int, name string, offset int64, yield func(store.Record, error) bool) bool {
	file, err := r.st.openPart(r.t, name, offset)
	if err != nil {
		return yield(store.Record{}, err)
	}
	defer file.Close() // read only
	in := bufio.NewReaderSize(r.upToNow(file, offset), 256<<10)
	for {
		line, size, err := readLineUpTo(in, r.st.opts.MaxLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return yield(store.Record{}, fmt.Errorf("read %s: %w", name, err))
		}
		if err == nil && line == nil { // too long
			offset += size
			if !yield(r.tooLong(journal.Place(number, offset), size), nil) {
				return false
			}
			continue
		}
		if err != nil && !r.closes(number, line) {
			return true // it may be complete next time
		}
		if ctx.Err() != nil {
			return yield(store.Record{}, ctx.Err())
		}
		start := journal.Place(number, offset)
		if len(line) > 0 && line[len(line)-1] == '\n' {
			offset++
			line = line[:len(line)-1]
		}
		offset += int64(len(line))
		for _, record := range r.line(start, journal.Place(number, offset), line) {
			if !yield(record, nil) {
				return false
			}
		}
		if err != nil {
			return true
		}
	}
}

// upToNow limits a file to its current size, so that a caller that appends while reading
// does not read forever.
func (r *reading) upToNow(file io.Reader, offset int64) io.Reader {
	if f, ok := file.(fs.File); ok {
		if info, err := f.Stat(); err == nil {
			return io.LimitReader(file, max(0, info.Size()-offset))
		}
	}
	return file
}

// closes reports whether a line without a newline is complete: it is not in the last part,
// or its JSON is complete.
func (r *reading) closes(number int, line []byte) bool {
	return len(line) > 0 && (number < len(r.t.Parts)-1 || rawjson.Valid(line) == nil)
}

// readLine reads a line of any length, with its newline.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := slices.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = in.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}

// readLineUpTo is like readLine, for a line of at most limit bytes. For a longer one it
// returns only the size.
func readLineUpTo(in *bufio.Reader, limit int64) (line []byte, size int64, err error) {
	line, err = in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, int64(len(line)), err
	}
	long, size := slices.Clone(line), int64(len(line))
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = in.ReadSlice('\n')
		if size += int64(len(line)); size > limit+1 {
			long = nil
			continue
		}
		long = append(long, line...)
	}
	return long, size, err
}

// tooLong returns the record of a line that was not read.
func (r *reading) tooLong(next firn.Pos, size int64) store.Record {
	at := r.at
	r.at = next
	return firn.GapRecord(firn.Gap{Kind: firn.GapTooLong, At: at, Next: next, Detail: fmt.Sprintf("a line of %d bytes is over the limit and was not read; a higher store.max_line reads it", size)})
}

// line returns the records of a line: of its entries, or of the intact parts of a damaged
// line.
func (r *reading) line(start, next firn.Pos, line []byte) []store.Record {
	r.records = r.records[:0]
	clear(r.lines)
	at := r.at
	r.at = next
	if rawjson.IsBlank(line) {
		return nil
	}
	if rawjson.Valid(line) == nil {
		return r.object(at, next, line)
	}
	for _, piece := range rawjson.Split(line) {
		from, to := start+firn.Pos(piece.Offset), start+firn.Pos(piece.Offset+len(piece.Bytes))
		if piece.Kind == rawjson.Complete {
			r.object(from, to, piece.Bytes)
			continue
		}
		kind := firn.GapKind(piece.Kind)
		r.records = append(r.records, firn.GapRecord(firn.Gap{Kind: kind, At: from, Next: to, Detail: piece.Detail}))
	}
	return r.records
}

// object returns the records of a JSON object.
func (r *reading) object(at, next firn.Pos, line []byte) []store.Record {
	entries, err := r.scanner.Scan(line)
	if err != nil {
		r.records = append(r.records, firn.GapRecord(firn.Gap{Kind: firn.GapDamaged, At: at, Next: next, Detail: err.Error()}))
		return r.records
	}
	r.recordLines(at, len(entries), line)
	return r.place(at, next, entries, line)
}

// place assigns positions to entries: consecutive ones, with the last extending to the next
// line.
func (r *reading) place(at, next firn.Pos, entries []firn.Entry, line []byte) []store.Record {
	for i, e := range entries {
		to := at + 1
		if i == len(entries)-1 && next > at {
			to = next
		}
		record := firn.NewRecord(at, to, e)
		if line != nil && i == len(entries)-1 {
			record = firn.LazyRecord(at, to, firn.GlanceOf(e), line, func([]byte) (firn.Entry, error) { return e, nil })
		}
		r.records = append(r.records, record)
		at = to
	}
	return r.records
}

// openPart opens a file of a transcript at an offset.
func (st *Store) openPart(t dialect.Transcript, name string, offset int64) (io.ReadCloser, error) {
	file, err := st.tree.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open %s: %w", name, firn.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open a part of session %s: %w", t.ID, err)
	}
	if t.Compressed {
		return st.expand(t, file, offset)
	}
	if offset > 0 {
		seeker, ok := file.(io.Seeker)
		if !ok {
			return nil, errors.Join(fmt.Errorf("open %s at %d: %w", name, offset, firn.ErrUnsupported), file.Close())
		}
		if _, err := seeker.Seek(offset, io.SeekStart); err != nil {
			return nil, errors.Join(fmt.Errorf("open %s at %d: %w", name, offset, err), file.Close())
		}
	}
	return file, nil
}

// expand opens a compressed file at an offset of the uncompressed data.
func (st *Store) expand(t dialect.Transcript, file fs.File, offset int64) (io.ReadCloser, error) {
	if st.opts.Expand == nil {
		return nil, errors.Join(fmt.Errorf("open session %s: %w: it is compressed", t.ID, firn.ErrUnsupported), file.Close())
	}
	plain, err := st.opts.Expand(file)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open session %s: %w: %w", t.ID, firn.ErrCorrupt, err), file.Close())
	}
	both := expanded{plain, file}
	if _, err := io.CopyN(io.Discard, plain, offset); err != nil {
		return nil, errors.Join(fmt.Errorf("open session %s at %d: %w", t.ID, offset, err), both.Close())
	}
	return both, nil
}

// expanded is a compressed file with its decompressor.
type expanded struct {
	io.ReadCloser
	file io.Closer
}

// Close closes both.
func (e expanded) Close() error { return errors.Join(e.ReadCloser.Close(), e.file.Close()) }
