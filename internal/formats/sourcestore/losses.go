package sourcestore

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// lose records a loss. It is reported later by reportLosses.
func (s *session) lose(l dialect.Loss) {
	if l.Dropped && s.dropped != nil {
		s.dropped[l.Entry] = l.Limit
	}
	s.losses = append(s.losses, l)
}

// reportLosses reports the losses. Program state in the log, such as counters, is not
// reported: it is recreated. Neither is a title that is shown from an index.
func (s *session) reportLosses() {
	shown := ""
	for _, l := range s.losses {
		if l.Kind == firn.KindTitle && l.Dropped && shown == "" {
			shown = s.shown()
		}
		known := l.Kind == firn.KindTitle && l.Dropped && shown == s.named.Name
		if s.st.opts.OnLoss != nil && l.Kind != firn.KindCustom && !known {
			s.st.opts.OnLoss(l)
		}
	}
	s.losses = nil
}

// checkDropped fails if only marks were to be appended and one of them has no equivalent in
// the tool's files: the caller must not assume success. A title may be stored in an index,
// which is checked later.
func (s *session) checkDropped(entries []firn.Entry) error {
	if !onlyMarks(entries) {
		return nil
	}
	for _, e := range entries {
		limit, dropped := s.dropped[e.ID]
		t, title := e.Body.(*firn.Title)
		switch {
		case title && t.Name == "" && t.Source != firn.SourceAuto && (dropped || s.indexed() != "") && s.shown() != "":
			return fmt.Errorf("%w: in the files of %s a title can be changed but not removed", firn.ErrUnsupported, s.st.tool.Name())
		case dropped && !title && isMark(e):
			return fmt.Errorf("%w: the files of %s cannot represent it (%s); nothing was changed", firn.ErrUnsupported, s.st.tool.Name(), limit)
		}
	}
	return nil
}

// checkTitle fails if a title was set that neither a line nor an index holds. An automatic
// title is not checked.
func (s *session) checkTitle(entries []firn.Entry) error {
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

// shown returns the title that the session is displayed with.
func (s *session) shown() string {
	t, err := s.st.lookFor(s.id)
	if err != nil {
		return ""
	}
	return s.st.inspect(t).Title
}

// indexed returns the session's title in the tool's index.
func (s *session) indexed() string {
	t, err := s.st.lookFor(s.id)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(t.Title)
}

// onlyMarks reports whether all entries are marks or program state, without content of
// their own.
func onlyMarks(entries []firn.Entry) bool {
	for _, e := range entries {
		if _, state := e.Body.(*firn.Custom); !state && !isMark(e) {
			return false
		}
	}
	return true
}

// isMark reports whether an entry is a mark that the user sets and expects to see.
func isMark(e firn.Entry) bool {
	switch e.Body.(type) {
	case *firn.Title, *firn.Tombstone, *firn.Label, *firn.Head, *firn.ModelChange, *firn.ThinkingChange:
		return true
	}
	return false
}
