package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
	"firn.dev/store"
)

// inlineBytes is the largest payload that is sent in the message; a larger one is stored as
// an object.
const inlineBytes = 256 << 10

// Append appends entries to a session; see [store.Store]. They are sent as one message, so
// all of them are stored or none.
func (st *Store) Append(ctx context.Context, id firn.ID, expect store.Pos, entries ...firn.Entry) (store.Pos, error) {
	if err := st.beginOperation(ctx); err != nil {
		return 0, err
	}
	defer st.working.Done()
	if err := id.Check(); err != nil {
		return 0, err
	}
	waitCtx, done := st.engine.startWrite(ctx, st.names.stream(st.names.shard(id)))
	end, err := st.appendInTurn(ctx, waitCtx, id, expect, entries)
	done(err)
	return end, st.failed(ctx, err)
}

// appendInTurn appends when no other append to the session is running in this process. It
// waits for the cluster until waitCtx is done.
func (st *openSessions) appendInTurn(ctx, waitCtx context.Context, id firn.ID, expect store.Pos, entries []firn.Entry) (store.Pos, error) {
	s, err := st.acquireBy(ctx, waitCtx, id)
	if err != nil {
		return 0, err
	}
	defer st.release(s)
	again := s.uncertain != nil && s.uncertain.matches(expect, st.encodeEntries(entries))
	for {
		end, err := st.append(ctx, waitCtx, s, expect, entries, again)
		if !errors.Is(err, errFenced) {
			return end, err
		}
		if waitCtx.Err() != nil {
			return 0, fmt.Errorf("append to session %s: %w", id, &Unavailable{Write: true, Cause: err})
		}
		again = again && s.uncertain != nil || mayBeStored(err)
	}
}

// append makes one attempt. It returns errFenced if another message was stored first. again
// reports whether the session's uncertain append is the same request.
func (st *openSessions) append(ctx, waitCtx context.Context, s *session, expect store.Pos, entries []firn.Entry, again bool) (store.Pos, error) {
	if again && s.uncertain != nil {
		end := s.uncertain.frame.end
		there, err := st.resolve(ctx, waitCtx, s)
		if err != nil {
			return 0, err
		}
		if there {
			s.named = store.Start // other writers may have appended since
			return end, nil
		}
	}
	if !s.fresh || len(entries) == 0 || expect != store.Any && expect != s.tail.end || s.tail.gone() {
		if err := st.refreshTail(waitCtx, s); err != nil {
			return 0, fmt.Errorf("append to session %s: find its end: %w", s.id, unsaved(err))
		}
	}
	if s.tail.gone() {
		return 0, fmt.Errorf("append to session %s: it was removed: %w", s.id, firn.ErrNotFound)
	}
	if expect != store.Any && expect != s.tail.end {
		return s.tail.end, &store.Conflict{ID: s.id, Expect: expect, End: s.tail.end}
	}
	tail, err := st.storeTail(ctx, s)
	if err != nil {
		return 0, err
	}
	ready, err := store.Prepare(tail, st.opts.Now(), entries, func(id firn.EntryID) (bool, error) { return st.has(ctx, s, id) })
	if err != nil || len(ready) == 0 {
		return s.tail.end, err
	}
	if err := st.findChain(ctx, s); err != nil {
		return 0, err
	}
	f, chain, err := st.frame(waitCtx, s, ready)
	if err != nil {
		return s.tail.end, fmt.Errorf("append to session %s: %w", s.id, err)
	}
	if err := st.put(waitCtx, s, f, false); err != nil {
		if mayBeStored(err) {
			s.uncertain = &uncertainAppend{frame: f, last: f.back, expect: expect, encoded: st.encodeEntries(entries), since: time.Now()}
		}
		return 0, fmt.Errorf("append to session %s: %w", s.id, err)
	}
	s.remember(ready)
	s.chain, s.chained = chain, s.tail.end
	return s.tail.end, nil
}

// encodeLinked encodes entries as lines, with their links if the hash chain is known. It
// returns the state after them.
func (st *openSessions) encodeLinked(s *session, ready []firn.Entry) ([][]byte, hashchain.State, error) {
	lines, chain := make([][]byte, len(ready)), s.chain
	for i, e := range ready {
		line, err := st.dialect.Append(nil, e)
		if err != nil {
			return nil, chain, err
		}
		if s.linked {
			line, chain = chain.Append(line, 0)
		}
		lines[i] = line
	}
	return lines, chain, nil
}

// frame returns the message for entries that are ready to be written, and the state of the
// hash chain after them.
func (st *openSessions) frame(ctx context.Context, s *session, ready []firn.Entry) (*frame, hashchain.State, error) {
	lines, chain, err := st.encodeLinked(s, ready)
	if err != nil {
		return nil, chain, err
	}
	f := s.tail.nextFrame(kindLines, st.messageID(s.id, s.tail.end))
	f.modified = s.tail.nextModified(st.opts.Now())
	if header, ok := ready[0].Body.(*firn.Header); ok && s.tail.seq == 0 {
		f.agent = header.Agent
	}
	f.count, f.end = len(lines), f.end+store.Pos(len(lines))
	f.sum, f.data = f.prev.over(lines), join(lines)
	f.size += int64(len(f.data)) + 1
	if len(f.data) <= inlineBytes {
		return f, chain, nil
	}
	if last := ready[len(ready)-1]; last.ID != "" {
		f.head = last.ID
	}
	f.kind = kindBlob
	name, err := st.blobs.put(ctx, s.id, f.data)
	if err != nil {
		return nil, chain, fmt.Errorf("its %d bytes: %w: %w", len(f.data), firn.ErrNotSaved, err)
	}
	f.data = []byte(name)
	return f, chain, nil
}

// has reports whether a session contains an entry, searching from its end.
func (st *openSessions) has(ctx context.Context, s *session, id firn.EntryID) (bool, error) {
	if s.named == s.tail.end && s.ids.Has(id) {
		return true, nil
	}
	for r, err := range st.reader.readBackward(ctx, s.id, s.tail, store.End) {
		if err != nil {
			return false, err
		}
		if r.Gap == nil && r.Glance.Kind != firn.KindHeader && r.Glance.ID == id {
			return true, nil
		}
	}
	return false, nil
}
