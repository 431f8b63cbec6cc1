package browse

import (
	"context"
	"slices"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// entryPage is the number of entries in a page of a log.
const entryPage = 50

// log is the conversation: a part of the branch that grows in both directions as the user
// scrolls.
type log struct {
	entries []item
	// at is the selected entry, and top the first visible row of all rows.
	at, top int
	// bottom keeps the last row visible until the user moves.
	bottom bool
	// older and newer are true if there may be more entries before from or after to, the
	// positions between which entries were read.
	older, newer bool
	from, to     firn.Pos
	loading      bool
	started      bool
	run          int
	// back is true if the user wants the entry before the first one, which is not loaded
	// yet; view is the height of the pane then.
	back bool
	view int
	// fromStart begins with the first entry instead of the last one.
	fromStart bool
	// target is the entry to select, at targetAt.
	target   firn.EntryID
	targetAt firn.Pos
	// head is the end of another branch than the current one; empty otherwise.
	head string
	// growing is an answer that is not in the log yet.
	growing growing
	// rows are the lines of each entry for width.
	width int
	// styles is false if text has no styles.
	styles bool
}

// item is an entry and its rows.
type item struct {
	entry wire.Entry
	// full shows all of it.
	full bool
	rows []string
}

// wants returns a load if entries near the visible part are missing.
func (l *log) wants(source Source, id firn.ID, height int) load {
	if l.loading {
		return nil
	}
	q := client.EntryQuery{View: wire.ViewBranch, Limit: entryPage, Head: l.head}
	switch {
	case !l.started && l.fromStart:
	case !l.started && l.target != "":
		q.After = l.targetAt
	case !l.started:
		q.Back = true
	case l.older && l.top < height:
		q.Back, q.Before = true, l.from
	case l.newer && l.top+2*height > l.height():
		q.After = l.to
	default:
		return nil
	}
	l.loading = true
	run, first := l.run, !l.started
	return func(ctx context.Context) func(*model) {
		page, err := source.EntriesPage(ctx, id, q)
		return func(m *model) { m.addEntries(run, first, q, page, err) }
	}
}

// addEntries adds a page.
func (m *model) addEntries(run int, first bool, q client.EntryQuery, page wire.Page[wire.Entry], err error) {
	l := &m.log
	if run != l.run {
		return
	}
	l.loading, l.started = false, true
	if err != nil {
		l.older, l.newer = false, false
		m.failed(err)
		return
	}
	items := make([]item, len(page.Items))
	for i, e := range page.Items {
		if q.Back {
			items[len(items)-1-i].entry = e
		} else {
			items[i].entry = e
		}
	}
	if len(items) > 0 {
		if first || q.Back {
			l.from = items[0].entry.At
		}
		if first || !q.Back {
			l.to = items[len(items)-1].entry.Next
		}
	}
	more := page.Cursor != "" && len(items) > 0
	answered := q.Back && len(l.entries) > 0 && isAnswer(l.entries[0].entry)
	// Partial answers at the end are shown below the log while they grow.
	live := !q.Back && !first
	items = withContent(items, answered || live)
	if live && len(items) > 0 {
		l.dropDrafts()
	}
	l.add(items, q.Back, more, first)
}

// withContent leaves out the entries that firn cat leaves out: usage, messages that are not
// for display, and partial answers that were completed. answered is true if an answer
// follows.
func withContent(items []item, answered bool) []item {
	var kept []item
	for _, it := range slices.Backward(items) {
		l, ok := prose.ReadLine(it.entry.Line)
		_, draft := l.Draft()
		switch {
		case !ok || it.entry.Damage != nil: // damage is always shown
		case l.Counts(), l.Undisplayed(), draft && answered:
			continue
		case l.Message != nil:
			answered = l.Answers()
		}
		kept = append(kept, it)
	}
	slices.Reverse(kept)
	return kept
}

func isAnswer(e wire.Entry) bool {
	l, ok := prose.ReadLine(e.Line)
	return ok && l.Answers()
}

// add adds items before or after the others.
func (l *log) add(items []item, before, more, first bool) {
	switch {
	case first && before:
		l.entries, l.older, l.bottom = items, more, true
		l.at = max(len(items)-1, 0)
	case first && l.target != "":
		l.entries, l.newer, l.older = items, more, l.from > 0
	case first:
		l.entries, l.newer = items, more
	case before:
		l.entries, l.older = append(items, l.entries...), more
		l.at += len(items)
		l.top += l.heightOf(items)
		if l.back && len(items) > 0 {
			l.back = false
			l.selectEntry(l.at-1, l.view)
		}
	default:
		last := l.bottom && l.at >= len(l.entries)-1
		l.entries, l.newer = append(l.entries, items...), more
		if last {
			l.at = max(len(l.entries)-1, 0)
		}
	}
}

// dropDrafts removes the parts of an answer at the end, which is in the log now.
func (l *log) dropDrafts() {
	for len(l.entries) > 0 {
		last, ok := prose.ReadLine(l.entries[len(l.entries)-1].entry.Line)
		if _, draft := last.Draft(); !ok || !draft {
			break
		}
		l.entries = l.entries[:len(l.entries)-1]
	}
	l.at = max(min(l.at, len(l.entries)-1), 0)
}

// layOut makes the rows of new entries for a width.
func (l *log) layOut(width int, styles bool) {
	if width != l.width || styles != l.styles {
		for i := range l.entries {
			l.entries[i].rows = nil
		}
		l.width, l.styles = width, styles
	}
	for i := range l.entries {
		l.entries[i].layOut(width, styles)
	}
}

func (it *item) layOut(width int, styles bool) {
	if it.rows == nil {
		it.rows = entryRows(it.entry, it.full, width, styles)
	}
}

func (l *log) height() int { return l.heightOf(l.entries) }

func (l *log) heightOf(items []item) int {
	n := 0
	for i := range items {
		items[i].layOut(l.width, l.styles)
		n += len(items[i].rows)
	}
	return n
}

// start returns the first row of an entry.
func (l *log) start(at int) int { return l.heightOf(l.entries[:min(at, len(l.entries))]) }

// press handles a key.
func (l *log) press(key string, height int) {
	switch key {
	case "j", "down", "ctrl-n":
		l.selectEntry(l.at+1, height)
	case "k", "up", "ctrl-p":
		l.selectEntry(l.at-1, height)
	case "enter":
		if l.at < len(l.entries) {
			it := &l.entries[l.at]
			it.full, it.rows = !it.full, nil
			l.bottom = false
			l.selectEntry(l.at, height)
		}
	case "pgdn", " ":
		l.scroll(height-1, height)
	case "pgup", "b":
		l.scroll(1-height, height)
	case "end", "G":
		if l.newer {
			*l = log{run: l.run + 1, width: l.width, styles: l.styles, head: l.head}
			return
		}
		l.bottom = true
		l.at = max(len(l.entries)-1, 0)
	}
}

// selectEntry selects an entry and makes its beginning visible.
func (l *log) selectEntry(at, height int) {
	if len(l.entries) == 0 {
		return
	}
	l.back, l.view = at < 0 && l.older, height
	last := at >= len(l.entries)
	l.at = max(min(at, len(l.entries)-1), 0)
	from := l.start(l.at)
	to := from + len(l.entries[l.at].rows)
	switch {
	case last:
		l.scroll(height-1, height)
		return
	case from < l.top:
		l.top = from
	case to > l.top+height:
		l.top = min(from, to-height)
	}
	l.bottom = false
}

// scroll moves the visible part and selects an entry in it.
func (l *log) scroll(n, height int) {
	l.bottom = false
	l.top = max(min(l.top+n, l.height()-height), 0)
	row := 0
	for i := range l.entries {
		next := row + len(l.entries[i].rows)
		if next > l.top && (n > 0 || row >= l.top) || i == len(l.entries)-1 {
			l.at = i
			if row >= l.top || next >= l.top+height || i == len(l.entries)-1 {
				return
			}
		}
		row = next
	}
}

// visible returns the visible rows, and which of them belong to the selected entry.
func (l *log) visible(width, height int, styles bool) (rows []string, selected []bool) {
	l.layOut(width, styles)
	l.placeTarget()
	total := l.height()
	if l.bottom {
		l.top = max(total-height, 0)
	}
	l.top = max(min(l.top, total-height), 0)
	row := 0
	for i := range l.entries {
		for _, r := range l.entries[i].rows {
			if row >= l.top && row < l.top+height {
				rows = append(rows, r)
				selected = append(selected, i == l.at)
			}
			row++
		}
		if row >= l.top+height {
			break
		}
	}
	return rows, selected
}

// placeTarget selects the entry of a hit.
func (l *log) placeTarget() {
	if l.target == "" || len(l.entries) == 0 {
		return
	}
	for i := range l.entries {
		if entryID(l.entries[i].entry) == l.target {
			l.at, l.top = i, l.start(i)
		}
	}
	l.target = ""
}
