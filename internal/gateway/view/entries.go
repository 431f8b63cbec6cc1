package view

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/store"
	"firn.dev/window"
	"firn.dev/wire"
)

// EntryQuery asks for entries of a session.
type EntryQuery struct {
	// View is one of wire's views; empty means ViewDisk.
	View string
	// After and Before are positions that the entries stand between; Before zero
	// means the end. The view of the window knows neither.
	After, Before firn.Pos
	// Limit is how many a page has: 100 if zero, never more than 1,000. A page
	// has less if its entries are large.
	Limit int
	// Back gives the newest first.
	Back bool
	// Cursor is that of the page before; view and direction must be the same.
	Cursor string
	// Head names the entry that the branch ends with; empty is the head.
	Head string
	// HTML tells cards instead of lines, with long texts cut short; the page ends
	// after fewer bytes. Of a very long session the numbers are not told, and the
	// reasons without building the window.
	HTML bool
}

// pageBytes is after how many bytes of lines a page ends.
const pageBytes = 8 << 20

// Entries returns a page of the entries of a session, each as the line that is
// in the file, with its number as in #n where that is known.
//
// [wire.ViewDisk] is all of them in the order of the file, with the header and
// with gaps where something cannot be read. [wire.ViewBranch] is the path to
// the head, also what a compaction stands for; read forwards it costs as much
// as the session is long, the first time. [wire.ViewWindow] is what the model is
// sent next, in that order; what of it is left out is in it, with the reason, but
// not what stands far before all there is room for. Both tell why
// an entry is not sent; labels and the like, of which nothing ever is, have no
// reason.
func (v *View) Entries(ctx context.Context, id firn.ID, q EntryQuery) (wire.Page[wire.Entry], error) {
	page := wire.Page[wire.Entry]{Items: []wire.Entry{}, Total: -1}
	if err := v.MustBe(ctx, id); err != nil {
		return page, err
	}
	if q.View == "" {
		q.View = wire.ViewDisk
	}
	from, err := parseEntryCursor(q.Cursor, q.View, q.Back)
	if err != nil {
		return page, err
	}
	if q.Before == 0 {
		q.Before = store.End
	}
	r := &entryReader{v: v, id: id, q: q, from: from, left: PageSize(q.Limit), page: &page}
	switch q.View {
	case wire.ViewDisk:
		err = r.disk(ctx)
	case wire.ViewBranch:
		err = r.branch(ctx)
	case wire.ViewWindow:
		err = r.window(ctx)
	default:
		return page, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("there is no view %q", Clip(q.View)), Hint: "the views are disk, branch and window"}
	}
	if err == nil && q.HTML {
		err = r.explain(ctx)
	}
	if err == nil && q.View == wire.ViewBranch {
		err = r.markMisplaced(ctx)
	}
	if err == nil {
		err = r.number(ctx)
	}
	if err != nil {
		return page, fmt.Errorf("read entries of session %s: %w", id, err)
	}
	return page, nil
}

// entryCursor is where a page of entries begins.
type entryCursor struct {
	set bool
	// pos is the place in the file, or the number in a window; of a branch that
	// is read backwards, that of the entry before.
	pos firn.Pos
	// want is what that entry follows; if loose, whatever stands before it.
	want  firn.EntryID
	loose bool
}

const (
	forth = "f"
	back  = "b"
	// wanted and anyone mark the entry that a cursor wants.
	wanted   = "="
	anyEntry = "?"
)

func direction(newestFirst bool) string {
	if newestFirst {
		return back
	}
	return forth
}

// spell spells the cursor of a view and a direction.
func (c entryCursor) encode(view string, newestFirst bool) string {
	text := view + "." + direction(newestFirst) + "." + strconv.FormatUint(uint64(c.pos), 10)
	switch {
	case c.loose:
		return text + "." + anyEntry
	case c.want != "":
		return text + "." + wanted + string(c.want)
	}
	return text
}

