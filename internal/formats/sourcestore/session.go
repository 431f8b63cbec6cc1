package sourcestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
)

// session is the state of a transcript that is appended to, so that appending does not read
// it again.
type session struct {
	st *Store
	id firn.ID

	// placed is its location if it was created by this store.
	placed atomic.Pointer[dialect.Transcript]

	mu   sync.Mutex
	file vfs.File
	// fresh is set while nothing is stored.
	fresh   bool
	reading *reading
	printer dialect.Printer
	head    firn.EntryID
	// ids are the IDs in the file and those under which entries were appended here.
	ids    map[firn.EntryID]bool
	gist   store.Gist
	header firn.Header
	// names maps IDs under which entries were appended to those in the file; news are
	// entries that were printed and not yet read again.
	names map[firn.EntryID]firn.EntryID
	news  []firn.Entry
	// provider and model are those of the last response; messages counts the messages.
	provider, model string
	messages        int
	// named is the effective title, title one that was set here and is not in an index yet.
	named firn.Title
	title string
	// dropped maps entries that were not printed to the limit of the tool that applied.
	dropped map[firn.EntryID]string
	losses  []dialect.Loss
	// asked is the time of the last user message here, uptime the duration of turns not yet
	// written to the file.
	asked  time.Time
	uptime time.Duration
	// torn is set if the file ends with an unfinished line, printed if the lines after
	// reading's position were printed here.
	torn, printed bool
}

// session returns a session for appending.
func (st *Store) session(id firn.ID) (*session, error) {
	if err := id.Check(); err != nil {
		return nil, err
	}
	st.mu.Lock()
	s, ok := st.open[id]
	if !ok {
		s = &session{st: st, id: id}
		st.open[id] = s
	}
	st.mu.Unlock()
	return s, nil
}

// create creates the file of a new session where the tool would.
func (s *session) create(entries []firn.Entry) error {
	if len(entries) > 0 {
		if h, ok := entries[0].Body.(*firn.Header); ok {
			s.header = *h
		}
	}
	name, err := s.place()
	if err != nil {
		return fmt.Errorf("append to session %s: %w", s.id, err)
	}
	if err := s.st.opts.FS.MkdirAll(filepath.Dir(vfsPath(s.st.home, name))); err != nil {
		return fmt.Errorf("append to session %s: %w: %w", s.id, firn.ErrNotSaved, err)
	}
	t := dialect.Transcript{ID: s.id, Name: string(s.id), Parts: []string{name}, CWD: s.header.CWD, Agent: s.header.Agent, Key: s.header.Key}
	if err := s.openTranscript(t, vfs.Create); err != nil {
		return err
	}
	s.placed.Store(&t)
	s.st.mu.Lock()
	s.st.survey()
	s.st.mu.Unlock()
	return nil
}

// openTranscript opens the last part and prepares to read the transcript.
func (s *session) openTranscript(t dialect.Transcript, mode vfs.Mode) error {
	last := vfsPath(s.st.home, t.Parts[len(t.Parts)-1])
	file, err := s.st.opts.FS.Open(last, mode)
	if err != nil {
		return fmt.Errorf("append to session %s: %w", s.id, err)
	}
	if mode == vfs.Create {
		if err := s.st.opts.FS.SyncDir(filepath.Dir(last)); err != nil {
			return errors.Join(fmt.Errorf("append to session %s: %w: %w", s.id, firn.ErrNotSaved, err), file.Close())
		}
	}
	s.file = file
	if s.names == nil {
		s.names = make(map[firn.EntryID]firn.EntryID)
	}
	s.named = firn.Title{Name: t.Title}
	s.restartReading(t)
	return nil
}

// restartReading prepares to read the transcript from the start.
func (s *session) restartReading(t dialect.Transcript) {
	s.reading = s.st.readingWithLines(t)
	s.ids = make(map[firn.EntryID]bool)
	s.head, s.gist, s.messages = "", store.Gist{}, 0
	s.printer = s.st.tool.Printer(s.target())
}

// forget discards the state after a failure: the next append reads the file. The names of
// entries are kept, because callers may continue to use their own IDs.
func (s *session) forget() {
	if s.file != nil {
		s.file.Close() // no writes are pending
	}
	s.file, s.reading, s.printer, s.ids = nil, nil, nil, nil
	s.head, s.gist, s.header, s.messages = "", store.Gist{}, firn.Header{}, 0
	s.news, s.dropped, s.losses = nil, nil, nil
	s.fresh, s.torn, s.printed = false, false, false
}

