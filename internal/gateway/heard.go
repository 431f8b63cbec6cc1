package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// A message that is sent again under its id is taken once, also if its key has got a new
// session meanwhile. The sessions before the present one are searched for it, as far back
// as ids are remembered ([store.Remembered]). A session that has ended does not change,
// so the ids of its messages are kept in memory.

// mostPast is how many ended sessions are kept in memory.
const mostPast = 4096

// pastSessions keeps what is known of sessions that a key had.
type pastSessions struct {
	mu       sync.Mutex
	sessions map[firn.ID]*pastSession
}

// pastSession is what is known of a session of a key.
type pastSession struct {
	began    time.Time
	previous firn.ID
	message  string
	reason   string
	// end is where the session ended when its messages were read.
	end      firn.Pos
	messages map[uint64]struct{}
}

var messageHashes = maphash.MakeSeed()

func messageHash(id firn.EntryID) uint64 { return maphash.String(messageHashes, string(id)) }

// earlier yields the session of a key and those that it had before, newest first, as
// long as a message in the next one can be remembered.
func (g *Gateway) earlier(ctx context.Context, key string, id firn.ID, visit func(id firn.ID, s *pastSession) (bool, error)) error {
	since := g.now().Add(-store.Remembered)
	for seen := map[firn.ID]bool{}; id != "" && !seen[id]; {
		seen[id] = true
		s, err := g.pastOf(ctx, key, id)
		if errors.Is(err, firn.ErrNotFound) { // it was put away
			return nil
		}
		if err != nil {
			return err
		}
		if done, err := visit(id, s); done || err != nil {
			return err
		}
		if s.previous == "" || s.began.Before(since) {
			return nil
		}
		id = s.previous
	}
	return nil
}

// pastOf returns what is known of a session of a key: when and after which one it began.
func (g *Gateway) pastOf(ctx context.Context, key string, id firn.ID) (*pastSession, error) {
	g.past.mu.Lock()
	s := g.past.sessions[id]
	g.past.mu.Unlock()
	if s != nil {
		return s, nil
	}
	began, err := g.beginning(ctx, id)
	if err != nil {
		return nil, err
	}
	mark, err := g.begun(ctx, id)
	if err != nil {
		return nil, err
	}
	s = &pastSession{began: began, previous: mark.Previous, message: mark.Message, reason: string(mark.Reason)}
	if s.previous != "" {
		ours, err := g.preceded(ctx, s.previous, id, key)
		if ignoreGone(err) != nil {
			return nil, err
		}
		if !ours {
			s.previous = ""
		}
	}
	g.past.mu.Lock()
	defer g.past.mu.Unlock()
	if len(g.past.sessions) >= mostPast || g.past.sessions == nil {
		g.past.sessions = make(map[firn.ID]*pastSession)
	}
	g.past.sessions[id] = s
	return s, nil
}

// heardBefore returns the session that took a message before the present one of its key
// began; empty if none did.
func (g *Gateway) heardBefore(ctx context.Context, key string, present firn.ID, message firn.EntryID) (found firn.ID, err error) {
	if message == "" {
		return "", nil
	}
	err = g.earlier(ctx, key, present, func(id firn.ID, s *pastSession) (bool, error) {
		if id == present {
			return false, nil // its turn will see
		}
		heard, err := g.heardIn(ctx, id, s, message)
		if heard {
			found = id
		}
		return heard, err
	})
	return found, err
}

// heardIn reports whether a session took a message, said or waiting.
func (g *Gateway) heardIn(ctx context.Context, id firn.ID, s *pastSession, message firn.EntryID) (bool, error) {
	end := store.Start
	for rec, err := range g.Store.ReadBack(ctx, id, store.End) {
		if err != nil {
			return false, ignoreGone(err)
		}
		end = rec.Next
		break
	}
	g.past.mu.Lock()
	messages := s.messages
	if s.end != end {
		messages = nil
	}
	g.past.mu.Unlock()
	if messages == nil {
		var err error
		if messages, err = g.messagesOf(ctx, id, end); err != nil {
			return false, ignoreGone(err)
		}
		g.past.mu.Lock()
		s.end, s.messages = end, messages
		g.past.mu.Unlock()
	}
	_, heard := messages[messageHash(message)]
	return heard, nil
}

// ignoreGone takes a session that was put away for one that heard nothing.
func ignoreGone(err error) error {
	if errors.Is(err, firn.ErrNotFound) {
		return nil
	}
	return err
}

// messagesOf returns the hashes of the ids of the messages that a session took of late.
func (g *Gateway) messagesOf(ctx context.Context, id firn.ID, end firn.Pos) (map[uint64]struct{}, error) {
	messages := make(map[uint64]struct{})
	add := func(id firn.EntryID) { messages[messageHash(id)] = struct{}{} }
	for rec, err := range store.Recent(ctx, g.Store, id, end, g.now().Add(-store.Remembered)) {
		if err != nil {
			return nil, fmt.Errorf("look for messages in session %s: %w", id, err)
		}
		if rec.Gap != nil || rec.Glance.Kind != firn.KindMessage && rec.Glance.Kind != firn.KindCustomMessage && rec.Glance.Kind != firn.KindCustom {
			continue
		}
		if rec.Glance.Kind != firn.KindCustom {
			add(rec.Glance.ID)
			if line := rec.Line(); line != nil && !bytes.Contains(line, []byte(`"collected"`)) {
				continue
			}
		}
		entry, err := rec.Entry()
		if err != nil {
			continue
		}
		for _, other := range collected(entry) {
			add(other)
		}
		if c, ok := entry.Body.(*firn.Custom); ok {
			if w, ok := waitingOf(c); ok {
				add(w.ID)
			}
		}
	}
	return messages, nil
}
