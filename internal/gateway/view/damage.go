package view

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/wire"
)

// mostDamage bounds how many damaged places are listed one by one: between two
// entries of a page, and in a list. The last one stands for all after it.
const mostDamage = 100

// isNamed reports whether a gap is damage that readers are told about. A last
// line that is being written is none, nor is what older formats leave out.
func isReported(g *firn.Gap) bool {
	return !g.Unfinished() && g.Kind != firn.GapBOM && g.Kind != firn.GapNoParent && g.Kind != firn.GapErased
}

// damage describes a gap in the words of the protocol.
func (v *View) damage(ctx context.Context, id firn.ID, g *firn.Gap) wire.Damage {
	d := wire.Damage{Kind: g.Kind, At: g.At, Next: max(g.At, g.Next), Entry: g.Entry, Lost: g.Lost(), Reason: reasonOf(g)}
	v.locate(ctx, id, &d)
	return d
}

// locate fills in the part and the bytes. The position before the first line of a
// part is the end of the part before it.
func (v *View) locate(ctx context.Context, id firn.ID, d *wire.Damage) {
	placer, ok := store.As[store.Placer](v.Store)
	if !ok {
		return
	}
	d.Part, d.Offset = placer.Place(ctx, id, d.At)
	part, end := placer.Place(ctx, id, d.Next)
	if part != d.Part {
		d.Part, d.Offset = part, 0
	}
	d.Bytes = end - d.Offset
}

// reasonOf says what was found, in the words of users.
func reasonOf(g *firn.Gap) string {
	switch g.Kind {
	case firn.GapNUL:
		return "zero bytes"
	case firn.GapTorn, firn.GapDamaged:
		return "invalid JSON: " + g.Detail
	}
	return g.Detail
}

// badText returns the gap of an entry whose line has bytes that are not UTF-8; nil
// if all is well.
func badText(rec *firn.Record) *firn.Gap {
	if utf8.Valid(rec.Line()) {
		return nil
	}
	return &firn.Gap{Kind: firn.GapBadText, At: rec.At, Next: rec.Next, Entry: rec.Glance.ID, Detail: "each is read as U+FFFD"}
}

// join adds damage to a list that is in the order of the file, or in its reverse.
// Bytes that follow each other are one place.
func appendDamage(list []wire.Damage, d wire.Damage) []wire.Damage {
	n := len(list)
	if n == 0 || !adjacent(&list[n-1], &d) && n < mostDamage {
		return append(list, d)
	}
	last := &list[n-1]
	if !adjacent(last, &d) {
		last.Places = last.Count() + d.Count()
		last.At, last.Next = min(last.At, d.At), max(last.Next, d.Next)
		return list
	}
	mergeDamage(last, &d)
	return list
}

// touches reports whether two places that were not read follow each other.
func adjacent(a, b *wire.Damage) bool {
	return a.Lost && b.Lost && a.Entry == "" && b.Entry == "" && (a.Next == b.At || b.Next == a.At)
}

// unite makes one place of two that touch. Zero bytes explain the rest.
func mergeDamage(a, b *wire.Damage) {
	first, second := *a, *b
	if second.At < first.At {
		first, second = second, first
	}
	merged := first
	if second.Kind == firn.GapNUL {
		merged.Kind, merged.Reason = second.Kind, second.Reason
	}
	merged.Next = second.Next
	if merged.Part != second.Part {
		merged.Bytes = 0
	} else {
		merged.Bytes = second.Offset + second.Bytes - first.Offset
	}
	*a = merged
}

// damages describes gaps that are in the order of the file. An entry without its
// parent right behind what could not be read is not named for itself: its parent
// is what was lost.
func (v *View) damages(ctx context.Context, id firn.ID, gaps []firn.Gap) []wire.Damage {
	var list []wire.Damage
	for i := range gaps {
		g := &gaps[i]
		if !isReported(g) {
			continue
		}
		if n := len(list); g.Kind == firn.GapDangling && n > 0 && list[n-1].Lost && list[n-1].Next == g.At {
			continue
		}
		list = appendDamage(list, v.damage(ctx, id, g))
	}
	return list
}

// CountLost counts the places of which content could not be read.
func CountLost(list []wire.Damage) int {
	n := 0
	for i := range list {
		if list[i].Lost {
			n += list[i].Count()
		}
	}
	return n
}

// gapEntry tells of a place where nothing could be read.
func (r *entryReader) gapEntry(ctx context.Context, rec *firn.Record) wire.Entry {
	e := wire.Entry{At: rec.At, Next: rec.Next, Gap: rec.Gap.Error()}
	if isReported(rec.Gap) {
		e.Damage = new(r.v.damage(ctx, r.id, rec.Gap))
	}
	return e
}

