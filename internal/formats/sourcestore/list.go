package sourcestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// glimpse is the number of bytes that a list reads from the start and the end of a
// transcript; maxGlimpse is the limit at the end if the last lines are long.
const (
	glimpse    = 64 << 10
	maxGlimpse = 4 << 20
)

// shown is the cached information of a session, with the state of its files.
type shown struct {
	standing store.Status
	// title and key are those in the tool's index.
	title, key string
	info       store.Info
}

// List yields the information of matching sessions. It reads the start and the end of
// transcripts that changed since the last call.
func (st *Store) List(ctx context.Context, q store.Query) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		if err := st.check(ctx); err != nil {
			yield(store.Info{}, err)
			return
		}
		var infos []store.Info
		for _, t := range st.all() {
			if err := ctx.Err(); err != nil {
				yield(store.Info{}, err)
				return
			}
			if info := st.inspect(t); q.Matches(info) {
				infos = append(infos, info)
			}
		}
		store.SortByUpdate(infos)
		for i, info := range infos {
			if q.Limit > 0 && i >= q.Limit || !yield(info, nil) {
				return
			}
		}
	}
}

// Inspect returns the information of one session.
func (st *Store) Inspect(ctx context.Context, id firn.ID) (store.Info, error) {
	t, err := st.find(ctx, id)
	if err != nil {
		return store.Info{}, err
	}
	return st.inspect(t), nil
}

// Census describes all sessions without opening them.
func (st *Store) Census(ctx context.Context) ([]store.Status, error) {
	if err := st.check(ctx); err != nil {
		return nil, err
	}
	all := st.all()
	list := make([]store.Status, 0, len(all))
	for _, t := range all {
		if s, err := st.status(t); err == nil {
			list = append(list, s)
		}
	}
	return list, nil
}

// Status describes one session without opening it.
func (st *Store) Status(ctx context.Context, id firn.ID) (store.Status, error) {
	t, err := st.find(ctx, id)
	if err != nil {
		return store.Status{}, err
	}
	return st.status(t)
}

func (st *Store) status(t dialect.Transcript) (store.Status, error) {
	s := store.Status{ID: t.ID, Agent: st.agent(t), Parts: len(t.Parts), Archived: t.Archived}
	for _, part := range t.Parts {
		info, err := fs.Stat(st.tree, part)
		if errors.Is(err, fs.ErrNotExist) {
			return s, fmt.Errorf("read session %s: %w", t.ID, firn.ErrNotFound)
		}
		if err != nil {
			return s, fmt.Errorf("read session %s: %w", t.ID, err)
		}
		s.Bytes += info.Size()
		if info.ModTime().After(s.Modified) {
			s.Modified = info.ModTime()
		}
	}
	return s, nil
}

// agent returns the agent of a session: the tool's name, unless the tool itself has agents.
func (st *Store) agent(t dialect.Transcript) string {
	if t.Agent != "" {
		return t.Agent
	}
	return string(st.tool.Name())
}

// inspect returns the information of a transcript, from the cache if it is unchanged.
func (st *Store) inspect(t dialect.Transcript) store.Info {
	standing, err := st.status(t)
	if err != nil {
		return store.Info{ID: t.ID, Agent: st.agent(t), Source: st.opts.Name, Fault: err.Error()}
	}
	st.mu.Lock()
	known, ok := st.shown[t.ID]
	st.mu.Unlock()
	if ok && known.standing == standing && known.title == t.Title && known.key == t.Key {
		return known.info
	}
	info := st.readInfo(t, standing)
	st.mu.Lock()
	st.shown[t.ID] = shown{standing, t.Title, t.Key, info}
	st.mu.Unlock()
	return info
}

// readInfo reads the start and the end of a transcript.
func (st *Store) readInfo(t dialect.Transcript, standing store.Status) store.Info {
	var gist store.Gist
	late, err := st.sample(t, &gist)
	info := gist.Info()
	info.ID, info.Agent, info.Archived, info.Source = t.ID, standing.Agent, t.Archived, st.opts.Name
	info.Empty = false // only a sample was read
	info.Bytes, info.Parts = standing.Bytes, standing.Parts
	info.End = st.end(t)
	info.Title = first(t.Title, info.Title)
	info.CWD = first(info.CWD, t.CWD)
	info.Key = first(t.Key, info.Key)
	info.Created = firstTime(info.Created, t.Created)
	if late {
		info.Updated = firstTime(t.Updated, standing.Modified)
	}
	if info.Updated = firstTime(info.Updated, t.Updated); info.Updated.IsZero() {
		info.Updated = standing.Modified
	}
	if err != nil {
		info.Fault = err.Error()
	}
	return info
}

