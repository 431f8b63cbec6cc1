// Package browse shows sessions on the whole screen: the list on the left, the conversation
// of the selected session on the right, as a log, a tree or the window.
//
// It is a read-only client of a gateway, follows what others write, and reads in pages, from the end backward: neither
// the number of sessions nor the length of one matters. The keys are those of the web pages.
package browse

import (
	"cmp"
	"context"
	"iter"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/term/line"
	"firn.dev/wire"
)

// Source provides sessions. [client.Client] implements it.
type Source interface {
	SessionsPage(ctx context.Context, q client.Query) (wire.Page[wire.Session], error)
	EntriesPage(ctx context.Context, id firn.ID, q client.EntryQuery) (wire.Page[wire.Entry], error)
	Tree(ctx context.Context, id firn.ID, limit int, cursor string) (wire.Tree, error)
	Window(ctx context.Context, id firn.ID, as string) (wire.Window, error)
	Search(ctx context.Context, q wire.SearchQuery) (wire.Found, error)
	Events(ctx context.Context, id firn.ID, after firn.Pos) iter.Seq2[wire.Event, error]
}

// Screen is the terminal. [line.Screen] implements it.
type Screen interface {
	Inputs() <-chan line.Input
	Size() (width, height int)
	Draw(rows []string, y, x int) error
	Suspend() error
	Copy(text string)
}

// Options configures Run. Source and Screen are required.
type Options struct {
	Source Source
	Screen Screen
	// Query selects the sessions of the list; its limit and cursor are ignored.
	Query client.Query
	// Open is the session that is opened at the start, and Title its title; empty means
	// none. With InList, keys go to the list.
	Open   firn.ID
	Title  string
	InList bool
	// View is the list as it was when the user left for the chat, and Note is shown until the
	// first key.
	View View
	Note string
	// Refresh is the interval at which the list is read again; zero means 2 seconds.
	Refresh time.Duration
	// Styles permits dim, bold and colored text.
	Styles bool
	// Window formats a window as lines.
	Window func(wire.Window) []string
	Now    func() time.Time
}

// Result is the reason why the user left.
type Result struct {
	// Chat is the session that the user wants to write to; empty if none.
	Chat firn.ID
	// New is true if the user wants to start a new session.
	New bool
	// View is the list then, for the return from the chat.
	View View
}

// View is the state of the list.
type View struct {
	Filter string
	// Search are the words of the search whose hits are shown, and Within the session that
	// it is limited to.
	Search string
	Within firn.ID
	// At is the selected place.
	At int
}

// Run shows sessions until the user leaves or ctx ends.
func Run(ctx context.Context, o Options) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	var loads sync.WaitGroup
	defer loads.Wait()
	defer cancel()
	if o.Now == nil {
		o.Now = time.Now
	}
	m := newModel(o)
	refresh := time.NewTicker(cmp.Or(o.Refresh, refreshEvery))
	defer refresh.Stop()
	loaded := make(chan func(*model))
	start := func(wanted []load) {
		for _, l := range wanted {
			loads.Go(func() {
				apply := l(ctx)
				select {
				case loaded <- apply:
				case <-ctx.Done():
				}
			})
		}
	}
	following := follower{run: &loads, events: loaded}
	start(m.firstLoads())
	for {
		m.width, m.height = o.Screen.Size()
		start(m.wants())
		following.follow(ctx, m)
		rows, y, x := m.draw()
		if err := o.Screen.Draw(rows, y, x); err != nil {
			return Result{}, err
		}
		select {
		case in := <-o.Screen.Inputs():
			if left, err := m.take(o.Screen, in); left || err != nil {
				return m.result, err
			}
		case apply := <-loaded:
			apply(m)
			if m.done {
				return m.result, nil
			}
		case <-refresh.C:
			m.list.stale = true
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		}
	}
}

// take handles an input. It reports whether the user left.
func (m *model) take(screen Screen, in line.Input) (left bool, err error) {
	switch {
	case in.End:
		m.result = Result{}
		return true, nil
	case in.Key == "ctrl-z":
		if err := screen.Suspend(); err != nil {
			return false, err
		}
	case in.Key != "":
		m.press(in)
	}
	if m.copied != "" {
		screen.Copy(m.copied)
		m.copied = ""
	}
	return m.done, nil
}

// load reads something in the background and returns how to apply it.
type load func(ctx context.Context) func(*model)
