package cersei

import (
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// line tells what one line says and returns the ids. The last entry has the id
// of the line. If a tombstone named the line before it was written, others
// follow that hide it: readers of firn look for them behind what they hide.
func (s *scanner) line(l *line, bodies ...firn.Body) []firn.EntryID {
	id, at := s.lineID(l), s.told
	total := len(bodies)
	buried := l.uuid != "" && s.dead[l.uuid]
	if buried {
		total *= 2
	}
	name := func(i int) firn.EntryID {
		if i == total-1 {
			return id
		}
		return s.unique(fmt.Sprintf("%s.%d", id, i+1))
	}
	var ids []firn.EntryID
	for i, body := range bodies {
		var extra firn.Fields
		if i == len(bodies)-1 {
			extra = l.other
		}
		s.tell(name(i), body, extra)
		ids = append(ids, s.last)
	}
	if buried {
		for i, target := range ids {
			s.tell(name(len(ids)+i), &firn.Tombstone{Target: target}, nil)
		}
	}
	_, compaction := bodies[0].(*firn.Compaction)
	s.note(l.uuid, at, ids, compaction)
	return ids
}

// tell tells one entry, after the one before it.
func (s *scanner) tell(id firn.EntryID, body firn.Body, extra firn.Fields) {
	s.out = append(s.out, firn.Entry{ID: id, Parent: s.last, Time: s.time, Body: body, Extra: extra})
	s.last = id
	s.told++
}

// note remembers what became of a uuid.
func (s *scanner) note(uuid string, at int, ids []firn.EntryID, compaction bool) {
	if uuid == "" {
		return
	}
	k, again := s.known[uuid]
	if !again {
		k.at = at
	}
	k.lines++
	k.compaction = k.compaction || compaction
	if again && k.entries == nil {
		k.entries = []firn.EntryID{firn.EntryID(uuid)}
	}
	if again || len(ids) > 1 || string(ids[0]) != uuid {
		k.entries = append(k.entries, ids...)
	}
	s.known[uuid] = k
}

// lineID names a line: by its uuid, by its number if it has none. A further
// line with a uuid that was there before has its number among those behind it.
func (s *scanner) lineID(l *line) firn.EntryID {
	if l.uuid == "" {
		return s.unique(fmt.Sprintf("l%06d", s.number))
	}
	if k, again := s.known[l.uuid]; again {
		return s.unique(fmt.Sprintf("%s~%d", l.uuid, k.lines+1))
	}
	if s.used[firn.EntryID(l.uuid)] { // by one of ours: somebody plays tricks
		return s.unique(l.uuid + "~1")
	}
	return firn.EntryID(l.uuid)
}

// unique makes sure that no other entry has the id. Only a file that was made
// to confuse gets as far as another try.
func (s *scanner) unique(id string) firn.EntryID {
	for _, taken := s.known[id]; taken || s.used[firn.EntryID(id)]; _, taken = s.known[id] {
		id += fmt.Sprintf("~l%06d", s.number)
	}
	s.used[firn.EntryID(id)] = true
	return firn.EntryID(id)
}

// tombstone hides all that a uuid named so far. One for a uuid that is not there
// yet, or is hidden already, says nothing now; and those right behind a
// compaction only tell Cersei what firn knows from the compaction, unless they
// tell it twice.
func (s *scanner) tombstone(l *line, raw []byte) {
	target, there := s.known[l.deleted]
	covered := s.covering && (target.at < s.cut || target.compaction && target.at < s.compacted)
	again := s.dead[l.deleted] && !target.covered
	s.dead[l.deleted] = true
	if !there || again || covered && !target.covered {
		if target.covered = there && covered; target.covered {
			s.known[l.deleted] = target
		}
		s.carry(l, raw)
		return
	}
	target.covered = false
	s.known[l.deleted] = target
	ids := target.entries
	if ids == nil {
		ids = []firn.EntryID{firn.EntryID(l.deleted)}
	}
	bodies := make([]firn.Body, len(ids))
	for i, id := range ids {
		bodies[i] = &firn.Tombstone{Target: id}
	}
	s.line(l, bodies...)
}

// summary tells a line that says how many messages it stands for. Cersei's own
// readers skip it, but its documents say that it replaces them: the oldest ones
// that a model still saw. Messages that were deleted count among these, and so
// does an earlier summary: if that is wrong, more is kept than need be.
func (s *scanner) summary(l *line) {
	n := int(max(0, min(l.compacted, int64(len(s.live)))))
	s.compact(l, &firn.Compaction{Summary: l.summary}, n)
}

// compaction tells a message that is a summary. Where we noted what it stands
// for, that counts; else Cersei is sent it beside all that came before.
func (s *scanner) compaction(l *line, text string) {
	c := &firn.Compaction{Summary: text}
	m := readMark(l.mark)
	if !m.compaction {
		s.compact(l, c, 0)
		return
	}
	c.TokensBefore = m.tokens
	n := len(s.live)
	if kept, ok := s.known[m.kept]; ok {
		first := firn.EntryID(m.kept)
		if kept.entries != nil {
			first = kept.entries[0]
		}
		if i := slices.IndexFunc(s.live, func(m place) bool { return m.id == first }); i >= 0 {
			n = i
		}
	}
	s.compact(l, c, n)
	s.covering = true
}

// compact tells a compaction that stands for the first n of those that a model
// would see.
func (s *scanner) compact(l *line, c *firn.Compaction, n int) {
	kept, at := s.live[n:], s.told
	s.cut, s.compacted = at, at
	if len(kept) > 0 {
		c.FirstKept, s.cut = kept[0].id, kept[0].at
	}
	id := s.line(l, c)[0]
	if c.FirstKept == "" {
		c.FirstKept = id
	}
	s.live = append([]place{{id, at}}, kept...)
}

// The words that Cersei puts around a summary.
const (
	summaryBegin = "<context_summary>\nThe following is a summary of the conversation so far:\n\n"
	summaryEnd   = "\n</context_summary>"
)

// summaryText returns the summary that messages are, if they are one.
func summaryText(all []*firn.Message) (string, bool) {
	if len(all) != 1 || all[0].Role != firn.RoleUser || len(all[0].Parts) != 1 {
		return "", false
	}
	t, ok := all[0].Parts[0].(firn.Text)
	if !ok {
		return "", false
	}
	text, begins := strings.CutPrefix(t.Text, summaryBegin)
	text, ends := strings.CutSuffix(text, summaryEnd)
	return text, begins && ends
}
