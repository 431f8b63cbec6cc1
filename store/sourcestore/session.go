package sourcestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"firn"
	"firn/dialect"
	"firn/internal/vfs"
	"firn/store"
)

// session is a transcript that is added to: what is known of it, so that
// adding does not read it again.
type session struct {
	st *Store
	id firn.ID

	mu   sync.Mutex
	file vfs.File
	// fresh is set as long as nothing is stored of it.
	fresh   bool
	reading *reading
	printer dialect.Printer
	head    firn.EntryID
	// ids are those of the file, and those under which somebody here appended
	// what the file has under another.
	ids    map[firn.EntryID]bool
	gist   store.Gist
	header firn.Header
	// provider and model gave the last answer; messages counts them.
	provider, model string
	messages        int
	// torn is set if the file ends with an unfinished line, printed if what is
	// behind reading was printed here.
	torn, printed bool
}

// session returns a session to add to.
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

// reopen makes sure that the session's file is open. A session that is not
// there is fresh.
func (s *session) reopen() error {
	if s.file != nil {
		return nil
	}
	t, err := s.st.transcript(s.id)
	switch {
	case errors.Is(err, firn.ErrNotFound):
		s.fresh = true
		return nil
	case err != nil:
		return err
	case t.Compressed:
		return fmt.Errorf("append to session %s: %w: its file is compressed", s.id, firn.ErrUnsupported)
	}
	s.fresh = false
	return s.begin(t, vfs.Extend)
}

// create makes the file of a new session where the tool would.
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
	if err := s.begin(t, vfs.Create); err != nil {
		return err
	}
	s.st.mu.Lock()
	s.st.found[s.id] = t
	s.st.mu.Unlock()
	return nil
}

// begin opens the last part and gets ready to read the transcript.
func (s *session) begin(t dialect.Transcript, mode vfs.Mode) error {
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
	s.reading = s.st.read(t)
	s.ids = make(map[firn.EntryID]bool)
	s.printer = s.st.tool.Printer(s.target())
	return nil
}

// forget drops what is known, after a failure: the next append reads the file.
func (s *session) forget() {
	if s.file != nil {
		s.file.Close() // nothing is waiting to be written
	}
	s.file, s.reading, s.printer, s.ids = nil, nil, nil, nil
	s.head, s.gist, s.header, s.messages = "", store.Gist{}, firn.Header{}, 0
	s.fresh, s.torn, s.printed = false, false, false
}

// target is the transcript as the printer and the layout need to know it.
func (s *session) target() dialect.Target {
	info := s.gist.Info()
	return dialect.Target{
		Session: s.id, Title: info.Title, CWD: first(s.header.CWD, info.CWD),
		Agent: first(s.header.Agent, info.Agent), Key: first(s.header.Key, info.Key),
		Provider: s.provider, Model: s.model, Messages: s.messages,
		Created: firstTime(info.Created, s.st.opts.Now()), Updated: firstTime(info.Updated, s.st.opts.Now()),
		Lose: s.st.opts.Lose, Told: s.told,
	}
}

// catchUp reads what was added to the file: by the tool, or just now by us.
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
		s.learned(e, r.Line(), ours)
		return true
	})
	if failed != nil {
		return fmt.Errorf("read session %s: %w", s.id, failed)
	}
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("read session %s: %w", s.id, err)
	}
	s.torn = info.Size > 0 && (info.Size > sizeAt(s.reading.at) || !s.endsLine(info.Size))
	return nil
}

// endsLine reports whether the last byte of the file is a newline.
func (s *session) endsLine(size int64) bool {
	last := make([]byte, 1)
	_, err := s.file.ReadAt(last, size-1)
	return err == nil && last[0] == '\n'
}

// learned takes notice of an entry of the file.
func (s *session) learned(e firn.Entry, line []byte, ours bool) {
	s.fresh = false
	s.gist.Add(e)
	switch b := e.Body.(type) {
	case *firn.Header:
		s.header = *b
	case *firn.Message:
		s.messages++
		if b.Role == firn.RoleAssistant && b.Model != "" {
			s.provider, s.model = b.Provider, b.Model
		}
	}
	if e.ID != "" {
		s.ids[e.ID], s.head = true, e.ID
	}
	if !ours {
		var lines [][]byte
		if line != nil {
			lines = [][]byte{line}
		}
		s.printer.Repeat(e, lines)
	}
}

func (s *session) taken(id firn.EntryID) bool { return s.ids[id] }

// known is taken, as store.Prepare asks for it.
func (s *session) known(id firn.EntryID) (bool, error) {
	return s.ids[id], nil
}
