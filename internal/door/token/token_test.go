package token_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/door/token"
	"firn.dev/wire"
)

func openTokens(t *testing.T, path string, clock func() time.Time) *token.Book {
	t.Helper()
	tokens, err := token.Open(t.Context(), token.NewFile(vfs.OS{}, path), clock)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func TestTokensSurviveReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway", "tokens.json")
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	tokens := openTokens(t, path, clock)
	made, err := tokens.Create(t.Context(), wire.NewToken{Name: "phone", Scope: wire.ScopeWrite, Agents: []string{"main"}, Expires: now.Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), made.Secret) || strings.Contains(string(data), strings.TrimPrefix(made.Secret, "firn_")) {
		t.Fatalf("the file contains %s (%v)", data, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v (%v)", info.Mode(), err)
	}
	again := openTokens(t, path, clock)
	got, err := again.Check(t.Context(), made.Secret)
	if err != nil || got.Name != "phone" || got.Scope != wire.ScopeWrite || len(got.Agents) != 1 || !got.Used.Equal(now) {
		t.Fatalf("%+v %v", got, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if list, err := openTokens(t, path, clock).List(t.Context()); err != nil || len(list) != 1 || !list[0].Used.Equal(now) {
		t.Errorf("%+v %v", list, err)
	}
	now = now.Add(time.Hour)
	if _, err := again.Check(t.Context(), made.Secret); wire.KindOf(err) != wire.NoToken {
		t.Errorf("after it expired: %v", err)
	}
	// A name can be reused when its token is no longer valid.
	if _, err := again.Create(t.Context(), wire.NewToken{Name: "phone", Scope: wire.ScopeRead}); err != nil {
		t.Error(err)
	}
	if _, err := again.Create(t.Context(), wire.NewToken{Name: "phone", Scope: wire.ScopeRead}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("a name twice: %v", err)
	}
}

func TestTokensOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	ours, theirs := openTokens(t, path, nil), openTokens(t, path, nil)
	made, err := theirs.Create(t.Context(), wire.NewToken{Name: "x", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Check(t.Context(), made.Secret); err != nil {
		t.Errorf("one made by others: %v", err)
	}
	if _, err := theirs.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Check(t.Context(), made.Secret); err == nil {
		t.Error("a token revoked by another process is accepted")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if list, err := ours.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("without a file: %v %v", list, err)
	}
}

// TestUnreadableTokenFile checks that with an unreadable file all tokens are rejected and the
// file is not overwritten.
func TestUnreadableTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	tokens := openTokens(t, path, nil)
	made, err := tokens.Create(t.Context(), wire.NewToken{Name: "x", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	good, _ := os.ReadFile(path)
	for name, content := range map[string]string{"half": string(good[:len(good)/2]), "empty": "", "version": `{"version":2}`, "list": `[]`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := token.Open(t.Context(), token.NewFile(vfs.OS{}, path), nil); err == nil {
			t.Errorf("%s: opened", name)
		}
		if _, err := tokens.Check(t.Context(), made.Secret); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, err := tokens.Create(t.Context(), wire.NewToken{Name: "y", Scope: wire.ScopeRead}); err == nil {
			t.Errorf("%s: made another", name)
		}
		if data, _ := os.ReadFile(path); string(data) != content {
			t.Errorf("%s: overwritten with %s", name, data)
		}
	}
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o622); err != nil {
		t.Fatal(err)
	}
	if _, err := token.Open(t.Context(), token.NewFile(vfs.OS{}, path), nil); err == nil {
		t.Error("a file that others may change was trusted")
	}
}

// TestTokensOfUnknownOutcome fails the directory sync after the rename: the outcome is
// unknown, the change is visible, and repeating it makes it durable.
func TestTokensOfUnknownOutcome(t *testing.T) {
	files := faultfs.New()
	if err := files.MkdirAll("/home"); err != nil {
		t.Fatal(err)
	}
	open := func(files *faultfs.FS) *token.Book {
		tokens, err := token.Open(t.Context(), token.NewFile(files, "/home/tokens.json"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return tokens
	}
	tokens := open(files)
	made, err := tokens.Create(t.Context(), wire.NewToken{Name: "made", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	files.FailNth(1, faultfs.Fault{Of: faultfs.Rename, Err: errors.New("no")})
	if _, err := tokens.Create(t.Context(), wire.NewToken{Name: "x", Scope: wire.ScopeRead}); !errors.Is(err, firn.ErrNotSaved) || errors.Is(err, firn.ErrUnknownOutcome) {
		t.Errorf("without a rename: %v", err)
	}
	files.FailNth(1, faultfs.Fault{Of: faultfs.SyncDir, Err: errors.New("no")})
	if _, err := tokens.Revoke(t.Context(), made.ID); !errors.Is(err, firn.ErrUnknownOutcome) {
		t.Errorf("without a sync: %v", err)
	}
	if _, err := open(files.Crash()).Check(t.Context(), made.Secret); err != nil {
		t.Errorf("the sync that failed made it durable: %v", err)
	}
	if _, err := tokens.Revoke(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
	if _, err := open(files.Crash()).Check(t.Context(), made.Secret); err == nil {
		t.Error("it was revoked, that was acknowledged, and a power cut undid it")
	}
}

func TestTokensThatCannotBeSaved(t *testing.T) {
	files := faultfs.New()
	if err := files.MkdirAll("/home"); err != nil {
		t.Fatal(err)
	}
	tokens, err := token.Open(t.Context(), token.NewFile(files, "/home/tokens.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	keep, err := tokens.Create(t.Context(), wire.NewToken{Name: "keep", Scope: wire.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	full := faultfs.Fault{Of: faultfs.Sync, Err: errors.New("the disk is full")}
	files.FailNth(1, full)
	if _, err := tokens.Create(t.Context(), wire.NewToken{Name: "x", Scope: wire.ScopeRead}); !errors.Is(err, firn.ErrNotSaved) {
		t.Errorf("made: %v", err)
	}
	if list, err := tokens.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	files.FailNth(1, full)
	if _, err := tokens.Revoke(t.Context(), keep.ID); !errors.Is(err, firn.ErrNotSaved) {
		t.Errorf("revoked: %v", err)
	}
	if _, err := tokens.Check(t.Context(), keep.Secret); err == nil {
		t.Error("a token to be revoked is accepted")
	}
}

func TestInvalidTokens(t *testing.T) {
	tokens := openTokens(t, filepath.Join(t.TempDir(), "tokens.json"), nil)
	for _, n := range []wire.NewToken{
		{}, {Name: "x"}, {Name: "x", Scope: "root"}, {Scope: wire.ScopeRead}, {Name: "a\nb", Scope: wire.ScopeRead}, {Name: strings.Repeat("x", 65), Scope: wire.ScopeRead},
		{Name: "x", Scope: wire.ScopeRead, Expires: time.Unix(1, 0)}, {Name: "x", Scope: wire.ScopeAdmin, Agents: []string{"main"}}, {Name: "x", Scope: wire.ScopeRead, Keys: []string{""}},
	} {
		if _, err := tokens.Create(t.Context(), n); wire.KindOf(err) != wire.Invalid {
			t.Errorf("%+v: %v", n, err)
		}
	}
}

func TestConcurrentTokens(t *testing.T) {
	tokens := openTokens(t, filepath.Join(t.TempDir(), "tokens.json"), nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			made, err := tokens.Create(t.Context(), wire.NewToken{Name: string(rune('a' + i)), Scope: wire.ScopeRead})
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				if _, err := tokens.Check(t.Context(), made.Secret); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if list, err := tokens.List(t.Context()); err != nil || len(list) != 8 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
}