// parseEntryCursor is the inverse of spell.
func parseEntryCursor(s, view string, newestFirst bool) (entryCursor, error) {
	if s == "" {
		return entryCursor{}, nil
	}
	c := entryCursor{set: true}
	rest, ok := strings.CutPrefix(s, view+"."+direction(newestFirst)+".")
	number, want, more := strings.Cut(rest, ".")
	pos, err := strconv.ParseUint(number, 10, 64)
	c.pos = firn.Pos(pos)
	if name, named := strings.CutPrefix(want, wanted); named {
		c.want = firn.EntryID(name)
	} else {
		c.loose = want == anyEntry
	}
	if !ok || err != nil || len(s) > MaxReference || more && c.want == "" && !c.loose {
		return c, &wire.Problem{
			Kind: wire.Invalid, Message: fmt.Sprintf("%q is not a cursor of these entries", Clip(s)),
			Hint: "a cursor goes with the view and the direction it was given for",
		}
	}
	return c, nil
}

// entryReader makes one page.
type entryReader struct {
	v    *View
	id   firn.ID
	q    EntryQuery
	from entryCursor
	// left is how many entries the page still takes, size how large it is.
	left, size int
	page       *wire.Page[wire.Entry]
}

// full reports whether the page takes no more.
func (r *entryReader) full() bool {
	return r.left == 0 || r.size >= pageBytes || r.q.HTML && r.size >= pageHTML
}

// add puts an entry on the page.
func (r *entryReader) add(e wire.Entry) {
	r.left--
	r.size += len(e.Line)
	r.page.Items = append(r.page.Items, e)
}

// goOn says that there is more, from a place on.
func (r *entryReader) setCursor(c entryCursor) { r.page.Cursor = c.encode(r.q.View, r.q.Back) }

// disk reads the file from a place on.
func (r *entryReader) disk(ctx context.Context) error {
	first := true
	read := r.v.Store.Read(ctx, r.id, max(r.q.After, r.from.pos))
	if r.q.Back {
		end := r.q.Before
		if r.from.set {
			end = min(end, r.from.pos)
		}
		read = r.v.Store.ReadBack(ctx, r.id, end)
	}
	n, known := 0, false
	for rec, err := range read {
		if err != nil {
			return err
		}
		if !r.q.Back && rec.Next > r.q.Before || r.q.Back && rec.At < r.q.After {
			break
		}
		if first && rec.Gap != nil && r.q.Back && r.from.set {
			rec = firn.GapRecord(clampGap(*rec.Gap, r.from.pos))
		}
		if first && !r.q.HTML {
			first = false
			if n, known, err = r.countAt(ctx, &rec); err != nil {
				return err
			}
		}
		if r.mergeGap(ctx, &rec) {
			continue
		}
		if r.full() {
			r.setCursor(entryCursor{pos: r.place(&rec)})
			break
		}
		e := r.entry(ctx, &rec)
		if known && IsNode(&rec) {
			if !r.q.Back {
				n++
			}
			e.N = n
			if r.q.Back {
				n--
			}
		}
		r.add(e)
	}
	return nil
}

// place is where the page that begins with a record begins.
func (r *entryReader) place(rec *firn.Record) firn.Pos {
	if r.q.Back {
		return rec.Next
	}
	return rec.At
}

// countAt counts the entries before the first record of a page; read
// backwards, with it.
func (r *entryReader) countAt(ctx context.Context, rec *firn.Record) (int, bool, error) {
	return r.v.numbers.before(ctx, r.v.Store, r.id, r.place(rec))
}

// entry tells a record as it stands in its file.
func (r *entryReader) entry(ctx context.Context, rec *firn.Record) wire.Entry {
	if rec.Gap != nil {
		return r.gapEntry(ctx, rec)
	}
	e := r.v.Told(ctx, r.id, rec, r.q.HTML)
	if e.Card != nil {
		r.size += cardSize(e.Card)
	}
	return e
}