// joins adds a gap to the last one of the page if they touch.
func (r *entryReader) mergeGap(ctx context.Context, rec *firn.Record) bool {
	n := len(r.page.Items)
	if rec.Gap == nil || n == 0 || !isReported(rec.Gap) {
		return false
	}
	last := &r.page.Items[n-1]
	d := r.v.damage(ctx, r.id, rec.Gap)
	if last.Damage == nil || last.Gap == "" || !adjacent(last.Damage, &d) {
		return false
	}
	mergeDamage(last.Damage, &d)
	last.At, last.Next = last.Damage.At, last.Damage.Next
	return true
}

// gapsOnPath puts what could not be read between two entries of a branch on the
// page, newest first.
func (r *entryReader) gapsOnPath(ctx context.Context, gaps []firn.Gap) {
	var list []wire.Damage
	for i := range gaps {
		if isReported(&gaps[i]) {
			list = appendDamage(list, r.v.damage(ctx, r.id, &gaps[i]))
		}
	}
	r.addDamage(list)
}

// weave puts damage on the page, between its entries. It does not count as
// entries.
func (r *entryReader) addDamage(list []wire.Damage) {
	for i := range list {
		d := list[i]
		e := wire.Entry{At: d.At, Next: d.Next, N: d.N, Gap: d.Reason, Damage: &d}
		r.page.Items = append(r.page.Items, e)
	}
}

// number gives the damage of the page the numbers of its entries, and where there
// are none, of the entries before it.
func (r *entryReader) number(ctx context.Context) error {
	for i := range r.page.Items {
		e := &r.page.Items[i]
		if e.Damage == nil {
			continue
		}
		if e.Damage.N = e.N; e.N > 0 || e.Damage.After > 0 || e.Damage.At == store.Start {
			continue
		}
		n, known, err := r.v.numbers.before(ctx, r.v.Store, r.id, e.Damage.At)
		if err != nil {
			return err
		}
		if known {
			e.Damage.After = n
		}
	}
	for i := range r.page.Items { // one sentence, wherever it is shown
		if e := &r.page.Items[i]; e.Damage != nil && e.Gap != "" {
			e.Gap = e.Damage.String()
		}
	}
	return nil
}

// linked notes which entries of the page are not linked as they were written, as
// far as the shape of the session is known or the session is small.
func (r *entryReader) markMisplaced(ctx context.Context) error {
	shape, done, err := r.v.knownShape(ctx, r.id)
	if err != nil {
		return err
	}
	if shape == nil {
		if info, err := r.v.Info(ctx, r.id); err != nil || info.Bytes > smallSession {
			return nil // a session that is gone meanwhile is told by others
		}
		if shape, done, err = r.v.Shape(ctx, r.id); err != nil {
			return err
		}
	}
	defer done()
	faults := shape.outline().faults
	if len(faults) == 0 {
		return nil
	}
	for i := range r.page.Items {
		e := &r.page.Items[i]
		if g, ok := faults[e.At]; ok && e.Damage == nil {
			e.Damage = new(r.v.damage(ctx, r.id, &g))
			e.Damage.Next = max(e.Damage.Next, e.Next)
			r.v.locate(ctx, r.id, e.Damage)
		}
	}
	return nil
}

// misplaced are the faults of the tree that readers are told about, by the place
// of their entry.
func (r *reading) misplaced() map[firn.Pos]firn.Gap {
	faults := make(map[firn.Pos]firn.Gap)
	for _, g := range r.Tree.Gaps() {
		if isReported(&g) && (g.Kind != firn.GapDangling || !r.explained(&g)) {
			faults[g.At] = g
		}
	}
	return faults
}

// explained reports whether it is known why an entry has no parent before it: the
// parent is what could not be read right before the entry, or firn repair has
// added an entry that stands in for it.
func (r *reading) explained(g *firn.Gap) bool {
	i := sort.Search(len(r.gaps), func(i int) bool { return r.gaps[i].Next >= g.At })
	if i < len(r.gaps) && r.gaps[i].Next == g.At {
		return true
	}
	n := sort.Search(r.Tree.Len(), func(n int) bool { return r.Tree.Node(n).At >= g.At })
	if n == r.Tree.Len() {
		return false
	}
	parent := r.Tree.Find(r.Tree.Node(n).Parent)
	return parent > n && r.Tree.Node(parent).Kind == firn.KindCustom
}

// miss remembers a place that could not be read. Places that follow each other
// are one.
func (r *reading) addGap(g *firn.Gap) {
	if !isReported(g) {
		return
	}
	if n := len(r.gaps); n > 0 && r.gaps[n-1].Next == g.At && g.Lost() && r.gaps[n-1].Lost() {
		if g.Kind == firn.GapNUL {
			r.gaps[n-1].Kind, r.gaps[n-1].Detail = g.Kind, g.Detail
		}
		r.gaps[n-1].Next = g.Next
		return
	}
	r.gaps = append(r.gaps, *g)
	r.size += inTree + int64(len(g.Detail))
}

