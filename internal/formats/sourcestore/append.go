package sourcestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// Append appends entries to a session as the tool itself would, if the store was opened
// with [Options.InPlace]. Entries that the tool's format cannot represent are omitted and
// reported by [Options.OnLoss]; if there are no others, it fails with ErrUnsupported. It
// succeeds once the lines are durable: errors of the tool's index are reported by
// [Options.Report]. An ID that the tool does not accept is replaced by another, under which
// the entry is read from then on; the caller may continue to use its own.
func (st *Store) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (end store.Pos, err error) {
	if err := st.check(ctx); err != nil {
		return 0, err
	}
	if !st.opts.InPlace {
		return 0, fmt.Errorf("append to session %s of %s: %w: another tool's directory is read-only", id, st.tool.Name(), firn.ErrUnsupported)
	}
	if err := dialect.Writable(st.tool); err != nil {
		return 0, fmt.Errorf("append to session %s: %w", id, err)
	}
	s, err := st.session(id)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.hold(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.release()) }()
	if s.fresh {
		begun, err := s.first(expect, entries)
		if err != nil || !begun {
			return 0, err
		}
	}
	return s.append(ctx, expect, entries)
}

// first creates a session and locks its file. No file is created before it is certain that
// there are lines to write. It returns false if there are none.
func (s *session) first(expect store.Pos, entries []firn.Entry) (bool, error) {
	if expect != store.Any && expect != store.Start {
		return false, &store.Conflict{ID: s.id, Expect: expect, End: store.Start}
	}
	ready, err := s.prepare(entries)
	if err != nil || len(ready) == 0 {
		return false, err
	}
	if err := s.create(ready); err != nil {
		return false, err
	}
	return true, s.hold()
}

// prepare prepares entries for writing.
func (s *session) prepare(entries []firn.Entry) ([]firn.Entry, error) {
	return store.Prepare(store.Tail{Session: s.id, New: s.fresh, Head: s.head, Use: s.use}, s.st.opts.Now(), entries, s.known)
}

// append appends entries while the file is locked. The tool itself takes no lock; lines
// that it added meanwhile are read first.
func (s *session) append(ctx context.Context, expect store.Pos, entries []firn.Entry) (end store.Pos, err error) {
	if err := s.catchUp(ctx); err != nil {
		return 0, err
	}
	if expect != store.Any && expect != s.reading.at {
		return 0, &store.Conflict{ID: s.id, Expect: expect, End: s.reading.at}
	}
	ready, err := s.prepare(entries)
	if err != nil || len(ready) == 0 {
		return s.reading.at, err
	}
	if slices.ContainsFunc(ready, needsHistory) && len(s.names) > 0 {
		// The printer needs the entries with their IDs in the file.
		s.restartReading(s.reading.t)
		if err := s.catchUp(ctx); err != nil {
			return 0, err
		}
	}
	text, err := s.print(ready)
	if err != nil {
		s.forget()
		return 0, fmt.Errorf("append to session %s: %w", s.id, err)
	}
	if len(text) > 0 {
		if err := s.save(text); err != nil {
			return 0, err
		}
	}
	return s.afterWrite(context.WithoutCancel(ctx), ready, len(text) > 0)
}

// afterWrite updates the state and the index after a write. The lines are durable by then
// and stay acknowledged even if this fails, or the caller would append them twice: errors
// are only reported.
func (s *session) afterWrite(ctx context.Context, entries []firn.Entry, written bool) (store.Pos, error) {
	at := s.end()
	err := s.catchUp(ctx)
	if err == nil {
		at = s.reading.at
		err = s.index()
	}
	if err == nil {
		// Some tools have their index in the transcript, which is then a new file.
		if err = s.catchUp(ctx); err == nil {
			at = s.reading.at
		}
	}
	switch {
	case err == nil:
		if err := s.checkTitle(entries); err != nil {
			return 0, err
		}
		s.reportLosses()
		return at, nil
	case !written:
		s.title = ""
		s.forget()
		return 0, fmt.Errorf("%w: %w", firn.ErrNotSaved, err)
	}
	s.reportLosses()
	s.forget()
	if s.st.opts.Report != nil {
		s.st.opts.Report(err)
	}
	return at, nil
}

// end returns the end position of the file.
func (s *session) end() store.Pos {
	info, err := s.file.Stat()
	if err != nil {
		return s.reading.at
	}
	return journal.Place(len(s.reading.t.Parts)-1, info.Size)
}

// needsHistory reports whether printing an entry requires the entries before it.
func needsHistory(e firn.Entry) bool {
	switch e.Body.(type) {
	case *firn.Tombstone, *firn.Compaction, *firn.Head:
		return true
	}
	return false
}

