package cersei

import (
	"firn.dev"
	"firn.dev/internal/formats/dialect"
)

// Repeat records lines that are already in the file.
func (p *printer) Repeat(e firn.Entry, lines [][]byte) {
	if !e.Time.IsZero() {
		p.time = e.Time
	}
	if c, ok := e.Body.(*firn.Custom); ok && len(lines) == 0 && dialect.IsLine(dialect.Cersei, c) {
		lines = [][]byte{c.Data}
	}
	r := p.read(lines)
	n := node{id: e.ID, key: p.originalKey(e.ID), uuid: r.uuid(e.ID)}
	switch b := e.Body.(type) {
	case nil, *firn.Header:
		return
	case *firn.Tombstone:
		n.kind, n.ref, n.uuid = isTombstone, p.resolve(b.Target), ""
		p.repeatTombstone(e.ID, n.ref, r)
	case *firn.Compaction:
		n.kind, n.ref = isCompaction, p.originalKey(b.FirstKept)
		p.setState(r.deleted, covered)
	case *firn.Message:
	default:
		p.setState(r.deleted, covered)
		if len(r.messages) == 0 {
			n.uuid = ""
		}
	}
	p.nodes = append(p.nodes, n)
}

// reading is the content of lines.
type reading struct {
	// messages are the uuids of messages and summaries, deleted those named by tombstones.
	messages []string
	deleted  map[string]bool
}

// read decodes lines.
func (p *printer) read(lines [][]byte) (r reading) {
	r.deleted = make(map[string]bool)
	for _, raw := range lines {
		l, err := readLine(raw)
		if err != nil {
			continue
		}
		p.observeLine(&l)
		_, message := roles[l.kind]
		switch {
		case l.deleted != "":
			r.deleted[l.deleted] = true
		case (message || l.kind == kindSummary) && l.uuid != "" && !l.sidechain:
			r.messages = append(r.messages, l.uuid)
		}
	}
	return r
}

// uuid returns the uuid of an entry in the lines. If a line makes several entries, only one
// of them may carry it; the IDs of the others contain its uuid.
func (r reading) uuid(id firn.EntryID) string {
	own := string(id)
	if len(own) > 36 && dialect.IsUUID(own[:36]) {
		own = own[:36]
	}
	if len(r.messages) == 0 {
		return own
	}
	for _, uuid := range r.messages {
		if uuid == own {
			return own
		}
	}
	return r.messages[len(r.messages)-1]
}

// setState sets the state of the entries with these uuids.
func (p *printer) setState(uuids map[string]bool, s state) {
	if len(uuids) == 0 {
		return
	}
	for i, n := range p.nodes {
		if n.uuid != "" && uuids[n.uuid] {
			p.nodes[i].state = s
		}
	}
}

// repeatTombstone records the lines of a tombstone: the deleted and the rewritten ones.
func (p *printer) repeatTombstone(id firn.EntryID, target string, r reading) {
	p.setState(r.deleted, dead)
	for i, n := range p.nodes {
		if len(r.messages) == 0 && n.key == target {
			p.nodes[i].state = dead
		}
		for _, uuid := range r.messages {
			if uuid == p.copyUUID(id, n.key) {
				p.nodes[i].uuid, p.nodes[i].state = uuid, live
				p.firsts[uuid] = n.key
			}
		}
	}
}