// target describes the transcript for the printer and the layout.
func (s *session) target() dialect.Target {
	info := s.gist.Info()
	return dialect.Target{
		Session: s.id, Title: first(s.title, first(s.named.Name, info.Title)), CWD: first(s.header.CWD, info.CWD),
		Agent: first(s.header.Agent, info.Agent), Key: first(s.header.Key, info.Key),
		Provider: s.provider, Model: s.model, Messages: s.messages,
		Created: firstTime(info.Created, s.st.opts.Now()), Updated: firstTime(info.Updated, s.st.opts.Now()),
		OnLoss: s.lose, Written: s.written,
	}
}

// catchUp reads the lines appended to the file by the tool or by this store.
func (s *session) catchUp(ctx context.Context) error {
	ours := s.printed
	s.printed = false
	var failed error
	s.reading.more(ctx, func(r store.Record, err error) bool {
		if err != nil {
			failed = err
			return false
		}
		if r.Gap != nil {
			return true
		}
		e, err := r.Entry()
		if err != nil {
			failed = err
			return false
		}
		s.observeEntry(e, s.reading.lines[r.At], ours)
		return true
	})
	if failed != nil {
		return fmt.Errorf("read session %s: %w", s.id, failed)
	}
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("read session %s: %w", s.id, err)
	}
	s.news = nil
	s.torn = info.Size > 0 && (info.Size > sizeAt(s.reading.at) || !s.endsLine(info.Size))
	return nil
}

// endsLine reports whether the last byte of the file is a newline.
func (s *session) endsLine(size int64) bool {
	last := make([]byte, 1)
	_, err := s.file.ReadAt(last, size-1)
	return err == nil && last[0] == '\n'
}

// observeEntry updates the state for an entry of the file.
func (s *session) observeEntry(e firn.Entry, lines [][]byte, ours bool) {
	s.fresh = false
	s.gist.Add(e)
	switch b := e.Body.(type) {
	case *firn.Header:
		s.header = *b
	case *firn.Title:
		if b.Beats(s.named) || b.Name == s.named.Name {
			s.named = *b
		}
	case *firn.Message:
		s.messages++
		if b.Role == firn.RoleAssistant && b.Model != "" {
			s.provider, s.model = b.Provider, b.Model
		}
	}
	if e.ID != "" {
		s.ids[e.ID], s.head = true, e.ID
	}
	if ours {
		s.name(e)
	} else {
		s.printer.Repeat(e, lines)
	}
}

// name records the ID in the file of an entry that was printed: the next of its kind, since
// printing preserves the order.
func (s *session) name(read firn.Entry) {
	for i, e := range s.news {
		if sameKind(e, read) {
			if e.ID != read.ID {
				s.names[e.ID] = read.ID
			}
			s.news = s.news[i+1:]
			return
		}
	}
}

// sameKind reports whether two entries have the same kind and role.
func sameKind(a, b firn.Entry) bool {
	m, ok := a.Body.(*firn.Message)
	n, both := b.Body.(*firn.Message)
	if ok || both {
		return ok && both && m.Role == n.Role
	}
	return a.Body.Kind() == b.Body.Kind()
}

// renamed returns an entry with its references mapped to IDs in the file.
func (s *session) renamed(e firn.Entry) firn.Entry {
	of := func(id firn.EntryID) firn.EntryID {
		if name, ok := s.names[id]; ok {
			return name
		}
		return id
	}
	e.Parent = of(e.Parent)
	switch b := e.Body.(type) {
	case *firn.Tombstone:
		e.Body = &firn.Tombstone{Target: of(b.Target), Reason: b.Reason}
	case *firn.Compaction:
		moved := *b
		moved.FirstKept = of(b.FirstKept)
		e.Body = &moved
	case *firn.Label:
		e.Body = &firn.Label{Target: of(b.Target), Name: b.Name}
	}
	return e
}

// use reports whether an ID is in use. The whole file was read.
func (s *session) use(id firn.EntryID) (store.Use, error) {
	if s.ids[id] {
		return store.InUse, nil
	}
	return store.Free, nil
}

// known reports whether an entry exists, under its original or its current ID.
func (s *session) known(id firn.EntryID) (bool, error) {
	_, renamed := s.names[id]
	return s.ids[id] || renamed, nil
}
