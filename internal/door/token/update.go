package token

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
)

// take acquires the turn until give is called. It prevents reads from overwriting writes,
// and lets concurrent callers share one load.
func (b *Book) take(ctx context.Context) error {
	select {
	case b.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *Book) give() { <-b.turn }

// refresh ensures that the page is as of the given time or later.
func (b *Book) refresh(ctx context.Context, since time.Time) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.give()
	return b.load(ctx, since)
}

// load is refresh for a caller that holds the turn.
func (b *Book) load(ctx context.Context, since time.Time) error {
	b.mu.Lock()
	known, asked := b.revision, b.asked
	b.mu.Unlock()
	if b.follower != nil && asked.After(since) {
		return nil // another caller loaded it while we waited for the turn
	}
	begun := b.clock()
	data, revision, err := b.keep.Load(ctx, known)
	if err != nil {
		return err
	}
	if revision == known {
		b.mu.Lock()
		b.asked = begun
		b.mu.Unlock()
		return nil
	}
	p, err := parse(data)
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	b.setPage(p, data, revision, begun)
	return nil
}

// setPage makes p the latest page.
func (b *Book) setPage(p page, data []byte, revision uint64, begun time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, e := range b.banned {
		if i := p.index(id); i < 0 || p.Tokens[i].ending().covers(e) {
			delete(b.banned, id)
		}
	}
	if len(b.banned) > 0 {
		p = p.without(b.banned)
	}
	b.page, b.data, b.revision, b.asked = p, data, revision, begun
	b.notifyWatchers()
}

// draft returns a copy of the latest page, including changes known only here, for
// modification.
func (b *Book) draft() (page, []byte, uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.page.copy()
	for i := range p.Tokens {
		if used := b.used[p.Tokens[i].ID]; used.After(p.Tokens[i].Used) {
			p.Tokens[i].Used = used
		}
	}
	return p, b.data, b.revision
}

// change stores the page as modified by decide, if it differs. decide is called again after
// a conflict.
func (b *Book) change(ctx context.Context, decide func(*page) error) error {
	if err := b.take(ctx); err != nil {
		return err
	}
	defer b.give()
	for {
		if err := b.load(ctx, b.clock()); err != nil {
			return err
		}
		p, before, known := b.draft()
		if err := decide(&p); err != nil {
			return err
		}
		data, err := p.bytes()
		if err != nil {
			return fmt.Errorf("encode tokens: %w", err)
		}
		if bytes.Equal(data, before) && !b.unsure {
			return nil
		}
		begun := b.clock()
		revision, err := b.keep.Save(ctx, data, known)
		if errors.Is(err, firn.ErrConflict) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			b.unsure = b.unsure || errors.Is(err, firn.ErrUnknownOutcome)
			return err
		}
		b.unsure = false
		b.setPage(p, data, revision, begun)
		b.mu.Lock()
		b.saved = begun
		b.mu.Unlock()
		return nil
	}
}

// note stores the last use of tokens if that is overdue by more than longer, and any
// endings that could not be stored before.
func (b *Book) note(ctx context.Context, longer time.Duration) error {
	b.mu.Lock()
	due := len(b.banned) > 0
	for _, r := range b.page.Tokens {
		due = due || b.used[r.ID].Sub(r.Used) > longer
	}
	b.mu.Unlock()
	if !due {
		return nil
	}
	return b.change(ctx, func(*page) error { return nil })
}

// Carry adds the tokens of another storage and returns the number of new ones. A token revoked
// there is revoked here too.
func (b *Book) Carry(ctx context.Context, from Storage) (fresh int, err error) {
	data, _, err := from.Load(ctx, 0)
	if err != nil || data == nil {
		return 0, err
	}
	other, err := parse(data)
	if err != nil {
		return 0, fmt.Errorf("take over tokens: %w", err)
	}
	err = b.change(ctx, func(p *page) (err error) {
		fresh, err = p.join(other)
		return err
	})
	return fresh, err
}
