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

// openTokens opens the token book: that of the home or, if several gateways share the
// sessions, the shared one. In that case the tokens of the home are moved there once, and
// the file is renamed.
func (h *Instance) openTokens() (*token.Book, error) {
	file := token.NewFile(h.fs, api.TokensPath(h.home()))
	ctx := context.Background()
	if h.cluster == nil || !h.cluster.Shared() {
		return token.Open(ctx, file, h.o.Clock)
	}
	values, err := h.cluster.Values(ctx, "TOKENS", "access tokens; hashes only")
	if err != nil {
		return nil, err
	}
	var keep token.Storage = sharedTokens{values}
	if h.serves { // a command ends before anything changes
		keep = watchedTokens{sharedTokens{values}}
	}
	book, err := token.Open(ctx, keep, h.o.Clock)
	if err != nil || h.o.ReadOnly {
		return book, err
	}
	n, err := book.Carry(ctx, file)
	if err == nil {
		err = file.Retire()
	}
	if err != nil {
		_ = book.Close() // no token was accepted yet
		return nil, fmt.Errorf("copy the tokens of the home to the cluster: %w", err)
	}
	if n > 0 {
		h.o.Log.Info("tokens are now shared by all gateways", "tokens", n)
	}
	return book, nil
}

// holder implements [gateway.Holder].
func (h *Instance) holder(ctx context.Context, id string) (route.Bounds, bool, error) {
	if h.tokens == nil {
		return route.Bounds{}, false, fmt.Errorf("look up token: tokens are not loaded yet: %w", firn.ErrUnavailable)
	}
	grant, owed, err := h.tokens.Holder(ctx, id)
	return grant.Bounds(), owed, err
}

// watchToken implements Revoked of [gateway.Options].
func (h *Instance) watchToken(id string, revoked func()) (stop func()) {
	if h.tokens == nil {
		return func() {} // no tokens are accepted then
	}
	return h.tokens.WatchWork(id, revoked)
}

// sharedTokens stores the tokens where all gateways can access them.
type sharedTokens struct{ values *jetstream.Values }

// tokensName is the name of the stored value.
const tokensName = "page"

// Load implements [token.Storage].
func (s sharedTokens) Load(ctx context.Context, known uint64) ([]byte, uint64, error) {
	return s.values.Newer(ctx, tokensName, known)
}

// Save implements [token.Storage].
func (s sharedTokens) Save(ctx context.Context, data []byte, known uint64) (uint64, error) {
	return s.values.Put(ctx, tokensName, data, known)
}

// watchedTokens is sharedTokens with change notifications.
type watchedTokens struct{ sharedTokens }

var _ token.Watched = watchedTokens{}

// Watch implements [token.Watched].
func (s watchedTokens) Watch(ctx context.Context, changed func()) {
	s.values.Watch(ctx, tokensName, changed)
}
