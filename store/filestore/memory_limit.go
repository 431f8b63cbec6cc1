package filestore

import "sync"

// inspectionRoom limits the total size of sessions that are inspected concurrently;
// sessions up to smallInspection do not count. A line may be as long as its session and is
// held in memory.
const (
	inspectionRoom  = 16 << 20
	smallInspection = 256 << 10
)

// memoryLimit limits the memory of concurrent inspections. A session larger than the limit
// is inspected alone.
type memoryLimit struct {
	mu   sync.Mutex
	free sync.Cond
	used int64
}

// acquire waits until bytes are available and returns the function that releases them.
func (r *memoryLimit) acquire(bytes int64) (release func()) {
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
