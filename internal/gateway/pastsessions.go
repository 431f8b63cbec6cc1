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
	"firn.dev/internal/find/lookback"
	"firn.dev/store"
)

// A message that is sent again with the same ID is accepted once, even if its key has a new
// session in the meantime. Earlier sessions of the key are searched, as far back as IDs are
// remembered ([lookback.DedupPeriod]). An ended session does not change, so the IDs of its
// messages are cached.

// mostPast is the maximum number of cached sessions.
const mostPast = 4096

// pastSessions caches earlier sessions of keys.
type pastSessions struct {
	mu       sync.Mutex
	sessions map[firn.ID]*pastSession
}

// pastSession is the cached state of a key's session.
type pastSession struct {
	began    time.Time
	previous firn.ID
	message  string
	reason   string
	// end is the end of the session when its messages were read.
	end      firn.Pos
	messages map[uint64]struct{}
}

var messageHashes = maphash.MakeSeed()

func messageHash(id firn.EntryID) uint64 { return maphash.String(messageHashes, string(id)) }

// eachEarlier calls visit for the session of a key and its predecessors, newest first, as
// far back as message IDs are remembered.
func (g *messageHistory) eachEarlier(ctx context.Context, key string, id firn.ID, visit func(id firn.ID, s *pastSession) (bool, error)) error {
	since := g.now().Add(-lookback.DedupPeriod)
	for seen := map[firn.ID]bool{}; id != "" && !seen[id]; {
		seen[id] = true
		s, err := g.pastOf(ctx, key, id)
		if errors.Is(err, firn.ErrNotFound) { // it was removed
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

// pastOf returns the cached state of a session: its start time and its predecessor.
func (g *messageHistory) pastOf(ctx context.Context, key string, id firn.ID) (*pastSession, error) {
	g.past.mu.Lock()
	s := g.past.sessions[id]
	g.past.mu.Unlock()
	if s != nil {
		return s, nil
	}
	began, err := g.keys.createdAt(ctx, id)
	if err != nil {
		return nil, err
	}
	mark, err := g.keys.startingReset(ctx, id)
	if err != nil {
		return nil, err
	}
	s = &pastSession{began: began, previous: mark.Previous, message: mark.Message, reason: string(mark.Reason)}
	if s.previous != "" {
		ours, err := g.keys.isPredecessor(ctx, s.previous, id, key)
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

// findDelivered returns the earlier session of a key that holds a message, or "".
func (g *messageHistory) findDelivered(ctx context.Context, key string, present firn.ID, message firn.EntryID) (found firn.ID, err error) {
	if message == "" {
		return "", nil
	}
	err = g.eachEarlier(ctx, key, present, func(id firn.ID, s *pastSession) (bool, error) {
		if id == present {
			return false, nil // its turn checks that
		}
		received, err := g.wasDelivered(ctx, id, s, message)
		if received {
			found = id
		}
		return received, err
	})
	return found, err
}

// wasDelivered reports whether a session holds a message, delivered or queued.
func (g *messageHistory) wasDelivered(ctx context.Context, id firn.ID, s *pastSession, message firn.EntryID) (bool, error) {
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
	_, received := messages[messageHash(message)]
	return received, nil
}

// ignoreGone ignores the error of a removed session, which holds no messages.
func ignoreGone(err error) error {
	if errors.Is(err, firn.ErrNotFound) {
		return nil
	}
	return err
}

// messagesOf returns the hashes of the message IDs that a session accepted recently.
func (g *messageHistory) messagesOf(ctx context.Context, id firn.ID, end firn.Pos) (map[uint64]struct{}, error) {
	messages := make(map[uint64]struct{})
	add := func(id firn.EntryID) { messages[messageHash(id)] = struct{}{} }
	for rec, err := range lookback.Records(ctx, g.Store, id, end, g.now().Add(-lookback.DedupPeriod)) {
		if err != nil {
			return nil, fmt.Errorf("find messages in session %s: %w", id, err)
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
