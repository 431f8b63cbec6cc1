package cersei

import (
	"slices"

	"firn"
	"firn/dialect"
)

// compaction says a compaction: Cersei skips lines that are summaries, so it is
// a message that has the summary, and tombstones delete what it stands for.
func (p *printer) compaction(dst []byte, e firn.Entry, c *firn.Compaction) []byte {
	uuid := p.key(e.ID)
	if p.bare {
		p.lose(e, limitCompaction, false)
		p.say(e.ID, uuid)
		return p.summary(dst, e, c, uuid)
	}
	covered := p.cover(e, c)
	if len(spoken(p.said)) > 0 {
		p.lose(e, limitCompaction, false)
	}
	dst = p.summary(dst, e, c, uuid)
	dst = p.delete(dst, covered)
	p.say(e.ID, uuid)
	return dst
}

// cover takes what a compaction stands for from what counts: all before the
// first that is kept, and earlier summaries.
func (p *printer) cover(e firn.Entry, c *firn.Compaction) (covered []said) {
	cut := p.find(c.FirstKept)
	if cut < 0 {
		cut = len(p.said)
	}
	first := e.ID
	if len(p.said) > 0 {
		first = p.said[0].id
	}
	var kept []said
	for i, s := range p.said {
		if _, compaction := p.covers[s.key]; i < cut || compaction {
			covered = append(covered, s)
		} else {
			kept = append(kept, s)
		}
	}
	p.said = kept
	p.covers[p.key(e.ID)] = first
	return covered
}

// summary adds the message that a compaction is, with a note of what it keeps.
func (p *printer) summary(dst []byte, e firn.Entry, c *firn.Compaction, uuid string) []byte {
	mark := []byte(`{"compaction":true`)
	if kept := spoken(p.said); len(kept) > 0 {
		mark = appendText(mark, `,"first_kept":`, kept[0].uuid)
	}
	mark = appendNumber(mark, `,"tokens_before":`, c.TokensBefore)
	mark = append(mark, '}')
	text := firn.Text{Text: summaryBegin + c.Summary + summaryEnd}
	dst, _ = p.write(dst, e, utterance{kind: "user", parts: []firn.Part{text}, uuid: uuid, mark: string(mark)})
	return dst
}

// spoken are those that a model sees.
func spoken(all []said) []said {
	return slices.DeleteFunc(slices.Clone(all), func(s said) bool { return s.uuid == "" })
}

// delete adds a tombstone for each line, but for those that also say something
// that counts.
func (p *printer) delete(dst []byte, gone []said) []byte {
	done := make(map[string]bool)
	for _, s := range p.said {
		done[s.uuid] = true
	}
	done[""] = true
	for _, s := range gone {
		if !done[s.uuid] {
			dst = p.deleteLine(dst, s.uuid)
		}
		done[s.uuid] = true
	}
	return dst
}

func (p *printer) deleteLine(dst []byte, uuid string) []byte {
	dst = appendText(dst, `{"type":"tombstone","deleted_uuid":`, uuid)
	dst = appendText(dst, `,"timestamp":`, stamp(p.time))
	return append(dst, "}\n"...)
}

// find returns where an entry is among those that count, or -1.
func (p *printer) find(id firn.EntryID) int {
	key := p.key(id)
	for i := len(p.said) - 1; i >= 0; i-- {
		if p.said[i].is(key) {
			return i
		}
	}
	return -1
}

// is reports whether an entry of that key is meant.
func (s said) is(key string) bool { return s.key == key || s.uuid == key }

// tombstone says that something is hidden, or no longer so.
func (p *printer) tombstone(dst []byte, e firn.Entry, b *firn.Tombstone) []byte {
	p.hides[p.key(e.ID)] = b.Target
	target, hide := p.effect(b.Target)
	if p.bare || string(target) == string(p.to.Session) {
		p.lose(e, limitHiding, true)
		return dst
	}
	if first, compaction := p.covers[p.key(target)]; compaction {
		return p.again(dst, e, first, change{target, hide})
	}
	if !hide {
		return p.again(dst, e, target, change{target, hide})
	}
	return p.hide(dst, e, target)
}

// effect follows tombstones on tombstones to what is hidden in the end, or is
// to be seen again.
func (p *printer) effect(target firn.EntryID) (end firn.EntryID, hide bool) {
	hide = true
	for range len(p.hides) + 1 {
		next, tombstone := p.hides[p.key(target)]
		if !tombstone {
			if next, tombstone = p.read(target); !tombstone {
				break
			}
		}
		target, hide = next, !hide
	}
	return target, hide
}

// read finds out what a tombstone hides that was read again under an id that
// is not known here.
func (p *printer) read(id firn.EntryID) (target firn.EntryID, tombstone bool) {
	if p.to.Told == nil || p.find(id) >= 0 {
		return "", false
	}
	for t := range p.to.Told(id) {
		b, ok := t.Entry.Body.(*firn.Tombstone)
		if !ok {
			return "", false
		}
		return b.Target, true
	}
	return "", false
}

// hide deletes the line of an entry. If the line says more than that, all since
// then is said again without it.
func (p *printer) hide(dst []byte, e firn.Entry, target firn.EntryID) []byte {
	i := p.find(target)
	if i < 0 {
		if uuid := lineOf(target); dialect.IsUUID(uuid) { // compacted, but maybe not for Cersei
			return p.deleteLine(dst, uuid)
		}
		return dst
	}
	uuid := p.said[i].uuid
	if uuid == "" {
		p.lose(e, limitHiding, true)
		return dst
	}
	shared := slices.IndexFunc(p.said, func(s said) bool { return s.uuid == uuid })
	if shared < i || i+1 < len(p.said) && p.said[i+1].uuid == uuid {
		return p.again(dst, e, p.said[shared].id, change{target, true})
	}
	p.said = slices.Delete(p.said, i, i+1)
	return p.deleteLine(dst, uuid)
}