// end returns the position after the last byte.
func (st *Store) end(t dialect.Transcript) firn.Pos {
	last := len(t.Parts) - 1
	info, err := fs.Stat(st.tree, t.Parts[last])
	if err != nil {
		return 0
	}
	return journal.Place(last, info.Size())
}

// sample reads the start and the end of a transcript into a gist, and the titles in
// between. The scanner of the last lines has not read the earlier ones, which is sufficient
// for times, titles and tombstones. late is set if the end has no time; only the time of creation is known then.
func (st *Store) sample(t dialect.Transcript, gist *store.Gist) (late bool, err error) {
	head, short, err := st.readHead(t, t.Parts[0])
	if err != nil {
		return false, err
	}
	for _, e := range st.entries(t, head) {
		gist.Add(e)
	}
	if short && len(t.Parts) == 1 {
		return false, nil
	}
	read := int64(bytes.LastIndexByte(head, '\n') + 1)
	titles, whole, err := st.laterTitles(t, read)
	if err == nil && whole {
		*gist, err = st.wholeGist(t)
		return gist.Info().Updated.IsZero(), err
	}
	if err != nil {
		return false, err
	}
	for _, e := range titles {
		gist.Add(e)
	}
	if t.Compressed {
		return true, nil
	}
	last, err := st.latest(t, read)
	for _, e := range last {
		if _, again := e.Body.(*firn.Header); !again {
			gist.Add(e)
		}
	}
	return !timed(last), err
}

// latest reads the last entries of a transcript after the given number of bytes. If there
// is no complete line with a time among them, because the last is long, it reads more.
func (st *Store) latest(t dialect.Transcript, read int64) ([]firn.Entry, error) {
	last := t.Parts[len(t.Parts)-1]
	info, err := fs.Stat(st.tree, last)
	if err != nil {
		return nil, err
	}
	if len(t.Parts) > 1 {
		read = 0
	}
	for size := int64(glimpse); ; size *= 8 {
		from := max(read, info.Size()-size)
		tail, err := st.readFrom(t, last, from, size)
		if err != nil {
			return nil, err
		}
		entries := st.entries(t, tail)
		if timed(entries) || from == read || size >= maxGlimpse {
			return entries, nil
		}
	}
}

// timed reports whether an entry has a time.
func timed(entries []firn.Entry) bool {
	return slices.ContainsFunc(entries, func(e firn.Entry) bool { return !e.Time.IsZero() })
}

// entries decodes the entries of some lines. It skips truncated lines.
func (st *Store) entries(t dialect.Transcript, text []byte) []firn.Entry {
	var all []firn.Entry
	scanner := st.tool.Scanner(dialect.Origin{Transcript: t})
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		if rawjson.Valid(line) != nil {
			continue
		}
		if entries, err := scanner.Scan(line); err == nil {
			all = append(all, entries...)
		}
	}
	return all
}

// readFrom reads size bytes of a file from an offset.
func (st *Store) readFrom(t dialect.Transcript, name string, from, size int64) ([]byte, error) {
	file, err := st.openPart(t, name, from)
	if err != nil {
		return nil, err
	}
	defer file.Close() // read only
	return io.ReadAll(io.LimitReader(file, size))
}

// readHead reads the start of a file, and reports whether that is the whole file.
func (st *Store) readHead(t dialect.Transcript, name string) ([]byte, bool, error) {
	file, err := st.openPart(t, name, 0)
	if err != nil {
		return nil, false, err
	}
	defer file.Close() // read only
	head, err := io.ReadAll(io.LimitReader(file, glimpse))
	return head, len(head) < glimpse, err
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func firstTime(a, b time.Time) time.Time {
	if !a.IsZero() {
		return a
	}
	return b
}