// between describes what could not be read between two positions, with the number
// of the entry before each.
func (s *Shape) between(ctx context.Context, v *View, low, high firn.Pos) []wire.Damage {
	first := sort.Search(len(s.gaps), func(i int) bool { return s.gaps[i].At >= low })
	last := sort.Search(len(s.gaps), func(i int) bool { return s.gaps[i].At >= high })
	if first >= last {
		return nil
	}
	list := v.damages(ctx, s.id, s.gaps[first:last])
	for i := range list {
		list[i].After = s.before(list[i].At)
	}
	return list
}

// before is the number of the entry before a position; zero if not known.
func (s *Shape) before(at firn.Pos) int {
	if s.base < 0 {
		return 0
	}
	return s.base + sort.Search(s.Tree.Len(), func(n int) bool { return s.Tree.Node(n).At >= at })
}

// liveDamage lists the faults of the live part, oldest first, with their numbers.
// Entries are counted only if there are any.
func (v *View) liveDamage(ctx context.Context, id firn.ID, p *prospect) ([]wire.Damage, error) {
	if len(p.path.Gaps) == 0 {
		return nil, nil
	}
	l := &live{prospect: p, nodes: slices.Clone(p.read), base: -1}
	slices.Reverse(l.nodes)
	n, known, err := v.numbers.before(ctx, v.Store, id, p.path.Start)
	if err != nil {
		return nil, fmt.Errorf("count the entries of session %s: %w", id, err)
	}
	if known {
		l.base = n
	}
	return l.damage(ctx, v, id), nil
}

// Damage lists what is damaged in all of a session, oldest first. It reads and
// decodes every entry, and holds the shape of the session meanwhile.
func (v *View) Damage(ctx context.Context, id firn.ID) (wire.Page[wire.Damage], error) {
	page := wire.Page[wire.Damage]{Items: []wire.Damage{}}
	if err := v.MustBe(ctx, id); err != nil {
		return page, err
	}
	var gaps []firn.Gap
	var tree firn.Tree
	for rec, err := range v.Store.Read(ctx, id, store.Start) {
		if err != nil {
			return page, fmt.Errorf("read session %s: %w", id, err)
		}
		if gap := faultOf(&rec); gap != nil && isReported(gap) {
			gaps = append(gaps, *gap)
		}
		if rec.Gap == nil {
			tree.Add(rec.At, rec.Glance)
		}
	}
	r := reading{Tree: tree, gaps: gaps}
	for _, g := range r.misplaced() {
		gaps = append(gaps, g)
	}
	slices.SortStableFunc(gaps, func(a, b firn.Gap) int { return comparePos(a.At, b.At) })
	page.Items = append(page.Items, v.damages(ctx, id, gaps)...)
	for i := range page.Items {
		d := &page.Items[i]
		n := sort.Search(tree.Len(), func(n int) bool { return tree.Node(n).At >= d.At })
		if d.After = n; n < tree.Len() && tree.Node(n).At == d.At && d.Entry != "" {
			d.N, d.After = n+1, 0
		}
	}
	page.Total = len(page.Items)
	return page, nil
}

// faultOf is what is wrong with a record; nil if nothing is.
func faultOf(rec *firn.Record) *firn.Gap {
	if rec.Gap != nil {
		return rec.Gap
	}
	if _, err := rec.Entry(); err != nil {
		return undecoded(rec, err)
	}
	return badText(rec)
}

// damage lists the faults of the live part, oldest first.
func (l *live) damage(ctx context.Context, v *View, id firn.ID) []wire.Damage {
	list := v.damages(ctx, id, l.path.Gaps)
	for i := range list {
		n, found := l.at(list[i].At)
		switch {
		case l.base < 0:
		case found:
			list[i].N = l.number(n)
		default:
			list[i].After = l.base + n
		}
	}
	return list
}

// at finds the entry at a position among those that were read: its place, or the
// one it would have.
func (l *live) at(pos firn.Pos) (n int, found bool) {
	return slices.BinarySearchFunc(l.nodes, pos, func(n node, at firn.Pos) int { return comparePos(n.at, at) })
}

// amid lists what could not be read of the live part by its place among what is
// sent: before which of the entries it stands, and last what stands behind all.
func (l *live) damagePlaces(ctx context.Context, v *View, id firn.ID, order []int) [][]wire.Damage {
	places := make([][]wire.Damage, len(order)+1)
	for _, d := range l.damage(ctx, v, id) {
		if _, isEntry := l.at(d.At); isEntry {
			continue // the entry itself says so
		}
		k := slices.IndexFunc(order, func(i int) bool {
			node := &l.nodes[l.branch[i]]
			isSummary := l.path.Compaction != nil && l.path.Compaction.ID == node.glance.ID
			return !isSummary && node.at >= d.At
		})
		if k < 0 {
			k = len(order)
		}
		places[k] = append(places[k], d)
	}
	return places
}
