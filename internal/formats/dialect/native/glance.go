package native

import (
	"errors"
	"time"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Glance reads the type, ID, parent and target of a line. It stops after the last of these
// that the type of entry has, and checks the rest of the line only for ending like an
// object. Decode and rawjson.Split detect damage after that point.
//
// Of a duplicate member the first counts.
func (Dialect) Glance(line []byte) (firn.Glance, error) {
	if err := looksWhole(line); err != nil {
		return firn.Glance{}, corrupt("reading an entry", err)
	}
	g := glancer{r: rawjson.New(line)}
	g.read(false)
	if err := g.r.Err(); err != nil {
		return firn.Glance{}, corrupt("reading an entry", err)
	}
	return g.glance(), nil
}

// Time reads the time of a line if its type is known and the time is in its usual place:
// after the ID and the parent.
func (Dialect) Time(line []byte) (time.Time, bool) {
	g := glancer{r: rawjson.New(line)}
	if looksWhole(line) != nil || !g.r.Object() {
		return time.Time{}, false
	}
	for _, name := range []string{"type", "id", "parentId"} {
		if !g.r.Member() || string(g.r.Key()) != name {
			return time.Time{}, false
		}
		g.r.Skip()
	}
	if !g.r.Member() || string(g.r.Key()) != "timestamp" {
		return time.Time{}, false
	}
	text, _ := g.r.Bytes()
	return parseTime(text)
}

var errNotObject = errors.New("the line is not a JSON object")

// looksWhole checks the first and the last byte of a line.
func looksWhole(line []byte) error {
	first, last := 0, len(line)-1
	for first < len(line) && isSpace(line[first]) {
		first++
	}
	for last >= 0 && isSpace(line[last]) {
		last--
	}
	if first >= last || line[first] != '{' || line[last] != '}' {
		return errNotObject
	}
	return nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// glancer reads the members common to all entries and those that refer to other entries.
// The texts are slices of the line; nil if the member is absent or not a string.
type glancer struct {
	r    rawjson.Reader
	seen member

	kind, id, parent, time []byte
	// target and kept are targetId and firstKeptEntryId.
	target, kept []byte
	// root is set if the parent is null.
	root bool
}

// read reads members until all the needed ones were seen or, with toEnd, to the end of the
// object.
func (g *glancer) read(toEnd bool) {
	if !g.r.Object() {
		g.r.Skip()
		return
	}
	for g.r.Member() {
		switch string(g.r.Key()) {
		case "type":
			g.first(hasType, &g.kind)
		case "id":
			g.first(hasID, &g.id)
		case "parentId":
			g.root = g.root || g.seen&hasParent == 0 && g.r.Kind() == rawjson.Null
			g.first(hasParent, &g.parent)
		case "targetId":
			g.first(hasTarget, &g.target)
		case "firstKeptEntryId":
			g.first(hasKept, &g.kept)
		case "timestamp":
			g.first(hasTime, &g.time)
		default:
			g.r.Skip()
		}
		if !toEnd && g.seen&hasType != 0 && g.seen&needs(g.kind) == needs(g.kind) {
			return
		}
	}
}

// first reads a string member of which only the first occurrence counts.
func (g *glancer) first(m member, field *[]byte) {
	if g.seen&m == 0 {
		*field, _ = g.r.Bytes()
	}
	if g.seen&m != 0 || *field == nil {
		g.r.Skip()
	}
	g.seen |= m
}

// needs returns the members that a glance at this type of entry needs.
func needs(kind []byte) member {
	switch firn.Kind(kind) {
	case firn.KindHeader:
		return 0
	case firn.KindTombstone, firn.KindLabel:
		return hasID | hasParent | hasTarget
	case firn.KindCompaction:
		return hasID | hasParent | hasKept
	}
	return hasID | hasParent
}

// glance returns the result. Its strings share one allocation.
func (g *glancer) glance() firn.Glance {
	kind := knownKind(g.kind)
	if kind == firn.KindHeader {
		return firn.Glance{Kind: kind} // its ID is the session's, and it is not in the tree
	}
	parent, target := g.parent, []byte(nil)
	if string(parent) == string(firn.Root) {
		parent = nil
	}
	switch kind {
	case firn.KindTombstone, firn.KindLabel:
		target = g.target
	case firn.KindCompaction:
		target = g.kept
	}
	var buf [128]byte
	all := string(append(append(append(buf[:0], g.id...), parent...), target...))
	i, j := len(g.id), len(g.id)+len(parent)
	return firn.Glance{
		Kind:     kind,
		ID:       firn.EntryID(all[:i]),
		Parent:   firn.EntryID(all[i:j]),
		NoParent: g.parent == nil && !g.root,
		Target:   firn.EntryID(all[j:]),
	}
}

// knownKind returns the constant for a known type.
func knownKind(kind []byte) firn.Kind {
	switch firn.Kind(kind) {
	case firn.KindMessage:
		return firn.KindMessage
	case firn.KindHeader:
		return firn.KindHeader
	case firn.KindCompaction:
		return firn.KindCompaction
	case firn.KindBranchSummary:
		return firn.KindBranchSummary
	case firn.KindTombstone:
		return firn.KindTombstone
	case firn.KindLabel:
		return firn.KindLabel
	case firn.KindTitle:
		return firn.KindTitle
	case firn.KindModelChange:
		return firn.KindModelChange
	case firn.KindThinkingChange:
		return firn.KindThinkingChange
	case firn.KindCustom:
		return firn.KindCustom
	case firn.KindCustomMessage:
		return firn.KindCustomMessage
	case firn.KindHead:
		return firn.KindHead
	case firn.KindErased:
		return firn.KindErased
	}
	return firn.Kind(kind)
}
