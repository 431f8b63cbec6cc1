package gateway

import "sync"

// doors are locks by name. A door is there while somebody is at it.
type doors struct {
	mu   sync.Mutex
	open map[string]*door
}

type door struct {
	mu sync.Mutex
	// at is how many hold it or wait for it.
	at int
}

// lock waits until nobody else holds the door, and returns how to let go. To
// let go twice is to let go once.
func (d *doors) lock(name string) (unlock func()) {
	d.mu.Lock()
	if d.open == nil {
		d.open = make(map[string]*door)
	}
	one, ok := d.open[name]
	if !ok {
		one = &door{}
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
