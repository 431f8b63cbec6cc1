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

// EntryQuery selects entries of a session.
type EntryQuery struct {
	// View is one of wire's views; empty means ViewDisk.
	View string
	// After and Before limit the positions of the entries; zero Before means the end.
	// ViewWindow ignores them.
	After, Before firn.Pos
	// Limit is the page size: 100 if zero, at most 1,000. A page with large entries has
	// fewer.
	Limit int
	// Back returns the newest entries first.
	Back bool
	// Cursor is the cursor of the previous page, which must have the same view and
	// direction.
	Cursor string
	// Head is the last entry of the branch; empty means the head.
	Head string
	// HTML returns cards instead of lines, with long texts truncated and a smaller page.
	// For a very long session, numbers are omitted and the reasons are determined without
	// building the window.
	HTML bool
}

// pageBytes is the size of lines after which a page ends.
const pageBytes = 8 << 20

// Entries returns a page of the entries of a session, each as its line in the file, with
// its number (#n) if known.
//
// [wire.ViewDisk] has all entries in file order, with the header, and with gaps for
// unreadable places. [wire.ViewBranch] is the path to the head, including compacted
// entries; reading it forward for the first time takes time proportional to the length of
// the session. [wire.ViewWindow] has the entries that the model is sent next, in that
// order, including omitted ones, but not those far beyond the budget. Both of the latter
// give the reason why an entry is not sent; labels and similar entries, which are never
// sent, have no reason.
func (v *View) Entries(ctx context.Context, id firn.ID, q EntryQuery) (wire.Page[wire.Entry], error) {
	page := wire.Page[wire.Entry]{Items: []wire.Entry{}, Total: -1}
	if err := v.CheckExists(ctx, id); err != nil {
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
		return page, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("unknown view %q", Clip(q.View)), Hint: "views: disk, branch, window"}
	}
	if err == nil && q.HTML {
		r.joinResults(ctx)
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

// entryCursor is the start of a page of entries.
type entryCursor struct {
	set bool
	// pos is the position in the file, or the index in a window; for a branch read
	// backward, the position of the previous entry.
	pos firn.Pos
	// want is the parent of that entry; if loose, any entry before it is accepted.
	want  firn.EntryID
	loose bool
}

const (
	forth = "f"
	back  = "b"
	// wanted and anyEntry mark the entry that a cursor expects.
	wanted   = "="
	anyEntry = "?"
)

func direction(newestFirst bool) string {
	if newestFirst {
		return back
	}
	return forth
}

// encode returns the cursor as text for a view and a direction.
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

// parseEntryCursor is the inverse of encode.
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
			Hint: "use a cursor only with the same view and direction",
		}
	}
	return c, nil
}

// entryReader builds one page.
type entryReader struct {
	v    *View
	id   firn.ID
	q    EntryQuery
	from entryCursor
	// left is the number of entries that the page can still take, size its size in bytes.
	left, size int
	page       *wire.Page[wire.Entry]
	// results are the entries with results of tools; nil for those that are too long to
	// keep, which are read again.
	results map[firn.Pos]*firn.Entry
}

// full reports whether the page is full.
func (r *entryReader) full() bool {
	return r.left == 0 || r.size >= pageBytes || r.q.HTML && r.size >= pageHTML
}

// add adds an entry to the page.
func (r *entryReader) add(e wire.Entry) {
	r.left--
	r.size += len(e.Line)
	r.page.Items = append(r.page.Items, e)
}

// setCursor sets the cursor of the next page.
func (r *entryReader) setCursor(c entryCursor) { r.page.Cursor = c.encode(r.q.View, r.q.Back) }

// disk reads the file.
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

// place returns the start of a page that begins with a record.
func (r *entryReader) place(rec *firn.Record) firn.Pos {
	if r.q.Back {
		return rec.Next
	}
	return rec.At
}

// countAt returns the number of entries before the first record of a page, or up to it if
// the page is read backward.
func (r *entryReader) countAt(ctx context.Context, rec *firn.Record) (int, bool, error) {
	return r.v.numbers.before(ctx, r.v.Store, r.id, r.place(rec))
}

// entry converts a record.
func (r *entryReader) entry(ctx context.Context, rec *firn.Record) wire.Entry {
	if rec.Gap != nil {
		return r.gapEntry(ctx, rec)
	}
	if r.q.HTML {
		rec.Decode() // once for the card and for joinResults
	}
	e := r.v.RecordEntry(ctx, r.id, rec, r.q.HTML)
	if e.Card != nil {
		r.size += cardSize(e.Card)
		if hasResult(e.Card) {
			r.keepResult(rec)
		}
	}
	return e
}

// line returns the line of a record. If the store keeps none, the dialect encodes it.
func (v *View) line(rec *firn.Record) (json.RawMessage, error) {
	if line := rec.Line(); line != nil {
		if !json.Valid(line) {
			return nil, fmt.Errorf("%s at %d: the line is not valid JSON: %w", firn.GapDamaged, rec.At, firn.ErrCorrupt)
		}
		return slices.Clone(line), nil
	}
	encoder, ok := v.Dialect.(dialect.Encoder)
	if !ok {
		return nil, fmt.Errorf("the store cannot encode lines: %w", firn.ErrUnsupported)
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

// places returns the positions and numbers of the branch entries for a forward page, one
// more than fits, and the damage between them.
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
			last = n - 1 // it may not be the last one with that ID
		}
		path = shape.Tree.Path(last)
	}
	place := func(i int) firn.Pos { return shape.Tree.Node(path[i]).At }
	from, to := max(r.q.After, r.from.pos), r.q.Before
	if end != "" && len(path) > 0 { // damage after that entry is not part of the branch
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

// branchBack reads the path backward from its end.
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

// reasons are the reasons why entries of a branch are not sent.
type reasons struct {
	live  *live
	words map[firn.Pos]string
	place map[firn.Pos]int
	// hidden are the hidden entries, if the window was built from the end of the live part
	// only.
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

// of returns the reason why an entry of the branch is not sent. Entries that were not read
// to build the window are compacted or over budget.
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

// beyond returns the reason for an entry that is older than the part that fits.
func (w *reasons) beyond(rec *firn.Record) string {
	entry, err := rec.Entry()
	if w.hidden[rec.Glance.ID] || rec.Glance.Kind == firn.KindErased || err != nil {
		return reasonUnread(w.hidden[rec.Glance.ID], rec.Glance.Kind)
	}
	// Between two turns it is dropped together with the first, unless no model ever sees
	// it.
	around := window.Path{Entries: []firn.Entry{firn.NewEntry(firn.UserText("-").Body), entry, firn.NewEntry(firn.UserText("-").Body)}}
	if len(around.Limit(1).Entries) == 1 {
		return string(w.live.prospect.beyond)
	}
	if m, ok := entry.Body.(*firn.Message); ok && m.Role != firn.RoleSystem {
		return string(window.Hidden)
	}
	return ""
}

// number returns the number of an entry of the live part.
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
