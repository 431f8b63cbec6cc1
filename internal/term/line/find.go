package line

import (
	"cmp"
	"context"
	"fmt"
	"sync"
)

// Finder feeds a picker whose rows depend on the typed text. Its functions run in the
// background and should return when their context ends.
type Finder struct {
	Title string
	// Find calls show with the rows that match a text, best first. It may call it again with
	// more. wide is switched by Tab.
	Find func(ctx context.Context, text string, wide bool, show func([]FoundRow))
	// Preview returns a few lines about a row.
	Preview func(ctx context.Context, id string) []string
	// Narrow and Wide name the two scopes. If Narrow is empty, there is only the wide one.
	Narrow, Wide string
	// Selected is the ID of the row that is selected first.
	Selected string
}

// FoundRow is a row of a [Finder]: the text that is shown, and its ID.
type FoundRow struct{ ID, Text string }

// previewRows is the number of rows for the preview.
const previewRows = 5

// finding is the state of a picker with a finder.
type finding struct {
	rows []FoundRow
	// found is the number of times that the rows were replaced. A preview may depend on what
	// was found, so it is made again.
	found         int
	wide          bool
	narrow, whole string
	preview       []string
	// first is the ID of the row that is selected first.
	first string
	// asked receives a value when the text, the scope or the selection changed.
	asked chan struct{}
}

// selected returns the ID of the selected row, or "".
func (p *picker) selected() string {
	if p.search == nil || p.at >= len(p.search.rows) {
		return ""
	}
	return p.search.rows[p.at].ID
}

// setRows replaces the rows, and keeps the selection if it is still among them.
func (p *picker) setRows(rows []FoundRow) {
	before := cmp.Or(p.selected(), p.search.first)
	p.search.rows = rows
	p.search.found++
	p.Rows, p.shown, p.at = make([]string, len(rows)), make([]int, len(rows)), 0
	for i, r := range rows {
		p.Rows[i], p.shown[i] = r.Text, i
		if r.ID == before {
			p.at = i
		}
	}
}

// changed requests new rows or a new preview.
func (s *finding) changed() {
	select {
	case s.asked <- struct{}{}:
	default:
	}
}

// scope returns the name of the current scope and of the other one.
func (s *finding) scope() (now, other string) {
	if s.wide {
		return s.whole, s.narrow
	}
	return s.narrow, s.whole
}

// foot returns the line below the rows.
func (s *finding) foot() string {
	now, other := s.scope()
	note := fmt.Sprintf("  %d, %s", len(s.rows), now)
	if other != "" {
		note += " · Tab: " + other
	}
	return note + " · type to search · Enter · Esc"
}

// PickFrom lets the user choose among the rows of a finder. It returns the ID of the chosen
// row; ok is false if none was chosen or ctx ended.
func (t *Terminal) PickFrom(ctx context.Context, f Finder) (id string, ok bool) {
	p := newPicker(Choice{Title: f.Title})
	p.search = &finding{wide: f.Narrow == "", narrow: f.Narrow, whole: f.Wide, first: f.Selected, asked: make(chan struct{}, 1)}
	picked, ok := t.openPicker(p)
	if !ok {
		return "", false
	}
	var find, look latest
	defer find.stop()
	defer look.stop()
	p.search.changed()
	text, wide, shown, found := "\x00", false, "", 0 // no text is like this one
	for {
		select {
		case row, ok := <-picked:
			if !ok || row < 0 {
				return "", false
			}
			return p.search.rows[row].ID, true // closed pickers do not change
		case <-ctx.Done():
			t.closePicker(picked)
			return "", false
		case <-p.search.asked:
		}
		t.mu.Lock()
		again, selected, now := p.filter != text || p.search.wide != wide, p.selected(), p.search.found
		text, wide = p.filter, p.search.wide
		t.mu.Unlock()
		if again {
			text, wide := text, wide
			find.start(ctx, func(ctx context.Context) {
				f.Find(ctx, text, wide, func(rows []FoundRow) { t.update(ctx, p, func() { p.setRows(rows) }) })
			})
		}
		if selected != shown || now != found {
			shown, found = selected, now
			look.start(ctx, func(ctx context.Context) {
				var lines []string
				if selected != "" {
					lines = f.Preview(ctx, selected)
				}
				t.update(ctx, p, func() { p.search.preview = lines[:min(len(lines), previewRows)] })
			})
		}
	}
}

// update changes an open picker and redraws it, unless ctx has ended.
func (t *Terminal) update(ctx context.Context, p *picker, change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.picker != p || ctx.Err() != nil {
		return
	}
	change()
	p.search.changed() // the selection may be another
	t.draw()
}

// latest runs one function at a time in the background: the latest.
type latest struct {
	run    sync.WaitGroup
	cancel context.CancelFunc
}

// start stops the running function and starts another.
func (l *latest) start(ctx context.Context, do func(ctx context.Context)) {
	l.stop()
	ctx, l.cancel = context.WithCancel(ctx)
	l.run.Go(func() { do(ctx) })
}

// stop stops the running function and waits for it.
func (l *latest) stop() {
	if l.cancel != nil {
		l.cancel()
	}
	l.run.Wait()
}
