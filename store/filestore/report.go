package filestore

import (
	"fmt"
	"sync"
)

// reports queues messages for Options.Report while locks are held. They are delivered after
// the locks are released, so that Report may use the store.
type reports struct {
	mu      sync.Mutex
	waiting []string
	passing bool // a goroutine is delivering messages
}

func (r *reports) add(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, message)
}

// flush delivers queued messages in order, without holding locks. If another goroutine is
// doing that, flush leaves them to it.
func (r *reports) flush(to func(message string)) {
	for first := true; ; first = false {
		message, ok := r.next(first)
		if !ok {
			return
		}
		to(message)
	}
}

// next returns the next message to deliver. On the first call it returns false if another
// goroutine is delivering.
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

// reportLater is report for callers that hold locks.
func (st *homeDir) reportLater(format string, args ...any) {
	st.reports.add(fmt.Sprintf(format, args...))
}

// finishCall ends a call admitted by startCall. The caller must not hold locks.
func (st *homeDir) finishCall() {
	st.working.Done()
	st.reports.flush(st.opts.Report)
}
