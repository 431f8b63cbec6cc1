// Package token manages authentication: API tokens, browser logins, which are tokens too,
// and one-time login codes.
//
// All of them are stored in the page of a [Book], as hashes only. A [Storage] stores the page,
// in a file of one home or in a value shared by several gateways. Changes are
// compare-and-swap operations on the whole page, so invariants such as the single use of a
// code hold across all gateways.
//
// The package also handles the cookies of browsers and the check that a request with a
// cookie comes from one of our pages.
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

	"firn.dev"
	"firn.dev/wire"
)

// Book holds all tokens and codes. It is safe for concurrent use.
type Book struct {
	keep  Storage
	clock func() time.Time
	// follower follows the changes of other gateways; nil if the storage is read for every
	// request.
	follower *follower
	// turn is held while reading or writing the storage.
	turn chan struct{}

	mu sync.Mutex
	// page is the latest known page. It is never modified, only replaced.
	page     page
	revision uint64
	// data is the encoded record as stored in the storage.
	data []byte
	// asked is the start time of the last successful load.
	asked time.Time
	// used holds the last use of tokens at this gateway, and saved the time it was last
	// stored.
	used  map[string]time.Time
	saved time.Time
	// unsure is true if the last write had an unknown outcome, so that the page may not be
	// durable. It is guarded by turn.
	unsure bool
	// banned holds the tokens that have ended, whether that could be stored or not.
	banned map[string]ending
	// watchers are notified when their tokens end.
	watchers []*watcher
}

const (
	// secretPrefix makes tokens recognizable to users and to secret scanners.
	secretPrefix = "firn_"
	secretBytes  = 32
	maxTokens    = 1000
)

// Open opens the book in its storage; it is empty if there is none yet. If the record cannot be
// read, Open fails and no token is accepted. clock may be nil.
func Open(ctx context.Context, keep Storage, clock func() time.Time) (*Book, error) {
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

// Now returns the current time of the book's clock.
func (b *Book) Now() time.Time { return b.clock() }

// Close stores the last use of tokens.
func (b *Book) Close() error {
	if b.follower == nil {
		return b.note(context.Background(), 0)
	}
	b.follower.stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_ = b.note(ctx, usedEveryShared) // the last use of a token is not worth an error
	return nil
}

// Create creates a token and returns its secret, which is not stored.
func (b *Book) Create(ctx context.Context, n wire.NewToken) (wire.Created, error) {
	now := b.clock()
	if err := validate(n, now); err != nil {
		return wire.Created{}, err
	}
	made, secret := mint(n, now)
	fresh := row{Token: made, Hash: hashOf(secret)}
	err := b.change(ctx, func(p *page) error {
		if p.has(fresh) {
			return nil // an earlier attempt succeeded
		}
		for _, r := range p.Tokens {
			if r.Name == n.Name && p.valid(r, now) {
				return &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("create token: the name %q is in use", n.Name), Hint: "revoke it first, or choose another name"}
			}
		}
		return p.add(fresh, "create token")
	})
	if err != nil {
		return wire.Created{}, err
	}
	return wire.Created{Token: made, Secret: secret}, nil
}

// mint returns a new token and its secret.
func mint(n wire.NewToken, now time.Time) (wire.Token, string) {
	var raw [secretBytes]byte
	rand.Read(raw[:]) // never fails, as documented by crypto/rand
	return wire.Token{
		ID: strings.ToLower(rand.Text()[:10]), Name: n.Name, Scope: n.Scope, Agents: n.Agents, Keys: n.Keys,
		Created: now.UTC().Truncate(time.Second), Expires: n.Expires.UTC(),
	}, secretPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
}

// validate checks a request for a new token.
func validate(n wire.NewToken, now time.Time) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("create token: %w: %s", firn.ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case n.Name == "" || len(n.Name) > 64 || strings.ContainsFunc(n.Name, unprintable):
		return bad("the name must have 1 to 64 printable characters")
	case !n.Scope.Known():
		return bad("scope %q is none of hook, sync, read, write and admin", n.Scope)
	case n.Scope == wire.ScopeAdmin && len(n.Agents)+len(n.Keys) > 0:
		return bad("scope admin cannot be restricted, since it could create other tokens")
	case n.Scope == wire.ScopeSync && len(n.Agents)+len(n.Keys) > 0:
		return bad("scope sync reads no sessions, so it cannot be restricted to some")
	case !n.Expires.IsZero() && !n.Expires.After(now):
		return bad("the expiry is in the past")
	case slices.Contains(n.Agents, "") || slices.Contains(n.Keys, ""):
		return bad("empty agent or key in the restriction")
	}
	return nil
}

func unprintable(c rune) bool { return c == unicode.ReplacementChar || !unicode.IsPrint(c) }

// List returns all tokens, including ended ones, oldest first.
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
