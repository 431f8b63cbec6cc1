package cersei

import (
	"slices"

	"firn"
)

// change is something that is to be hidden, or seen again.
type change struct {
	target firn.EntryID
	hide   bool
}

// again says all since an entry once more, as it is to be seen after the change
// that tombstone e makes, and deletes what was said. Nothing that was deleted
// comes back in Cersei, and what is said again must stand in its order.
func (p *printer) again(dst []byte, e firn.Entry, since firn.EntryID, to change) []byte {
	tail := p.tail(since)
	if len(tail) == 0 {
		p.lose(e, limitRestoring, true)
		return dst
	}
	start := p.begins(tail)
	wanted := p.visible(tail, to, start)
	if p.same(wanted, spoken(p.said[start:])) {
		return dst // hidden by another tombstone, or compacted
	}
	p.lose(e, limitRestoring, false)
	gone := slices.Clone(p.said[start:])
	p.said = p.said[:start]
	dst = p.delete(dst, gone)
	return p.resay(dst, wanted, e.ID)
}

// resay says entries once more, under uuids that tombstone by gives them. What
// is lost of them was told before.
func (p *printer) resay(dst []byte, all []firn.Entry, by firn.EntryID) []byte {
	lose := p.to.Lose
	p.to.Lose = nil
	for _, e := range all {
		uuid, heard := p.key(by+"/"+e.ID), true
		if c, ok := e.Body.(*firn.Compaction); ok {
			dst = p.summary(dst, e, c, uuid)
		} else {
			dst, heard = p.entry(dst, e, uuid)
		}
		if heard {
			p.say(e.ID, uuid)
		}
	}
	p.to.Lose = lose
	return dst
}

// tail is what the transcript says since an entry; nothing if that cannot be
// told.
func (p *printer) tail(since firn.EntryID) (tail []firn.Entry) {
	if p.to.Told == nil {
		return nil
	}
	for t := range p.to.Told(since) {
		tail = append(tail, t.Entry)
	}
	return tail
}

// begins is where among what counts the tail begins.
func (p *printer) begins(tail []firn.Entry) int {
	in := make(map[string]bool, len(tail))
	for _, e := range tail {
		in[p.key(e.ID)] = true
	}
	start := len(p.said)
	for start > 0 && (in[p.said[start-1].key] || in[p.said[start-1].uuid]) {
		start--
	}
	return start
}

// visible picks what a model would see of the tail of a transcript after a
// change; so many entries before it are said and stay.
func (p *printer) visible(tail []firn.Entry, to change, before int) (seen []firn.Entry) {
	hidden := p.hidden(tail, to)
	last := -1 // the compaction that counts
	for i, e := range tail {
		if _, compaction := e.Body.(*firn.Compaction); compaction && !hidden[p.key(e.ID)] {
			last = i
		}
	}
	first := p.firstKept(tail, last, before)
	for i, e := range tail {
		_, compaction := e.Body.(*firn.Compaction)
		if i >= first && isSaid(e.Body) && !hidden[p.key(e.ID)] && (!compaction || i == last) {
			seen = append(seen, e)
		}
	}
	return seen
}

// hidden finds what is hidden after a change, by its key. What two tombstones
// hide, one of them may stop to hide.
func (p *printer) hidden(tail []firn.Entry, to change) map[string]bool {
	hidden := make(map[string]bool)
	target, twice := p.key(to.target), false
	for _, e := range slices.Backward(tail) { // what hides a tombstone stands behind it
		b, ok := e.Body.(*firn.Tombstone)
		if !ok || hidden[p.key(e.ID)] {
			continue
		}
		key := p.key(b.Target)
		twice = twice || key == target && hidden[key]
		hidden[key] = true
	}
	hidden[target] = to.hide || twice
	return hidden
}

// firstKept is where in a tail begins what the compaction there keeps.
func (p *printer) firstKept(tail []firn.Entry, compaction, before int) int {
	if compaction < 0 {
		return 0
	}
	kept := tail[compaction].Body.(*firn.Compaction).FirstKept
	key := p.key(kept)
	if i := slices.IndexFunc(tail, func(e firn.Entry) bool { return p.key(e.ID) == key }); i >= 0 {
		return min(i, compaction)
	}
	if i := p.find(kept); i >= 0 && i < before {
		return 0
	}
	return compaction
}

// isSaid reports whether a model sees such a body.
func isSaid(b firn.Body) bool {
	switch b.(type) {
	case *firn.Message, *firn.CustomMessage, *firn.BranchSummary, *firn.Compaction:
		return true
	}
	return false
}

// same reports whether what is wanted is what there is.
func (p *printer) same(wanted []firn.Entry, there []said) bool {
	return slices.EqualFunc(wanted, there, func(e firn.Entry, s said) bool { return s.is(p.key(e.ID)) })
}

// repeatTombstone takes over from the lines that a tombstone was said in: the
// uuids that are gone, and those under which entries were said again.
func (p *printer) repeatTombstone(e firn.Entry, b *firn.Tombstone, lines [][]byte) {
	p.hides[p.key(e.ID)] = b.Target
	gone := make(map[string]bool)
	var news []string
	for _, raw := range lines {
		l, err := readLine(raw)
		if err != nil {
			continue
		}
		if l.deleted != "" {
			gone[l.deleted] = true
		} else if _, message := roles[l.kind]; message {
			news = append(news, l.uuid)
		}
	}
	target, hide := p.effect(b.Target)
	key := p.key(target)
	p.said = slices.DeleteFunc(p.said, func(s said) bool { return gone[s.uuid] || hide && s.is(key) })
	first, compaction := p.covers[key]
	if !compaction {
		first = target
	}
	if len(news) == 0 {
		return
	}
	for _, t := range p.tail(first) {
		if uuid := p.key(e.ID + "/" + t.ID); slices.Contains(news, uuid) {
			p.say(t.ID, uuid)
		}
	}
}
