package sourcestore

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// lose takes notice of what the tool's format could not say. It is told once it
// is known what becomes of it.
func (s *session) lose(l dialect.Loss) {
	if l.Dropped && s.dropped != nil {
		s.dropped[l.Entry] = l.Limit
	}
	s.losses = append(s.losses, l)
}

// tellLosses tells of what was lost. The state that a program keeps in the log,
// such as its counters, may be left out: it is made again. A title without a
// line may be in an index.
func (s *session) tellLosses() {
	shown := ""
	for _, l := range s.losses {
		if l.Kind == firn.KindTitle && l.Dropped && shown == "" {
			shown = s.shown()
		}
		known := l.Kind == firn.KindTitle && l.Dropped && shown == s.named.Name
		if s.st.opts.Lose != nil && l.Kind != firn.KindCustom && !known {
			s.st.opts.Lose(l)
		}
	}
	s.losses = nil
}

// unsaid fails if nothing was asked for but marks and one of them has no place
// in the tool's files: whoever asked must not be told that it was done. A title
// may be in an index, which is seen later.
func (s *session) unsaid(entries []firn.Entry) error {
	if !onlyMarks(entries) {
		return nil
	}
	for _, e := range entries {
		limit, dropped := s.dropped[e.ID]
		t, title := e.Body.(*firn.Title)
		switch {
		case title && t.Name == "" && t.Source != firn.SourceAuto && (dropped || s.indexed() != "") && s.shown() != "":
			return fmt.Errorf("%w: in the files of %s a title can be changed, but not taken away", firn.ErrUnsupported, s.st.tool.Name())
		case dropped && !title && isMark(e):
			return fmt.Errorf("%w: the files of %s cannot say it (%s); nothing was changed", firn.ErrUnsupported, s.st.tool.Name(), limit)
		}
	}
	return nil
}

// titled fails if a title was asked for that neither a line nor an index has.
// One that a program made up is no loss to anyone.
func (s *session) titled(entries []firn.Entry) error {
	if !onlyMarks(entries) {
		return nil
	}
	for _, e := range entries {
		t, ok := e.Body.(*firn.Title)
		_, dropped := s.dropped[e.ID]
		if !ok || !dropped || t.Source == firn.SourceAuto || t.Name != s.named.Name {
			continue
		}
		if name, _ := firn.CleanText(t.Name); s.shown() != strings.TrimSpace(name) {
			s.forget()
			return fmt.Errorf("append to session %s: %w: the files of %s have no place for its title", s.id, firn.ErrUnsupported, s.st.tool.Name())
		}
	}
	return nil
}

// shown is the title that the session is shown with.
func (s *session) shown() string {
	t, err := s.st.lookFor(s.id)
	if err != nil {
		return ""
	}
	return s.st.inspect(t).Title
}

// indexed is the title that the tool's folder tells of the session.
func (s *session) indexed() string {
	t, err := s.st.lookFor(s.id)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(t.Title)
}

// onlyMarks reports whether entries say nothing themselves: they mark what was
// said, or how to go on.
func onlyMarks(entries []firn.Entry) bool {
	for _, e := range entries {
		if _, state := e.Body.(*firn.Custom); !state && !isMark(e) {
			return false
		}
	}
	return true
}

// isMark reports whether an entry is a mark that somebody asks for and expects
// to see.
func isMark(e firn.Entry) bool {
	switch e.Body.(type) {
	case *firn.Title, *firn.Tombstone, *firn.Label, *firn.Head, *firn.ModelChange, *firn.ThinkingChange:
		return true
	}
	return false
}
