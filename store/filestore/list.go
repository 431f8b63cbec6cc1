package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"firn"
	"firn/dialect"
	"firn/internal/journal"
	"firn/internal/vfs"
	"firn/store"
)

// List yields what is known of the sessions that match, those with the latest
// entry first. It reads the beginning and the end of every transcript; an
// index does not.
func (st *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return store.Infos(func() ([]store.Info, error) { return st.list(ctx, q) })
}

func (st *Store) list(ctx context.Context, q store.Query) ([]store.Info, error) {
	if err := st.begin(ctx); err != nil {
		return nil, err
	}
	defer st.working.Done()
	found, err := st.allTranscripts(q.Agent)
	if err != nil {
		return nil, err
	}
	archived, err := st.archived()
	if err != nil {
		return nil, err
	}
	infos, err := st.inspectAll(ctx, found, archived)
	if err != nil {
		return nil, err
	}
	infos = slices.DeleteFunc(infos, func(info store.Info) bool { return info.ID == "" || !q.Matches(info) })
	store.SortByUpdate(infos)
	if q.Limit > 0 && len(infos) > q.Limit {
		infos = infos[:q.Limit]
	}
	return infos, nil
}

// allTranscripts names the transcripts of one agent, or of all.
func (st *Store) allTranscripts(agent string) ([]transcript, error) {
	agents := []string{agent}
	if agent == "" {
		var err error
		if agents, err = st.agents(); err != nil {
			return nil, err
		}
	} else if checkAgent(agent) != nil {
		return nil, nil
	}
	var found []transcript
	for _, name := range agents {
		more, err := st.transcripts(name)
		if err != nil && agent != "" {
			return nil, err
		}
		if err != nil { // it shall not hide the sessions of the others
			st.report("%v", err)
		}
		found = append(found, more...)
	}
	return found, nil
}

// archived names the sessions that are marked as archived.
func (st *Store) archived() (map[firn.ID]bool, error) {
	entries, err := st.fs.ReadDir(st.archiveMark(""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for archived sessions: %w", err)
	}
	marks := make(map[firn.ID]bool, len(entries))
	for _, e := range entries {
		marks[firn.ID(e.Name())] = true
	}
	return marks, nil
}

// inspectAll looks at transcripts, several at a time. One that cannot be read
// is told of, and does not keep the others from being listed.
func (st *Store) inspectAll(ctx context.Context, found []transcript, archived map[firn.ID]bool) ([]store.Info, error) {
	infos := make([]store.Info, len(found))
	inParallel(ctx, len(found), func() func(i int) {
		in := inspector{fs: st.fs, reader: dialect.Reader{Dialect: st.dialect, Quick: true}}
		return func(i int) {
			infos[i] = in.inspect(found[i])
			infos[i].Archived = archived[found[i].id]
		}
	})
	return infos, ctx.Err()
}

// inParallel calls what worker makes with 0 to n-1, from as many workers as
// there are processors, until the context is done.
func inParallel(ctx context.Context, n int, worker func() func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			work := worker()
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	workers.Wait()
}

// transcript finds the transcript of a session, also one that is a link to a file that
// is not there.
func (st *Store) transcript(id firn.ID) (transcript, error) {
	agent, path, err := st.locate(id)
	if errors.Is(err, firn.ErrNotFound) {
		st.looked.Do(func() { _, _ = st.allTranscripts("") }) // which notes the links; trouble is reported
		agent, path, err = st.locate(id)
	}
	var link *noTarget
	if errors.As(err, &link) {
		return link.transcript, nil
	}
	if err != nil {
		return transcript{}, err
	}
	parts, err := journal.Parts(st.fs, path)
	return transcript{id: id, agent: agent, path: path, further: len(parts) - 1}, err
}

// Inspect tells of one session without listing the others.
func (st *Store) Inspect(ctx context.Context, id firn.ID) (store.Info, error) {
	if err := st.begin(ctx); err != nil {
		return store.Info{}, err
	}
	defer st.working.Done()
	t, err := st.transcript(id)
	if err != nil {
		return store.Info{}, err
	}
	in := inspector{fs: st.fs, reader: dialect.Reader{Dialect: st.dialect, Quick: true}}
	info := in.inspect(t)
	info.Archived, err = st.exists(st.archiveMark(id))
	return info, err
}

// glimpse is how much is read of the beginning and of the end of a transcript;
// longGlimpse is how much more if the end has no whole line in that, longHeader how
// much if the beginning has none. Headers are that long if they carry what a file of
// another tool had before its first line that could be read.
const (
	glimpse     = 4 << 10
	longGlimpse = 256 << 10
	longHeader  = 16 << 20
)

// inspector looks at transcripts one after the other.
type inspector struct {
	fs     vfs.FS
	reader dialect.Reader
	buf    []byte
}

// inspect reads the beginning and the end of a transcript. What is wrong with
// it is told in the info; a transcript that is gone gives an empty one.
func (in *inspector) inspect(t transcript) store.Info {
	var gist store.Gist
	size, err := in.part(t.path, &gist, true, t.further == 0)
	if t.odd && errors.Is(err, fs.ErrNotExist) {
		err = &noTarget{t}
	}
	if err == nil && size == 0 && t.further == 0 { // its first append failed
		return store.Info{}
	}
	total, end := size, journal.Place(0, size)
	if err == nil && t.further > 0 {
		total, end, err = in.further(t, size, &gist)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return store.Info{}
	}
	info := gist.Info()
	if err == nil && info.ID == "" && size > 0 {
		err = errors.New("it does not begin with a header")
	}
	info.ID, info.Agent, info.Bytes, info.Parts, info.End = t.id, t.agent, total, t.further+1, end
	if err != nil {
		info.Fault = err.Error()
	}
	return info
}

// further looks at the last part of a transcript that has several, and adds up
// their sizes.
func (in *inspector) further(t transcript, first int64, gist *store.Gist) (total int64, end firn.Pos, err error) {
	parts, err := journal.Parts(in.fs, t.path)
	if err != nil {
		return first, 0, err
	}
	if len(parts) == 0 { // removed meanwhile
		return 0, 0, fs.ErrNotExist
	}
	for _, p := range parts {
		total += p.Size
		if p.Size > 0 {
			end = journal.Place(p.Number, p.Size)
		}
	}
	_, err = in.part(parts[len(parts)-1].Path, gist, false, true)
	return total, end, err
}

// part reads the head, the tail or both of a part file into the gist.
func (in *inspector) part(path string, gist *store.Gist, head, tail bool) (size int64, err error) {
	file, err := in.fs.Open(path, vfs.Read)
	if err != nil {
		return 0, err
	}
	defer file.Close() // only read
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	from := int64(0)
	if head {
		if from, err = in.head(file, gist); err != nil {
			return info.Size, err
		}
	}
	if tail && from < info.Size {
		err = in.tail(file, info.Size, from, gist)
	}
	return info.Size, err
}

// head takes the whole lines at the beginning of a file into the gist, and
// returns where they end. A first line that is longer than a glimpse is read
// to its end.
func (in *inspector) head(file vfs.File, gist *store.Gist) (int64, error) {
	for n := glimpse; ; n *= 8 {
		b, err := in.read(file, 0, n)
		if err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
			in.add(gist, b[:i+1])
			return int64(i + 1), nil
		}
		if len(b) < n || n >= longHeader {
			return 0, nil
		}
	}
}

