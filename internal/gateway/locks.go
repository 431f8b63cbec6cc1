package gateway

import "sync"

// namedLocks is a set of mutexes by name. A mutex exists while it is held or waited for.
type namedLocks struct {
	mu   sync.Mutex
	open map[string]*namedLock
}

type namedLock struct {
	mu sync.Mutex
	// at is the number of holders and waiters.
	at int
}

// lock locks a name and returns the function to unlock it. Further calls of that function
// have no effect.
func (d *namedLocks) lock(name string) (unlock func()) {
	d.mu.Lock()
	if d.open == nil {
		d.open = make(map[string]*namedLock)
	}
	one, ok := d.open[name]
	if !ok {
		one = &namedLock{}
		d.open[name] = one
	}
	one.at++
	d.mu.Unlock()
	one.mu.Lock()
	return sync.OnceFunc(func() {
		one.mu.Unlock()
		d.mu.Lock()
		defer d.mu.Unlock()
		if one.at--; one.at == 0 {
			delete(d.open, name)
		}
	})
}
