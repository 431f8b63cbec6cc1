package browse

import (
	"context"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/match"
	"firn.dev/wire"
)

// list is the left pane: sessions, or hits of a search.
type list struct {
	sessions []wire.Session
	// cursor continues the list; started is true if the first page was requested, loading
	// while a page is.
	cursor           string
	total            int
	started, loading bool
	// stale is true if the list is to be read again, refreshing while it is.
	stale, refreshing bool
	filter            string
	// run counts the restarts of the list. Pages of an earlier run are dropped.
	run int
	at  int
	top int
	// goal is the place to select when its page arrives; zero if there is none.
	goal int

	// searched are the words of the search whose hits are shown; empty for sessions. within
	// limits the search to a session.
	searched string
	within   firn.ID
	hits     []wire.Hit
}

func (l *list) len() int {
	if l.searched != "" {
		return len(l.hits)
	}
	return len(l.sessions)
}

// session returns the selected session.
func (l *list) session() (wire.Session, bool) {
	if l.searched != "" || l.at >= len(l.sessions) {
		return wire.Session{}, false
	}
	return l.sessions[l.at], true
}

// hit returns the selected hit.
func (l *list) hit() (wire.Hit, bool) {
	if l.searched == "" || l.at >= len(l.hits) {
		return wire.Hit{}, false
	}
	return l.hits[l.at], true
}

// move moves the selection. A place that is not loaded yet is selected when its page
// arrives.
func (l *list) move(n int) {
	l.goal = 0
	if to := l.at + n; to >= l.len() && l.cursor != "" {
		l.goal = to
	}
	l.at = max(min(l.at+n, l.len()-1), 0)
}

// reachGoal selects the place that was not loaded before.
func (l *list) reachGoal() bool {
	if l.goal == 0 {
		return false
	}
	l.at = max(min(l.goal, l.len()-1), 0)
	if l.at == l.goal || l.cursor == "" {
		l.goal = 0
	}
	return true
}

// restart empties the list; the next page is the first one.
func (l *list) restart() {
	*l = list{filter: l.filter, searched: l.searched, within: l.within, run: l.run + 1}
}

func (l *list) reload() { l.restart() }

func (l *list) setFilter(words string) {
	if l.filter != words {
		l.filter = words
		l.restart()
	}
}

func (l *list) search(words string, within firn.ID) {
	if words != "" {
		l.searched, l.within = words, within
		l.restart()
	}
}

func (l *list) leaveSearch() {
	if l.searched != "" {
		l.searched, l.within = "", ""
		l.restart()
	}
}

// wants returns a load if rows below the visible ones are missing, or the first page is to
// be read again. A filtered list reads many sessions: it is read again only if the user
// asks for it.
func (l *list) wants(o Options, height int) load {
	if l.stale && l.started && !l.loading && !l.refreshing && l.searched == "" && l.filter == "" {
		return l.refresh(o)
	}
	if l.loading || l.started && (l.cursor == "" || l.at+2*height < l.len()) {
		return nil
	}
	l.started, l.loading = true, true
	run, cursor, filter := l.run, l.cursor, l.filter
	if l.searched != "" {
		q := wire.SearchQuery{Query: l.searched, Session: string(l.within), Limit: pageSize, Cursor: cursor}
		return func(ctx context.Context) func(*model) {
			found, err := o.Source.Search(ctx, q)
			return func(m *model) { m.addHits(run, found, err) }
		}
	}
	return func(ctx context.Context) func(*model) {
		if cursor == "" {
			page, err := firstPage(ctx, o, filter)
			return func(m *model) { m.addSessions(run, page, err) }
		}
		page, err := o.Source.SessionsPage(ctx, queryOf(o.Query, filter, cursor))
		return func(m *model) { m.addSessions(run, page, err) }
	}
}