// line is the line of a record. A store that keeps none has it spelt by the
// dialect, if that can.
func (v *View) line(rec *firn.Record) (json.RawMessage, error) {
	if line := rec.Line(); line != nil {
		if !json.Valid(line) {
			return nil, fmt.Errorf("%s at %d: the line is not valid JSON: %w", firn.GapDamaged, rec.At, firn.ErrCorrupt)
		}
		return slices.Clone(line), nil
	}
	encoder, ok := v.Dialect.(dialect.Encoder)
	if !ok {
		return nil, fmt.Errorf("the store keeps no lines, and nobody can spell them: %w", firn.ErrUnsupported)
	}
	entry, err := rec.Entry()
	if err != nil {
		return nil, err
	}
	return encoder.Append(nil, entry)
}

// branch reads the path to the head.
func (r *entryReader) branch(ctx context.Context) error {
	var words *reasons
	if !r.q.HTML {
		var err error
		if words, err = r.reasons(ctx); err != nil {
			return err
		}
	}
	if r.q.Back {
		return r.branchBack(ctx, words)
	}
	at, numbers, damage, err := r.places(ctx)
	if err != nil {
		return err
	}
	before := func(pos firn.Pos) {
		n := sort.Search(len(damage), func(i int) bool { return damage[i].At >= pos })
		r.addDamage(damage[:n])
		damage = damage[n:]
	}
	for rec, err := range r.v.Records(ctx, r.id, at) {
		if err != nil {
			return err
		}
		if before(rec.At); r.full() {
			r.setCursor(entryCursor{pos: rec.At})
			return nil
		}
		e := r.entry(ctx, &rec)
		e.N, e.Out = numbers[rec.At], words.of(&rec)
		r.add(e)
	}
	r.addDamage(damage)
	return nil
}

// places are those of the entries of the branch that a page forwards has, one more
// than it takes, and their numbers, with what could not be read between them.
func (r *entryReader) places(ctx context.Context) (at []firn.Pos, numbers map[firn.Pos]int, damage []wire.Damage, err error) {
	var end firn.EntryID
	if r.q.Head != "" {
		if end, err = r.v.EntryAt(ctx, r.id, r.q.Head); err != nil {
			return nil, nil, nil, err
		}
	}
	shape, done, err := r.v.Shape(ctx, r.id)
	if err != nil {
		return nil, nil, nil, err
	}
	defer done()
	path := shape.outline().path
	if end != "" {
		last := shape.Tree.Find(end)
		if n := numberOf(r.q.Head); n > 0 && n <= shape.Tree.Len() {
			last = n - 1 // which may not be the last with that id
		}
		path = shape.Tree.Path(last)
	}
	place := func(i int) firn.Pos { return shape.Tree.Node(path[i]).At }
	from, to := max(r.q.After, r.from.pos), r.q.Before
	if end != "" && len(path) > 0 { // what stands behind that branch is not of it
		to = min(to, place(len(path)-1))
	}
	damage = shape.between(ctx, r.v, from, to)
	first := sort.Search(len(path), func(i int) bool { return place(i) >= from })
	numbers = make(map[firn.Pos]int)
	for i := first; i < len(path) && place(i) < r.q.Before && len(at) <= r.left; i++ {
		at, numbers[place(i)] = append(at, place(i)), path[i]+1
	}
	return at, numbers, damage, nil
}

// branchBack walks along the path from its end.
func (r *entryReader) branchBack(ctx context.Context, words *reasons) error {
	from, err := r.start(ctx)
	if err != nil {
		return err
	}
	var last *walkStart
	var gaps []firn.Gap // since the last entry
	for rec, err := range r.v.trailGaps(ctx, r.id, from) {
		if err != nil {
			return err
		}
		if rec.At < r.q.After {
			break
		}
		if rec.Next > r.q.Before {
			continue
		}
		if rec.Gap != nil {
			gaps = append(gaps, *rec.Gap)
			continue
		}
		if r.full() {
			r.setCursor(entryCursor{pos: last.child, want: last.want, loose: last.loose})
			return nil
		}
		r.gapsOnPath(ctx, gaps)
		gaps = nil
		e := r.entry(ctx, &rec)
		e.N, e.Out = words.number(rec.At), words.of(&rec)
		r.add(e)
		last = new(fromParent(&rec))
	}
	r.gapsOnPath(ctx, gaps)
	return nil
}

