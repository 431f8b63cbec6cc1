package cersei

import (
	"slices"

	"firn.dev"
)

// node is what the printer remembers of an entry.
type node struct {
	id firn.EntryID
	// key is what it is known by, uuid that of its line as it is now; empty if
	// a model never sees it.
	key, uuid string
	kind      kind
	// ref is the key of what a tombstone hides, or a compaction keeps first.
	ref   string
	state state
}

// kind is what an entry is for those around it.
type kind byte

const (
	isOther kind = iota
	isTombstone
	isCompaction
)

// state is what became of an entry's line. One that is covered was deleted
// right behind a compaction, which firn reads as told by the compaction; one
// that is dead was deleted for itself.
type state byte

const (
	live state = iota
	covered
	dead
)

// compaction says a compaction: Cersei skips lines that are summaries, so it is
// a message that has the summary, and tombstones delete what it stands for.
func (p *printer) compaction(dst []byte, e firn.Entry, c *firn.Compaction) []byte {
	n := node{id: e.ID, key: p.key(e.ID), uuid: p.key(e.ID), kind: isCompaction, ref: p.first(c.FirstKept), state: dead}
	p.nodes = append(p.nodes, n)
	if p.bare {
		p.lose(e, limitCompaction, false)
		return p.summary(dst, e, c, n.uuid, "")
	}
	return p.settle(dst, e)
}

// tombstone says that something is hidden, or no longer so.
func (p *printer) tombstone(dst []byte, e firn.Entry, b *firn.Tombstone) []byte {
	target := p.resolve(b.Target)
	i := p.find(target)
	p.nodes = append(p.nodes, node{id: e.ID, key: p.key(e.ID), kind: isTombstone, ref: target})
	mute := i >= 0 && p.nodes[i].kind == isOther && p.nodes[i].uuid == ""
	if p.bare || mute || string(b.Target) == string(p.to.Session) {
		p.lose(e, limitHiding, true)
		return dst
	}
	return p.settle(dst, e)
}

// find returns where the entry of a key is, or -1.
func (p *printer) find(key string) int {
	for i, n := range slices.Backward(p.nodes) {
		if n.key == key {
			return i
		}
	}
	return -1
}

// resolve finds the key of an entry. A tombstone that was written here and read
// again has an id that is not known: what it hides tells which one it is.
func (p *printer) resolve(id firn.EntryID) string {
	key := p.first(id)
	if p.to.Told == nil || p.find(key) >= 0 {
		return key
	}
	for t := range p.to.Told(id) {
		b, ok := t.Entry.Body.(*firn.Tombstone)
		if !ok {
			break
		}
		target := p.first(b.Target)
		for _, n := range slices.Backward(p.nodes) {
			if n.kind == isTombstone && n.ref == target {
				return n.key
			}
		}
		break
	}
	return key
}

// view is what a model sees of the nodes.
type view struct {
	seen   []bool
	hidden map[string]bool
	// kept is where that begins, last the compaction that counts, or -1.
	kept, last int
}

// look finds what a model sees.
func look(nodes []node) view {
	v := view{seen: make([]bool, len(nodes)), hidden: make(map[string]bool), last: -1}
	for _, n := range slices.Backward(nodes) { // what hides a tombstone stands behind it
		if n.kind == isTombstone && !v.hidden[n.key] {
			v.hidden[n.ref] = true
		}
	}
	for i, n := range nodes {
		if n.kind == isCompaction && !v.hidden[n.key] {
			v.last = i
		}
	}
	if v.last >= 0 {
		first := slices.IndexFunc(nodes[:v.last], func(n node) bool { return n.key == nodes[v.last].ref })
		if v.kept = first; first < 0 {
			v.kept = v.last
		}
	}
	for i, n := range nodes {
		v.seen[i] = i >= v.kept && n.uuid != "" && !v.hidden[n.key] && (n.kind != isCompaction || i == v.last)
	}
	return v
}

// settle makes the file say what is so since entry e, the last node: it deletes
// what is no longer to be seen and says what is to be seen again. Nothing that
// was deleted comes back in Cersei, and things must be said in their order; so
// all that comes after the first one is said again, too.
func (p *printer) settle(dst []byte, e firn.Entry) []byte {
	last := len(p.nodes) - 1
	before, after := look(p.nodes[:last]), look(p.nodes)
	before.seen = append(before.seen, false)
	first := min(p.missing(before, after), p.torn(before, after))
	if c, ok := e.Body.(*firn.Compaction); ok && first == last {
		return p.compacted(dst, e, c, before, after)
	}
	var told map[string]firn.Entry
	if first <= last {
		told = p.contents(first, after, e)
		p.lose(e, limitRestoring, told == nil)
	}
	if told == nil {
		first = last + 1
	}
	return p.resay(p.deleteAll(dst, before, after, first), e.ID, after, first, told)
}

// missing is the first node that is to be seen and has no line; behind the last
// one if there is none.
func (p *printer) missing(before, after view) int {
	for i, n := range p.nodes {
		if after.seen[i] && !before.seen[i] && n.state != live {
			return i
		}
	}
	return len(p.nodes)
}

