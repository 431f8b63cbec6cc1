package api

import (
	"sync"

	"firn.dev"
)

// frames caches the encoded events shared by the clients of a session: the gateway passes
// the same event to all of them, and it is encoded once. Only the latest events are kept. A
// slow client may hold a frame longer, so frames are never modified.
type frames struct {
	mu    sync.Mutex
	known map[frameKey][]byte
	order []frameKey
	bytes int
	// made counts the frames that were encoded.
	made int
}

// frameKey identifies an event by the address of its data, which is not reused while the
// frame is cached.
type frameKey struct {
	data *byte
	name string
	pos  firn.Pos
	id   string
}

// mostFrames and frameBytes limit the size of the cache.
const (
	mostFrames = 256
	frameBytes = 8 << 20
)

// of returns the frame of an event, calling make if it is not cached.
func (f *frames) of(key frameKey, make func() []byte) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.known[key]; ok {
		return b
	}
	if f.known == nil {
		f.known = map[frameKey][]byte{}
	}
	b := make()
	f.made++
	f.known[key], f.order, f.bytes = b, append(f.order, key), f.bytes+len(b)
	for len(f.order) > mostFrames || f.bytes > frameBytes && len(f.order) > 1 {
		f.bytes -= len(f.known[f.order[0]])
		delete(f.known, f.order[0])
		f.order = append([]frameKey(nil), f.order[1:]...)
	}
	return b
}
