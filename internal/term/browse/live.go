package browse

import (
	"context"
	"strings"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// refreshEvery is the interval at which the first page of the list is read again.
const refreshEvery = 2 * time.Second

// follower follows the session that is shown, from the end of its log.
type follower struct {
	run    *sync.WaitGroup
	events chan<- func(*model)
	id     firn.ID
	stop   context.CancelFunc
}

// follow follows the session of a model as soon as the end of its log was read. It stops
// following the one before. A hit on another branch is not followed.
func (f *follower) follow(ctx context.Context, m *model) {
	if (m.shown != f.id || m.log.head != "") && f.stop != nil {
		f.stop()
		f.id, f.stop = "", nil
	}
	if m.shown == "" || m.shown == f.id || !m.log.started || m.log.newer || m.log.head != "" {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	id, after := m.shown, m.log.to
	f.id, f.stop = id, stop
	f.run.Go(func() {
		for e, err := range m.o.Source.Events(ctx, id, after) {
			if err != nil {
				return // the next read reports a lost gateway
			}
			select {
			case f.events <- func(m *model) { m.happened(id, e) }:
			case <-ctx.Done():
				return
			}
		}
	})
}

// happened applies an event of a session.
func (m *model) happened(id firn.ID, e wire.Event) {
	if id != m.shown || m.log.head != "" {
		return
	}
	l := &m.log
	switch e.Name {
	case wire.EntryAppended:
		line, _ := prose.ReadLine(wire.DataOf[wire.Entry](e).Line)
		if line.Answers() {
			l.growing = growing{}
		}
		l.newer = l.newer || e.Pos > l.to
		m.rereadText()
	case wire.HeadMoved:
		m.log = m.newLog()
		m.rereadText()
		m.text.anew = true
	case wire.DeltaText:
		d := wire.DataOf[wire.Delta](e)
		l.growing.add(d.Entry, d.Text)
	case wire.TurnPartial:
		p := wire.DataOf[wire.Partial](e)
		l.growing = growing{answer: p.Entry, text: p.Text}
		l.dropDrafts()
	case wire.TurnCompleted, wire.TurnFailed:
		l.growing = growing{}
	case wire.Gap:
		if wire.DataOf[wire.Missed](e).Anew {
			m.log = m.newLog()
			m.rereadText()
			m.text.anew = true
		}
	}
}

// rereadText reads the tree or the window again, after the load that is under way, and keeps
// the visible part.
func (m *model) rereadText() { m.text.stale = true }

// growing is an answer that is being streamed.
type growing struct {
	answer firn.EntryID
	text   string
}

// add adds a delta of an answer.
func (g *growing) add(answer firn.EntryID, text string) {
	if answer != g.answer {
		*g = growing{answer: answer}
	}
	g.text += text
}

// maxGrowing is the number of bytes at the end of a growing answer that are rendered.
const maxGrowing = 8 << 10

// growingRows returns the last rows of an answer that is not in the log yet. They are shown
// below the log if its end is visible.
func (m *model) growingRows() []string {
	g := &m.log.growing
	if strings.TrimSpace(g.text) == "" || !m.log.bottom || m.tab != tabLog {
		return nil
	}
	width := m.rightWidth()
	text := g.text
	if over := len(text) - maxGrowing; over > 0 {
		text = text[over+strings.IndexByte(text[over:], '\n')+1:]
	}
	rows := fitRows(markdownRows(text, width, m.o.Styles), width)
	most := max(m.bodyHeight()/2-1, 1)
	rows = rows[max(len(rows)-most, 0):]
	return append([]string{bold(prose.CutWidth("agent is answering …", width), m.o.Styles)}, rows...)
}

// logHeight returns the number of rows for the entries of the log.
func (m *model) logHeight() int { return max(m.bodyHeight()-len(m.growingRows()), 1) }

// refresh reads the first page of the list again.
func (l *list) refresh(o Options) load {
	l.stale, l.refreshing = false, true
	run := l.run
	return func(ctx context.Context) func(*model) {
		page, err := firstPage(ctx, o, "")
		return func(m *model) { m.refreshed(run, page, err) }
	}
}

// refreshed replaces the beginning of the list. The selected session stays selected.
func (m *model) refreshed(run int, page wire.Page[wire.Session], err error) {
	l := &m.list
	if run != l.run {
		return
	}
	l.refreshing = false
	if err != nil {
		m.failed(err)
		return
	}
	selected, ok := l.session()
	first := len(l.sessions) == 0
	l.sessions = mergePage(l.sessions, page)
	l.total = max(page.Total, len(l.sessions))
	if len(l.sessions) <= len(page.Items) {
		l.cursor = page.Cursor
	}
	l.at = max(min(l.at, len(l.sessions)-1), 0)
	for i, s := range l.sessions {
		if ok && s.ID == selected.ID {
			if l.top > 0 { // new rows at the start of the list are shown
				l.top += i - l.at
			}
			l.at = i
			break
		}
	}
	l.top = max(l.top, 0)
	m.arrived(first)
}

// mergePage returns a first page and the older sessions that were read before. Sessions that
// should be on the page and are not have left the list.
func mergePage(before []wire.Session, page wire.Page[wire.Session]) []wire.Session {
	if page.Cursor == "" || len(page.Items) == 0 {
		return page.Items
	}
	on := make(map[firn.ID]bool, len(page.Items))
	for _, s := range page.Items {
		on[s.ID] = true
	}
	oldest := page.Items[len(page.Items)-1].Updated
	merged := page.Items[:len(page.Items):len(page.Items)]
	for _, s := range before {
		if !on[s.ID] && !s.Updated.After(oldest) {
			merged = append(merged, s)
		}
	}
	return merged
}
