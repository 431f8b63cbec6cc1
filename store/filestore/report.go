package filestore

import (
	"fmt"
	"sync"
)

// reports are messages for Options.Report that came up while locks were held.
// They are passed on when the call that they came up in has let go of them, so
// that who is told may use the store.
type reports struct {
	mu      sync.Mutex
	waiting []string
	passing bool // somebody is passing them on
}

func (r *reports) add(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, message)
}

// pass hands on what is waiting, in order, with nothing locked. If somebody
// does so already, that one hands on the rest as well.
func (r *reports) pass(to func(message string)) {
	for first := true; ; first = false {
		message, ok := r.next(first)
		if !ok {
			return
		}
		to(message)
	}
}

// next returns the message to be passed on next. The first time it is asked
// whether nobody else is passing on.
func (r *reports) next(first bool) (message string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first && r.passing {
		return "", false
	}
	if r.passing = len(r.waiting) > 0; r.passing {
		message, r.waiting = r.waiting[0], r.waiting[1:]
	}
	return message, r.passing
}

// reportLater is report for those who hold locks.
func (st *Store) reportLater(format string, args ...any) {
	st.reports.add(fmt.Sprintf(format, args...))
}

// end ends what begin has admitted. It is called with nothing locked.
func (st *Store) end() {
	st.working.Done()
	st.reports.pass(st.opts.Report)
}
