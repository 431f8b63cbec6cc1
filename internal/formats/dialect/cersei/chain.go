package cersei

import (
	"fmt"
	"slices"
	"strings"

	"firn.dev"
)

// line emits the entries of one line and returns their IDs. The last entry has the ID of
// the line. If an earlier tombstone named the line, tombstones follow it, because firn's
// readers expect them after their target.
func (s *scanner) line(l *line, bodies ...firn.Body) []firn.EntryID {
	id, at := s.lineID(l), s.emitted
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
		s.emit(name(i), body, extra)
		ids = append(ids, s.last)
	}
	if buried {
		for i, target := range ids {
			s.emit(name(len(ids)+i), &firn.Tombstone{Target: target}, nil)
		}
	}
	_, compaction := bodies[0].(*firn.Compaction)
	s.recordUUID(l.uuid, at, ids, compaction)
	return ids
}

// emit emits one entry after the previous one.
func (s *scanner) emit(id firn.EntryID, body firn.Body, extra firn.Fields) {
	s.out = append(s.out, firn.Entry{ID: id, Parent: s.last, Time: s.time, Body: body, Extra: extra})
	s.last = id
	s.emitted++
}

// recordUUID records the entries of a uuid.
func (s *scanner) recordUUID(uuid string, at int, ids []firn.EntryID, compaction bool) {
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

// lineID returns the ID of a line: its uuid, or its number if it has none. A repeated uuid
// gets a numeric suffix.
func (s *scanner) lineID(l *line) firn.EntryID {
	if l.uuid == "" {
		return s.unique(fmt.Sprintf("l%06d", s.number))
	}
	if k, again := s.known[l.uuid]; again {
		return s.unique(fmt.Sprintf("%s~%d", l.uuid, k.lines+1))
	}
	if s.used[firn.EntryID(l.uuid)] { // collides with a generated ID
		return s.unique(l.uuid + "~1")
	}
	return firn.EntryID(l.uuid)
}

// unique returns an unused ID. Only a maliciously crafted file needs more than one attempt.
func (s *scanner) unique(id string) firn.EntryID {
	for _, taken := s.known[id]; taken || s.used[firn.EntryID(id)]; _, taken = s.known[id] {
		id += fmt.Sprintf("~l%06d", s.number)
	}
	s.used[firn.EntryID(id)] = true
	return firn.EntryID(id)
}

// tombstone hides all entries of a uuid so far. A tombstone for an unknown or hidden uuid
// is carried. So is one directly after a compaction for an entry that the compaction
// replaces, unless it is repeated: it only repeats for Cersei the effect of the compaction.
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

// summary emits a compaction for a line with a count of replaced messages. Cersei's readers
// skip the line, but according to its documentation it replaces the oldest messages that
// the model still sees. Deleted messages and an earlier summary are included in the count;
// if that is wrong, too much is kept rather than too little.
func (s *scanner) summary(l *line) {
	n := int(max(0, min(l.compacted, int64(len(s.live)))))
	s.compact(l, &firn.Compaction{Summary: l.summary}, n)
}

// compaction emits a message that is a summary. firn's mark, if present, gives its extent;
// otherwise Cersei sends the summary in addition to all earlier messages.
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

// compact emits a compaction of the first n messages that the model would see.
func (s *scanner) compact(l *line, c *firn.Compaction, n int) {
	kept, at := s.live[n:], s.emitted
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

// The text that Cersei puts around a summary.
const (
	summaryBegin = "<context_summary>\nThe following is a summary of the conversation so far:\n\n"
	summaryEnd   = "\n</context_summary>"
)

// summaryText returns the summary if the messages consist of one.
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
