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

// mostDamage is the maximum number of damaged places listed separately, between two entries
// of a page and in a list. The last one represents all that follow.
const mostDamage = 100

// isReported reports whether a gap is damage that readers should see. An unfinished last
// line and known omissions of older formats are not.
func isReported(g *firn.Gap) bool {
	return !g.Unfinished() && g.Kind != firn.GapBOM && g.Kind != firn.GapNoParent && g.Kind != firn.GapErased
}

// damage converts a gap to the protocol.
func (v *View) damage(ctx context.Context, id firn.ID, g *firn.Gap) wire.Damage {
	d := wire.Damage{Kind: g.Kind, At: g.At, Next: max(g.At, g.Next), Entry: g.Entry, Lost: g.Lost(), Reason: reasonOf(g)}
	v.locate(ctx, id, &d)
	return d
}

// locate sets the part and the byte range. The position before the first line of a part is
// the end of the previous part.
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

// reasonOf describes a gap for users.
func reasonOf(g *firn.Gap) string {
	switch g.Kind {
	case firn.GapNUL:
		return "zero bytes"
	case firn.GapTorn, firn.GapDamaged:
		return "invalid JSON: " + g.Detail
	}
	return g.Detail
}

// badText returns the gap of an entry whose line is not valid UTF-8, or nil.
func badText(rec *firn.Record) *firn.Gap {
	if utf8.Valid(rec.Line()) {
		return nil
	}
	return &firn.Gap{Kind: firn.GapBadText, At: rec.At, Next: rec.Next, Entry: rec.Glance.ID, Detail: "each is read as U+FFFD"}
}

// appendDamage appends damage to a list in file order or in reverse. Adjacent places are
// merged.
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

// adjacent reports whether two unreadable places follow each other.
func adjacent(a, b *wire.Damage) bool {
	return a.Lost && b.Lost && a.Entry == "" && b.Entry == "" && (a.Next == b.At || b.Next == a.At)
}

// mergeDamage merges two adjacent places. Zero bytes take precedence as the reason.
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

// damages describes gaps in file order. An entry with a missing parent directly after an
// unreadable place is not listed: that place was its parent.
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

// CountLosses returns the number of places with lost content.
func CountLosses(list []wire.Damage) int {
	n := 0
	for i := range list {
		if list[i].Lost {
			n += list[i].Count()
		}
	}
	return n
}

// gapEntry returns the page item of an unreadable place.
func (r *entryReader) gapEntry(ctx context.Context, rec *firn.Record) wire.Entry {
	e := wire.Entry{At: rec.At, Next: rec.Next, Gap: rec.Gap.Error()}
	if isReported(rec.Gap) {
		e.Damage = new(r.v.damage(ctx, r.id, rec.Gap))
	}
	return e
}

// mergeGap merges a gap into the last item of the page if they are adjacent.
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

// gapsOnPath adds the unreadable places between two entries of a branch to the page, newest
// first.
func (r *entryReader) gapsOnPath(ctx context.Context, gaps []firn.Gap) {
	var list []wire.Damage
	for i := range gaps {
		if isReported(&gaps[i]) {
			list = appendDamage(list, r.v.damage(ctx, r.id, &gaps[i]))
		}
	}
	r.addDamage(list)
}

// addDamage adds damage to the page, between its entries. It does not count toward the page
// size.
func (r *entryReader) addDamage(list []wire.Damage) {
	for i := range list {
		d := list[i]
		e := wire.Entry{At: d.At, Next: d.Next, N: d.N, Gap: d.Reason, Damage: &d}
		r.page.Items = append(r.page.Items, e)
	}
}

// number sets the entry numbers of the page's damage: that of the damaged entry, or of the
// entry before it.
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
	for i := range r.page.Items { // the same sentence everywhere
		if e := &r.page.Items[i]; e.Damage != nil && e.Gap != "" {
			e.Gap = e.Damage.String()
		}
	}
	return nil
}

// markMisplaced marks the entries of the page whose links are broken, if the shape of the
// session is known or the session is small.
func (r *entryReader) markMisplaced(ctx context.Context) error {
	shape, done, err := (shaper{r.v}).knownShape(ctx, r.id)
	if err != nil {
		return err
	}
	if shape == nil {
		if info, err := r.v.Info(ctx, r.id); err != nil || info.Bytes > smallSession {
			return nil // a session removed in the meantime is reported elsewhere
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

// misplaced returns the reportable faults of the tree by position of the entry.
func (r *reading) misplaced() map[firn.Pos]firn.Gap {
	faults := make(map[firn.Pos]firn.Gap)
	for _, g := range r.Tree.Gaps() {
		if isReported(&g) && (g.Kind != firn.GapDangling || !r.explained(&g)) {
			faults[g.At] = g
		}
	}
	return faults
}

// explained reports whether it is known why an entry has no parent before it: the parent
// was in the unreadable place directly before it, or firn repair has appended a
// replacement.
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

// addGap records an unreadable place. Adjacent places are merged.
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

// between describes the unreadable places between two positions, each with the number of
// the entry before it.
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

// before returns the number of the entry before a position; zero if unknown.
func (s *Shape) before(at firn.Pos) int {
	if s.base < 0 {
		return 0
	}
	return s.base + sort.Search(s.Tree.Len(), func(n int) bool { return s.Tree.Node(n).At >= at })
}

// liveDamage lists the faults of the live part, oldest first, with entry numbers. It counts
// entries only if there are faults.
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

// Damage lists all damage of a session, oldest first. It reads and decodes every entry, and
// holds the shape of the session in the meantime.
func (v *View) Damage(ctx context.Context, id firn.ID) (wire.Page[wire.Damage], error) {
	page := wire.Page[wire.Damage]{Items: []wire.Damage{}}
	if err := v.CheckExists(ctx, id); err != nil {
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

// faultOf returns the fault of a record, or nil.
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

// at returns the index of the entry at a position among those read, or its insertion point.
func (l *live) at(pos firn.Pos) (n int, found bool) {
	return slices.BinarySearchFunc(l.nodes, pos, func(n node, at firn.Pos) int { return comparePos(n.at, at) })
}

// damagePlaces groups the unreadable places of the live part by the sent entry that follows
// them. The last group has the places after all entries.
func (l *live) damagePlaces(ctx context.Context, v *View, id firn.ID, order []int) [][]wire.Damage {
	places := make([][]wire.Damage, len(order)+1)
	for _, d := range l.damage(ctx, v, id) {
		if _, isEntry := l.at(d.At); isEntry {
			continue // the entry itself reports it
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
