// Package token keeps who is let in: tokens that somebody made, the logins of
// browsers, which are tokens too, and the codes that let a browser in once.
//
// All of it is one page of a [Book], with hashes only: who reads it cannot get in
// by it. Where the page is kept is behind a [Keep]: in a file of one home, or in a
// value that several gateways share. Every change is made to the page as it is and
// refused if somebody else has changed it meanwhile, so what must be so over all
// tokens, such as that a code is good once, is so over all gateways.
//
// What belongs to HTTP in it are the cookies of browsers, and how one sees that a
// request with a cookie comes from a page of ours.
package token

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"firn"
	"firn/wire"
)

// Book is what lets clients in. It is safe for concurrent use.
type Book struct {
	keep  Keep
	clock func() time.Time
	// follower keeps up with what others write; nil if the keep is asked each time.
	follower *follower
	// turn is held by who reads or writes the keep.
	turn chan struct{}

	mu sync.Mutex
	// page is the latest that is known, and never changed: others take its place.
	page     page
	revision uint64
	// data is the page as it is in the keep.
	data []byte
	// asked is when the keep was asked that told of it last.
	asked time.Time
	// used is when tokens were used here, saved when that was last written down.
	used  map[string]time.Time
	saved time.Time
	// unsure says that the page may not be durable: the last write of it had an
	// unknown outcome. Whoever has the turn reads and sets it.
	unsure bool
	// banned are those that have ended, whether that could be written or not.
	banned map[string]ending
	// watchers are told when their tokens end.
	watchers []*watcher
}

const (
	// secretPrefix lets people, and programs that look for leaks, know a token
	// when they see one.
	secretPrefix = "firn_"
	secretBytes  = 32
	maxTokens    = 1000
)

// Open opens the book that is in a keep; an empty one if there is none yet. One
// that cannot be read is an error, and nobody is let in. The clock may be nil.
func Open(ctx context.Context, keep Keep, clock func() time.Time) (*Book, error) {
	if clock == nil {
		clock = time.Now
	}
	b := &Book{keep: keep, clock: clock, turn: make(chan struct{}, 1), page: page{Version: version}, used: make(map[string]time.Time), banned: make(map[string]ending)}
	b.saved = clock()
	if err := b.refresh(ctx, b.saved); err != nil {
		return nil, err
	}
	if w, ok := keep.(Watched); ok {
		b.follow(w)
	}
	return b, nil
}

// Now is the time as the book sees it.
func (b *Book) Now() time.Time { return b.clock() }

// Close writes down when tokens were used.
func (b *Book) Close() error {
	if b.follower == nil {
		return b.note(context.Background(), 0)
	}
	b.follower.stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = b.note(ctx, usedEveryShared) // when a token was used is not worth a complaint
	return nil
}

// Create makes a token and returns its secret, which is kept nowhere.
func (b *Book) Create(ctx context.Context, n wire.NewToken) (wire.Created, error) {
	now := b.clock()
	if err := sensible(n, now); err != nil {
		return wire.Created{}, err
	}
	made, secret := mint(n, now)
	fresh := row{Token: made, Hash: hashOf(secret)}
	err := b.change(ctx, func(p *page) error {
		if p.has(fresh) {
			return nil // an earlier try got through
		}
		for _, r := range p.Tokens {
			if r.Name == n.Name && p.good(r, now) {
				return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("make a token: one named %q is in use", n.Name), Hint: "revoke it first, or take another name"}
			}
		}
		return p.add(fresh, "make a token")
	})
	if err != nil {
		return wire.Created{}, err
	}
	return wire.Created{Token: made, Secret: secret}, nil
}

// mint makes up a token and its secret.
func mint(n wire.NewToken, now time.Time) (wire.Token, string) {
	var raw [secretBytes]byte
	rand.Read(raw[:]) // never fails: crypto/rand says so
	return wire.Token{
		ID: strings.ToLower(rand.Text()[:10]), Name: n.Name, Scope: n.Scope, Agents: n.Agents, Keys: n.Keys,
		Created: now.UTC().Truncate(time.Second), Expires: n.Expires.UTC(),
	}, secretPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
}

// sensible says what is wrong with a token that somebody asks for.
func sensible(n wire.NewToken, now time.Time) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("make a token: %w: %s", firn.ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case n.Name == "" || len(n.Name) > 64 || strings.ContainsFunc(n.Name, unprintable):
		return bad("its name must have 1 to 64 characters that can be printed")
	case !n.Scope.Known():
		return bad("the scope %q is none of hook, read, write and admin", n.Scope)
	case n.Scope == wire.ScopeAdmin && len(n.Agents)+len(n.Keys) > 0:
		return bad("one with the scope admin cannot be bound: it could make others")
	case !n.Expires.IsZero() && !n.Expires.After(now):
		return bad("it would expire before it is made")
	case slices.Contains(n.Agents, "") || slices.Contains(n.Keys, ""):
		return bad("an agent or a key it is bound to has no name")
	}
	return nil
}

func unprintable(c rune) bool { return c == unicode.ReplacementChar || !unicode.IsPrint(c) }

// List returns all tokens, also those that are no good any more, oldest first.
func (b *Book) List(ctx context.Context) ([]wire.Token, error) {
	if err := b.refresh(ctx, b.clock()); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]wire.Token, 0, len(b.page.Tokens))
	for _, r := range b.page.Tokens {
		if used := b.used[r.ID]; used.After(r.Used) {
			r.Used = used
		}
		all = append(all, r.Token)
	}
	return all, nil
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