// reasons say why entries of a branch are not sent.
type reasons struct {
	live  *live
	words map[firn.Pos]string
	place map[firn.Pos]int
	// hidden are the ids that tombstones hide, if the window was built of the end
	// of a live part only.
	hidden map[firn.EntryID]bool
}

func (r *entryReader) reasons(ctx context.Context) (*reasons, error) {
	l, err := r.v.live(ctx, r.id)
	if err != nil {
		return nil, err
	}
	w := &reasons{live: l, words: make(map[firn.Pos]string, len(l.branch)), place: make(map[firn.Pos]int, len(l.branch))}
	for i, n := range l.branch {
		w.words[l.nodes[n].at] = string(l.why[i])
		w.place[l.nodes[n].at] = n
	}
	if l.cut {
		s, done, err := r.v.Shape(ctx, r.id)
		if err != nil {
			return nil, err
		}
		w.hidden = s.hidden()
		done()
	}
	return w, nil
}

// of says why an entry of the branch is not sent. What was not read to build
// the window is stood for by a summary, or there is no room for it.
func (w *reasons) of(rec *firn.Record) string {
	if w == nil {
		return ""
	}
	if word, ok := w.words[rec.At]; ok {
		return word
	}
	if w.live.cut {
		return w.beyond(rec)
	}
	return reasonUnread(w.live.path.Hides(rec.Glance.ID), rec.Glance.Kind)
}

// beyond says why an entry is not sent that is older than all there is room for.
func (w *reasons) beyond(rec *firn.Record) string {
	entry, err := rec.Entry()
	if w.hidden[rec.Glance.ID] || rec.Glance.Kind == firn.KindErased || err != nil {
		return reasonUnread(w.hidden[rec.Glance.ID], rec.Glance.Kind)
	}
	// Between two turns it goes with the first, unless no model sees it at all.
	around := window.Path{Entries: []firn.Entry{firn.NewEntry(firn.UserText("-").Body), entry, firn.NewEntry(firn.UserText("-").Body)}}
	if len(around.Limit(1).Entries) == 1 {
		return string(w.live.prospect.beyond)
	}
	if m, ok := entry.Body.(*firn.Message); ok && m.Role != firn.RoleSystem {
		return string(window.Hidden)
	}
	return ""
}

// number is the number of an entry of the live part.
func (w *reasons) number(at firn.Pos) int {
	if w == nil {
		return 0
	}
	if n, ok := w.place[at]; ok {
		return w.live.number(n)
	}
	return 0
}

// window reads the entries of the live part in the order they are sent.
func (r *entryReader) window(ctx context.Context) error {
	l, err := r.v.live(ctx, r.id)
	if err != nil {
		return err
	}
	order := l.sending()
	damage := l.damagePlaces(ctx, r.v, r.id, order)
	r.page.Total = len(order)
	if r.q.Back {
		slices.Reverse(order)
	}
	if r.from.pos > firn.Pos(len(order)) {
		return nil
	}
	order = order[r.from.pos:]
	order = order[:min(len(order), r.left)]
	at := make([]firn.Pos, len(order))
	for i, n := range order {
		at[i] = l.nodes[l.branch[n]].at
	}
	found := make(map[firn.Pos]wire.Entry, len(at))
	for rec, err := range r.v.Records(ctx, r.id, at) {
		if err != nil {
			return err
		}
		found[rec.At] = r.entry(ctx, &rec)
	}
	last := len(damage) - 1
	if r.q.Back && r.from.pos == 0 {
		r.addDamage(damage[last])
	}
	taken := 0
	for i, n := range order {
		if r.full() {
			break
		}
		place := int(r.from.pos) + i
		if r.q.Back {
			place = r.page.Total - 1 - place
		} else {
			r.addDamage(damage[place])
		}
		e := found[at[i]]
		e.N, e.Out = l.number(l.branch[n]), string(l.why[n])
		r.add(e)
		if taken++; r.q.Back {
			r.addDamage(damage[place])
		}
	}
	if next := int(r.from.pos) + taken; next < r.page.Total {
		r.setCursor(entryCursor{pos: firn.Pos(next)})
	} else if !r.q.Back {
		r.addDamage(damage[last])
	}
	return nil
}
