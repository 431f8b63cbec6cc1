package api

import (
	"sync"

	"firn.dev"
)

// frames shares the bytes of events between the clients that listen to a session:
// the gateway hands all of them the same event, and what is sent is made of it
// once. The latest few are kept; what a slow client still holds stays as it is.
type frames struct {
	mu    sync.Mutex
	known map[frameKey][]byte
	order []frameKey
	bytes int
	// made counts those that were made.
	made int
}

// frameKey names an event: by where its data is in memory, which is not used for
// anything else while the frame is kept.
type frameKey struct {
	data *byte
	name string
	pos  firn.Pos
	id   string
}

// mostFrames and frameBytes bound what is kept.
const (
	mostFrames = 256
	frameBytes = 8 << 20
)

// of returns the frame of an event, made by make if it is not known.
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