// tail takes the whole lines at the end of a file into the gist, not those
// before an offset.
func (in *inspector) tail(file vfs.File, size, from int64, gist *store.Gist) error {
	for n := int64(glimpse); ; n *= 8 {
		start := max(from, size-n)
		b, err := in.read(file, start, int(size-start))
		if err != nil {
			return err
		}
		if start > from { // it may begin within a line
			i := bytes.IndexByte(b, '\n')
			if i < 0 || i == len(b)-1 {
				if n < longGlimpse {
					continue
				}
				return nil
			}
			b = b[i+1:]
		}
		in.add(gist, b)
		return nil
	}
}

func (in *inspector) read(file vfs.File, offset int64, n int) ([]byte, error) {
	if cap(in.buf) < n {
		in.buf = make([]byte, n)
	}
	got, err := file.ReadAt(in.buf[:n], offset)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return in.buf[:got], nil
}

// add takes lines into the gist. Only those are decoded that tell something,
// and the last one, for its time.
func (in *inspector) add(gist *store.Gist, lines []byte) {
	var last firn.Record
	added := false
	for len(lines) > 0 {
		line := journal.Line{Data: lines}
		if i := bytes.IndexByte(lines, '\n'); i >= 0 {
			line.Data, lines = lines[:i], lines[i+1:]
		} else {
			line.Open, lines = true, nil
		}
		if len(lines) > 0 && !gist.Needs(firn.KindMessage) && bytes.HasPrefix(line.Data, messageBegins) {
			continue // most lines are such
		}
		for _, record := range in.reader.Records(dialect.Line(line)) {
			if record.Gap != nil {
				continue
			}
			last, added = record, tells(gist, &record)
			if added {
				addRecord(gist, record)
			}
		}
	}
	if last.Line() == nil || added {
		return
	}
	if timer, ok := in.reader.Dialect.(dialect.Timer); ok {
		if t, ok := timer.Time(last.Line()); ok {
			gist.Seen(t)
			return
		}
	}
	addRecord(gist, last)
}

// messageBegins is how the lines of messages begin.
var messageBegins = []byte(`{"type":"message"`)

// tells reports whether an entry can tell the gist more than its time.
func tells(gist *store.Gist, record *firn.Record) bool {
	kind := record.Glance.Kind
	return gist.Needs(kind) && (kind != firn.KindCustom || bytes.Contains(record.Line(), tagsSay))
}

// tagsSay is in every line that settles tags: most state that programs keep is
// not looked into.
var tagsSay = []byte("tag")

func addRecord(gist *store.Gist, record firn.Record) {
	if entry, err := record.Entry(); err == nil { // else it is damaged, and the others tell
		gist.Add(entry)
	}
}