// torn is the first node that is still to be seen and shares its line with one
// that is not; behind the last one if there is none.
func (p *printer) torn(before, after view) int {
	gone := make(map[string]bool)
	for i, n := range p.nodes {
		if before.seen[i] && !after.seen[i] && n.state == live {
			gone[n.uuid] = true
		}
	}
	for i, n := range p.nodes {
		if after.seen[i] && n.state == live && gone[n.uuid] {
			return i
		}
	}
	return len(p.nodes)
}

// compacted writes a new compaction, and behind it deletes what it stands for.
func (p *printer) compacted(dst []byte, e firn.Entry, c *firn.Compaction, before, after view) []byte {
	last := len(p.nodes) - 1
	kept := p.keptBy(after)
	if kept != "" {
		p.lose(e, limitCompaction, false)
	}
	dst = p.summary(dst, e, c, p.nodes[last].uuid, kept)
	p.nodes[last].state = live
	done := make(map[string]bool)
	for i, n := range p.nodes {
		if !before.seen[i] || after.seen[i] || n.state != live {
			continue
		}
		p.nodes[i].state = covered
		if !done[n.uuid] {
			dst = p.deleteLine(dst, n.uuid)
		}
		done[n.uuid] = true
	}
	return dst
}

// keptBy is the uuid of the first line that the compaction keeps; empty if it
// keeps none.
func (p *printer) keptBy(v view) string {
	for i := v.kept; i < v.last; i++ {
		if v.seen[i] {
			return p.nodes[i].uuid
		}
	}
	return ""
}

// deleteAll deletes what is no longer to be seen, and what is to be said again
// from first on. What a compaction covered is deleted for itself then, since
// that compaction may not count any more.
func (p *printer) deleteAll(dst []byte, before, after view, first int) []byte {
	done := make(map[string]bool)
	for i, n := range p.nodes {
		again := after.seen[i] && i >= first
		gone := before.seen[i] && !after.seen[i] && n.state == live || again && n.state != dead || after.hidden[n.key] && n.state == covered
		if n.uuid == "" || !gone {
			continue
		}
		p.nodes[i].state = dead
		if !done[n.uuid] {
			dst = p.deleteLine(dst, n.uuid)
		}
		done[n.uuid] = true
	}
	return dst
}

// contents reads again what is to be said again from first on; nil if it cannot
// be read.
func (p *printer) contents(first int, after view, e firn.Entry) map[string]firn.Entry {
	told := map[string]firn.Entry{p.key(e.ID): e}
	for _, id := range []firn.EntryID{p.nodes[first].id, firn.EntryID(p.nodes[first].uuid)} {
		if p.to.Told == nil || len(told) > 1 {
			break
		}
		for t := range p.to.Told(id) {
			told[p.first(t.Entry.ID)] = t.Entry
		}
	}
	for i, n := range p.nodes {
		if _, ok := told[n.key]; i >= first && after.seen[i] && !ok {
			return nil
		}
	}
	return told
}

// resay says all from first on that is to be seen, under uuids that entry by
// gives. What is lost of it was told before.
func (p *printer) resay(dst []byte, by firn.EntryID, after view, first int, told map[string]firn.Entry) []byte {
	lose := p.to.Lose
	p.to.Lose = nil
	for i := first; i < len(p.nodes); i++ {
		if !after.seen[i] {
			continue
		}
		n := &p.nodes[i]
		n.uuid, n.state = p.again(by, n.key), live
		p.firsts[n.uuid] = n.key
		e := told[n.key]
		if c, ok := e.Body.(*firn.Compaction); ok {
			dst = p.summary(dst, e, c, n.uuid, p.keptBy(after))
		} else {
			dst, _ = p.entry(dst, e, n.uuid)
		}
	}
	p.to.Lose = lose
	return dst
}

// again is the uuid of something that is said again because of an entry.
func (p *printer) again(by firn.EntryID, key string) string {
	return p.key(by + "/" + firn.EntryID(key))
}

// summary adds the message that a compaction is, with a note of what it keeps.
func (p *printer) summary(dst []byte, e firn.Entry, c *firn.Compaction, uuid, kept string) []byte {
	mark := []byte(`{"compaction":true`)
	if kept != "" {
		mark = appendText(mark, `,"first_kept":`, kept)
	}
	mark = appendNumber(mark, `,"tokens_before":`, c.TokensBefore)
	mark = append(mark, '}')
	text := firn.Text{Text: summaryBegin + c.Summary + summaryEnd}
	dst, _ = p.write(dst, e, utterance{kind: "user", parts: []firn.Part{text}, uuid: uuid, mark: string(mark)})
	return dst
}

// deleteLine adds a tombstone.
func (p *printer) deleteLine(dst []byte, uuid string) []byte {
	dst = appendText(dst, `{"type":"tombstone","deleted_uuid":`, uuid)
	dst = appendText(dst, `,"timestamp":`, stamp(p.time))
	return append(dst, "}\n"...)
}
