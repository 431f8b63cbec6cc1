package token_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/door/token"
	"firn.dev/wire"
)

// TestRevocationOrder ends a browser's token and its parent token in every order, with and
// without a full disk, and checks which accepted work is still owed.
func TestRevocationOrder(t *testing.T) {
	logout := func(b *token.Book, browser, _ string) error {
		_, err := b.Logout(context.Background(), browser)
		return err
	}
	revoke := func(b *token.Book, browser, _ string) error {
		_, err := b.Revoke(context.Background(), browser)
		return err
	}
	parent := func(b *token.Book, _, parent string) error {
		_, err := b.Revoke(context.Background(), parent)
		return err
	}
	type step func(b *token.Book, browser, parent string) error
	for name, c := range map[string]struct {
		steps []step
		owed  bool
	}{
		"logged out":                 {[]step{logout}, true},
		"logged out twice":           {[]step{logout, logout}, true},
		"revoked":                    {[]step{revoke}, false},
		"logged out, then revoked":   {[]step{logout, revoke}, false},
		"revoked, then logged out":   {[]step{revoke, logout}, false},
		"logged out, parent revoked": {[]step{logout, parent}, false},
		"parent revoked, logged out": {[]step{parent, logout}, false},
	} {
		for _, full := range []bool{false, true} {
			files := faultfs.New()
			if err := files.MkdirAll("/home"); err != nil {
				t.Fatal(err)
			}
			book, err := token.Open(t.Context(), token.NewFile(files, "/home/tokens.json"), nil)
			if err != nil {
				t.Fatal(err)
			}
			made, err := book.Create(t.Context(), wire.NewToken{Name: "made", Scope: wire.ScopeWrite})
			if err != nil {
				t.Fatal(err)
			}
			browser, err := book.Admit(t.Context(), token.GrantOf(made.Token), token.Browser{Kind: "test"})
			if err != nil {
				t.Fatal(err)
			}
			stopped := false
			book.WatchWork(browser.ID, func() { stopped = true })
			for _, do := range c.steps {
				if full {
					files.FailNth(1, faultfs.Fault{Of: faultfs.Sync, Err: errors.New("the disk is full")})
				}
				if err := do(book, browser.ID, made.ID); err != nil && !errors.Is(err, firn.ErrNotSaved) {
					t.Errorf("%s: %v", name, err)
				}
			}
			_, letIn := book.Check(t.Context(), browser.Secret)
			_, owed, err := book.Holder(t.Context(), browser.ID)
			if letIn == nil || owed != c.owed || stopped == c.owed || err != nil {
				t.Errorf("%s, full: %v: accepted %v, owed %v, stopped %v, %v", name, full, letIn == nil, owed, stopped, err)
			}
			if err := book.Close(); err != nil { // writes the pending changes
				t.Error(err)
			}
			again, err := token.Open(t.Context(), token.NewFile(files, "/home/tokens.json"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, owed, err := again.Holder(t.Context(), browser.ID); owed != c.owed || err != nil {
				t.Errorf("%s, full: %v, opened again: owed %v, %v", name, full, owed, err)
			}
			// After a merge with known tokens, the stronger ending applies.
			path := filepath.Join(t.TempDir(), "tokens.json")
			other := openTokens(t, path, nil)
			if _, err := other.Carry(t.Context(), token.NewFile(files, "/home/tokens.json")); err != nil {
				t.Error(err)
			}
			if _, owed, _ := other.Holder(t.Context(), browser.ID); owed != c.owed {
				t.Errorf("%s, carried: owed %v", name, owed)
			}
		}
	}
}
