package filestore

import "sync"

// inspectionRoom bounds the bytes of sessions that are read through at the same time to
// tell of them, and smallInspection is up to which size one needs no space: a line may be
// as long as its session, and all of it is in memory while it is looked at.
const (
	inspectionRoom  = 16 << 20
	smallInspection = 256 << 10
)

// room is the space for inspections of sessions. One that is larger than all of it is
// alone.
type room struct {
	mu   sync.Mutex
	free sync.Cond
	used int64
}

// take waits for space, and returns the function that gives it back.
func (r *room) take(bytes int64) (release func()) {
	if bytes <= smallInspection {
		return func() {}
	}
	bytes = min(bytes, inspectionRoom)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free.L = &r.mu
	for r.used+bytes > inspectionRoom {
		r.free.Wait()
	}
	r.used += bytes
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.used -= bytes
		r.free.Broadcast()
	}
}