// print encodes the entries. It fails if the tool's format can represent none of them.
func (s *session) print(entries []firn.Entry) (text []byte, err error) {
	s.news, s.dropped, s.losses = entries, make(map[firn.EntryID]string), nil
	s.addUptime(entries)
	before := s.title
	defer func() {
		if err != nil {
			s.title = before
		}
	}()
	for _, e := range entries {
		if text, err = s.printer.Print(text, s.renamed(e)); err != nil {
			return nil, err
		}
		if t, ok := e.Body.(*firn.Title); ok && t.Beats(s.named) {
			s.named, s.title = *t, t.Name
		}
	}
	if text, err = s.printer.Finish(text); err != nil {
		return nil, err
	}
	return text, s.checkDropped(entries)
}

// save makes lines durable.
func (s *session) save(text []byte) error {
	if s.torn {
		text = append([]byte{'\n'}, text...)
	}
	if err := s.roll(int64(len(text))); err != nil {
		s.forget()
		return err
	}
	if n, err := s.file.Write(text); err != nil {
		s.forget()
		kind := firn.ErrNotSaved
		if n > 0 {
			kind = firn.ErrUnknownOutcome
		}
		return fmt.Errorf("append to session %s: %w: %w", s.id, kind, err)
	}
	if err := s.file.Sync(); err != nil {
		s.forget()
		return fmt.Errorf("append to session %s: %w: %w", s.id, firn.ErrUnknownOutcome, err)
	}
	if there, err := s.inPlace(); err != nil || !there {
		s.forget()
		return errors.Join(fmt.Errorf("append to session %s: %w: %s replaced its file at that moment", s.id, firn.ErrReplaced, s.st.tool.Name()), err)
	}
	s.printed = true
	return nil
}

// roll continues in a new part where the tool would.
func (s *session) roll(more int64) error {
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("append to session %s: %w", s.id, err)
	}
	last := s.reading.t.Parts[len(s.reading.t.Parts)-1]
	next, ok := s.st.tool.Layout().Part(last, info.Size, more)
	if !ok || info.Size == 0 {
		return nil
	}
	file, err := s.st.opts.FS.Open(vfsPath(s.st.home, next), vfs.Create)
	if err != nil {
		return fmt.Errorf("create part of session %s: %w", s.id, err)
	}
	if err := file.Lock(); err != nil {
		return errors.Join(fmt.Errorf("create part of session %s: %w", s.id, err), file.Close())
	}
	s.reading.t.Parts = append(s.reading.t.Parts, next)
	old := s.file
	s.file = file
	return errors.Join(old.Close(), s.st.opts.FS.SyncDir(filepath.Dir(vfsPath(s.st.home, next))))
}

// index updates the tool's index files. The entries are durable by then; an index can be
// repaired. The title is written only if it was set here and no index has it yet: the tool
// may have a later one.
func (s *session) index() error {
	target := s.target()
	target.Title = s.title
	layout := s.st.tool.Layout()
	if meta, ok := layout.(dialect.Meta); ok && (s.title != "" || sizeAt(s.reading.at) < metaSize) {
		if err := s.rewriteFirst(meta, target); err != nil {
			return fmt.Errorf("update the first line of session %s: %w", s.id, err)
		}
	}
	if err := s.rename(layout, target); err != nil {
		return fmt.Errorf("rename the file of session %s: %w", s.id, err)
	}
	files, err := layout.Index(s.st.tree, s.reading.t.Parts[0], target)
	if err != nil {
		return fmt.Errorf("update the index of %s for session %s: %w", s.st.tool.Name(), s.id, err)
	}
	for _, f := range files {
		name := vfsPath(s.st.home, f.Path)
		if err := s.st.opts.FS.MkdirAll(filepath.Dir(name)); err != nil {
			return fmt.Errorf("update the index of %s: %w", s.st.tool.Name(), err)
		}
		if err := vfs.WriteFile(s.st.opts.FS, name, f.Data); err != nil {
			return fmt.Errorf("update the index of %s: %w", s.st.tool.Name(), err)
		}
	}
	if s.title != "" {
		s.title = ""
		_, err = s.st.lookFor(s.id) // updates the title
	}
	return err
}

// place returns the file of a new session.
func (s *session) place() (string, error) {
	name, err := s.st.tool.Layout().Place(s.st.tree, s.target())
	if err != nil {
		return "", err
	}
	if !fs.ValidPath(name) {
		return "", fmt.Errorf("place session %s: %w: %q is not a path within the home", s.id, firn.ErrInvalid, name)
	}
	return name, nil
}

// sizeAt returns the size of the part that a position is in.
func sizeAt(pos firn.Pos) int64 {
	_, offset := journal.Split(pos)
	return offset
}