// firstPage returns the first page of the list. If it is filtered, this is the latest
// sessions that match, best first, and those that the source finds among the older ones.
func firstPage(ctx context.Context, o Options, filter string) (wire.Page[wire.Session], error) {
	if filter == "" {
		return o.Source.SessionsPage(ctx, queryOf(o.Query, "", ""))
	}
	q := queryOf(o.Query, "", "")
	q.Limit = match.Latest
	latest, err := o.Source.SessionsPage(ctx, q)
	if err != nil {
		return latest, err
	}
	found := match.Sessions(latest.Items, filter)
	if latest.Cursor == "" {
		return wire.Page[wire.Session]{Items: found, Total: len(found)}, nil
	}
	page, err := o.Source.SessionsPage(ctx, queryOf(o.Query, filter, ""))
	page.Items = match.AppendNew(found, page.Items)
	return page, err
}

// loaded ends the loading of a page, and reports whether its rows are to be added: not after
// an error, nor if the list was started again meanwhile.
func (m *model) loaded(run int, err error) bool {
	if run != m.list.run {
		return false
	}
	m.list.loading = false
	if err != nil {
		m.list.cursor = ""
		m.failed(err)
	}
	return err == nil
}

func (m *model) addSessions(run int, page wire.Page[wire.Session], err error) {
	l := &m.list
	if !m.loaded(run, err) {
		return
	}
	first := len(l.sessions) == 0
	if page.Cursor == l.cursor {
		page.Cursor = ""
	}
	l.sessions, l.cursor = match.AppendNew(l.sessions, page.Items), page.Cursor
	l.total = max(page.Total, len(l.sessions))
	m.arrived(first)
}

func (m *model) addHits(run int, found wire.Found, err error) {
	l := &m.list
	if !m.loaded(run, err) {
		return
	}
	first := len(l.hits) == 0
	if found.Cursor == l.cursor {
		found.Cursor = ""
	}
	l.hits, l.cursor = append(l.hits, found.Items...), found.Cursor
	if found.Unread > 0 {
		m.note = fmt.Sprintf("⚠ %s could not be searched", prose.Plural(found.Unread, "unreadable place"))
	}
	m.arrived(first)
}

// head returns the title of the pane.
func (l *list) head() string {
	count := prose.Plural(len(l.hits), "hit")
	switch {
	case l.cursor != "":
		count += " and more"
	case l.loading && len(l.hits) == 0:
		count = "searching …"
	}
	switch {
	case l.searched != "" && l.within != "":
		return fmt.Sprintf("%q here: %s", l.searched, count)
	case l.searched != "":
		return fmt.Sprintf("%q: %s", l.searched, count)
	case l.filter != "":
		return fmt.Sprintf("%s with %q", prose.Plural(l.total, "session"), l.filter)
	case l.total == 0 && l.loading:
		return "Sessions …"
	}
	return prose.Plural(l.total, "session")
}

// rows returns the visible rows.
func (l *list) rows(width, height int, now time.Time) (rows []string, selected int) {
	if l.at < l.top {
		l.top = l.at
	}
	if l.at >= l.top+height {
		l.top = l.at - height + 1
	}
	for i := l.top; i < min(l.top+height, l.len()); i++ {
		if l.searched != "" {
			h := l.hits[i]
			rows = append(rows, padTo(fmt.Sprintf("#%d %s: %s", h.N, prose.Clean(h.Role), prose.OneLine(h.Snippet, 200)), width-2))
			continue
		}
		rows = append(rows, sessionRow(l.sessions[i], width-2, now))
	}
	return rows, l.at - l.top
}

// sessionRow formats a session: its state, title and age.
func sessionRow(s wire.Session, width int, now time.Time) string {
	sign := ""
	if s.Live {
		sign = "● "
	}
	if s.Unread > 0 {
		sign += "⚠ "
	}
	age := prose.Ago(s.Updated, now)
	room := width - prose.Width(age) - 1
	if room < 8 {
		return padTo(sign+nameOf(s), width)
	}
	return padTo(sign+nameOf(s), room) + " " + age
}
