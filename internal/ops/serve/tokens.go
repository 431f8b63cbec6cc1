package serve

import (
	"context"
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/route"
	"firn.dev/internal/door/api"
	"firn.dev/internal/door/token"
	"firn.dev/store/jetstream"
)

// openTokens opens the book of who is let in: that of the home or, if several
// gateways share the sessions, theirs. Then what is in the home is carried there,
// once, and the file put aside.
func (h *House) openTokens() (*token.Book, error) {
	file := token.NewFile(h.fs, api.TokensPath(h.home()))
	ctx := context.Background()
	if h.cluster == nil || !h.cluster.Shared() {
		return token.Open(ctx, file, h.o.Clock)
	}
	values, err := h.cluster.Values(ctx, "TOKENS", "who is let in; hashes only")
	if err != nil {
		return nil, err
	}
	var keep token.Keep = sharedTokens{values}
	if h.serves { // a command is over before anything changes
		keep = followedTokens{sharedTokens{values}}
	}
	book, err := token.Open(ctx, keep, h.o.Clock)
	if err != nil || h.o.Looks {
		return book, err
	}
	n, err := book.Carry(ctx, file)
	if err == nil {
		err = file.Retire()
	}
	if err != nil {
		_ = book.Close() // nobody was let in yet
		return nil, fmt.Errorf("carry the tokens of the home to where all gateways see them: %w", err)
	}
	if n > 0 {
		h.o.Log.Info("the tokens of this home are those of all gateways now", "tokens", n)
	}
	return book, nil
}

// holder implements [gateway.Holder].
func (h *House) holder(ctx context.Context, id string) (route.Bounds, bool, error) {
	if h.tokens == nil {
		return route.Bounds{}, false, fmt.Errorf("look up a token: the tokens are not opened yet: %w", firn.ErrUnavailable)
	}
	grant, owed, err := h.tokens.Holder(ctx, id)
	return grant.Bounds(), owed, err
}

// watchToken implements the Revoked of [gateway.Options].
func (h *House) watchToken(id string, revoked func()) (stop func()) {
	if h.tokens == nil {
		return func() {} // then no token is admitted either
	}
	return h.tokens.WatchWork(id, revoked)
}

// sharedTokens keeps the page of tokens where all gateways see it.
type sharedTokens struct{ values *jetstream.Values }

// tokensName is what the page is called.
const tokensName = "page"

// Load implements [token.Keep].
func (s sharedTokens) Load(ctx context.Context, known uint64) ([]byte, uint64, error) {
	return s.values.Newer(ctx, tokensName, known)
}

// Save implements [token.Keep].
func (s sharedTokens) Save(ctx context.Context, data []byte, known uint64) (uint64, error) {
	return s.values.Put(ctx, tokensName, data, known)
}

// followedTokens are sharedTokens whose changes are told.
type followedTokens struct{ sharedTokens }

var _ token.Watched = followedTokens{}

// Watch implements [token.Watched].
func (s followedTokens) Watch(ctx context.Context, changed func()) {
	s.values.Watch(ctx, tokensName, changed)
}
