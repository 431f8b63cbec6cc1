package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"firn"
	"firn/internal/vfs"
	"firn/wire"
)

// Tokens are the tokens that let clients in over TCP. They are in a file for
// the owner alone, as hashes: who reads it cannot use them. It is safe for
// concurrent use.
type Tokens struct {
	fs    vfs.FS
	path  string
	clock func() time.Time

	mu   sync.Mutex
	book tokenBook
	// seen tells the file that was read from another that somebody put there.
	seen vfs.Info
	// unsaved says that a token was used since the file was written.
	unsaved bool
	saved   time.Time
	// watchers are told when their tokens end.
	watchers []*watcher
}

// tokenBook is the file.
type tokenBook struct {
	Version int           `json:"version"`
	Tokens  []storedToken `json:"tokens"`
}

// storedToken is a token and the SHA-256 of its secret. The secret is 256
// random bits, so nothing slower is needed to keep it from being guessed.
type storedToken struct {
	wire.Token
	Hash string `json:"hash"`
	// Browser says that it was made for one that logged in; Parent is the token
	// that it comes from, without which it is no good.
	Browser bool   `json:"browser,omitempty"`
	Parent  string `json:"parent,omitempty"`
}

const (
	// secretPrefix lets people, and programs that look for leaks, know a token
	// when they see one.
	secretPrefix = "firn_"
	secretBytes  = 32
	maxTokens    = 1000
	// usedEvery is how often it is written down that a token was used.
	usedEvery = time.Minute
)

// OpenTokens reads the tokens in a file; none if there is no file yet. A file
// that cannot be read is an error, and nobody is let in.
func OpenTokens(fsys vfs.FS, path string, clock func() time.Time) (*Tokens, error) {
	if clock == nil {
		clock = time.Now
	}
	t := &Tokens{fs: fsys, path: path, clock: clock, book: tokenBook{Version: 1}}
	t.saved = clock()
	if err := t.load(); err != nil {
		return nil, err
	}
	return t, nil
}

// Create makes a token and returns its secret, which is kept nowhere.
func (t *Tokens) Create(n wire.NewToken) (wire.Created, error) {
	if err := checkToken(n, t.clock()); err != nil {
		return wire.Created{}, err
	}
	made, secret := t.mint(n)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return wire.Created{}, err
	}
	if len(t.book.Tokens) >= maxTokens {
		return wire.Created{}, fmt.Errorf("make a token: there are %d already: %w", maxTokens, firn.ErrTooLarge)
	}
	for _, s := range t.book.Tokens {
		if s.Name == n.Name && t.good(s) {
			return wire.Created{}, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("make a token: one named %q is in use", n.Name), Hint: "revoke it first, or take another name"}
		}
	}
	t.book.Tokens = append(t.book.Tokens, storedToken{Token: made, Hash: hashOf(secret)})
	if err := t.save(); err != nil {
		t.book.Tokens = t.book.Tokens[:len(t.book.Tokens)-1]
		return wire.Created{}, err
	}
	return wire.Created{Token: made, Secret: secret}, nil
}

// mint makes up a token and its secret.
func (t *Tokens) mint(n wire.NewToken) (wire.Token, string) {
	var raw [secretBytes]byte
	rand.Read(raw[:]) // never fails: crypto/rand says so
	return wire.Token{
		ID: strings.ToLower(rand.Text()[:10]), Name: n.Name, Scope: n.Scope, Agents: n.Agents, Keys: n.Keys,
		Created: t.clock().UTC().Truncate(time.Second), Expires: n.Expires.UTC(),
	}, secretPrefix + base64.RawURLEncoding.EncodeToString(raw[:])
}

// checkToken says what is wrong with a token that somebody asks for.
func checkToken(n wire.NewToken, now time.Time) error {
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

// List returns all tokens, also those that are no good any more, oldest first.
func (t *Tokens) List() ([]wire.Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return nil, err
	}
	all := make([]wire.Token, 0, len(t.book.Tokens))
	for _, s := range t.book.Tokens {
		all = append(all, s.Token)
	}
	return all, nil
}

// Revoke takes a token back, by its id, or by its name if that is of one that
// is in use. It is no good from now on, and stays in the list. Revoking it again
// changes nothing.
func (t *Tokens) Revoke(ref string) (wire.Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return wire.Token{}, err
	}
	i := slices.IndexFunc(t.book.Tokens, func(s storedToken) bool { return s.ID == ref })
	if i < 0 {
		i = slices.IndexFunc(t.book.Tokens, func(s storedToken) bool { return s.Name == ref && t.good(s) })
	}
	if i < 0 {
		return wire.Token{}, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no token %q", ref), Hint: "firn token ls lists them"}
	}
	s := &t.book.Tokens[i]
	if s.Revoked.IsZero() {
		s.Revoked = t.clock().UTC().Truncate(time.Second)
		t.tellWatchers()
		if err := t.save(); err != nil {
			return wire.Token{}, err // in memory it stays revoked: the safe side
		}
	}
	return s.Token, nil
}

// Check returns the token of a secret. Whatever is wrong with it, the problem
// is the same: who guesses learns nothing.
func (t *Tokens) Check(secret string) (wire.Token, error) {
	token, _, err := t.check(secret)
	return token, err
}

// check is Check, and tells whether it is the token of a browser.
func (t *Tokens) check(secret string) (_ wire.Token, browser bool, _ error) {
	sum := []byte(hashOf(secret))
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(); err != nil {
		return wire.Token{}, false, err
	}
	found := -1
	for i, s := range t.book.Tokens {
		if subtle.ConstantTimeCompare(sum, []byte(s.Hash)) == 1 {
			found = i
		}
	}
	if found < 0 || !strings.HasPrefix(secret, secretPrefix) || !t.good(t.book.Tokens[found]) {
		return wire.Token{}, false, unknownToken()
	}
	s := &t.book.Tokens[found]
	now := t.clock().UTC()
	s.Used, t.unsaved = now.Truncate(time.Second), true
	if now.Sub(t.saved) >= usedEvery {
		t.saved = now // also if it fails: when it was used is not worth a refusal
		t.save()      //nolint:errcheck // tried again in a minute, and on Close
	}
	return s.Token, s.Browser, nil
}

func unknownToken() error {
	return &wire.Problem{Kind: wire.NoToken, Message: "the token is not known, has expired or was revoked", Hint: "firn token create makes a new one"}
}

// Close writes down when tokens were used.
func (t *Tokens) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.unsaved {
		return nil
	}
	return t.save()
}

// good reports whether a token lets in.
func (t *Tokens) good(s storedToken) bool { return t.lives(s) && t.alive(s.Parent, maxLineage) }

// lives is good of the token by itself.
func (t *Tokens) lives(s storedToken) bool {
	return s.Revoked.IsZero() && (s.Expires.IsZero() || t.clock().Before(s.Expires)) && s.Scope.Known()
}

// load reads the file if it is not the one that was read before: somebody may
// have made or revoked a token by other means. What it says of use is kept if
// we know better.
func (t *Tokens) load() error {
	info, err := t.fs.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		t.book.Tokens, t.seen = nil, vfs.Info{}
		t.tellWatchers()
		return nil
	}
	if err == nil && info.Same(t.seen) && info.Size == t.seen.Size && info.ModTime.Equal(t.seen.ModTime) {
		return nil
	}
	if err == nil && info.Mode.Perm()&0o022 != 0 && runtime.GOOS != "windows" { // which says so of every file
		err = fmt.Errorf("others may change it (mode %04o), and let themselves in", info.Mode.Perm())
	}
	var data []byte
	if err == nil {
		data, err = readFile(t.fs, t.path, 16<<20)
	}
	var book tokenBook
	if err == nil {
		if err = json.Unmarshal(data, &book); err != nil {
			err = fmt.Errorf("%w: %w", firn.ErrCorrupt, err)
		} else if book.Version != 1 {
			err = fmt.Errorf("its version is %d, and 1 is what we know: %w", book.Version, firn.ErrUnsupported)
		}
	}
	if err != nil {
		return fmt.Errorf("read the tokens in %s: %w", t.path, err)
	}
	for i, s := range book.Tokens {
		for _, old := range t.book.Tokens {
			if old.ID == s.ID && old.Used.After(s.Used) {
				book.Tokens[i].Used = old.Used
			}
		}
	}
	t.book, t.seen = book, info
	t.tellWatchers()
	return nil
}

// save writes the file.
func (t *Tokens) save() error {
	data, err := json.MarshalIndent(t.book, "", "  ")
	if err == nil {
		err = t.fs.MkdirAll(filepath.Dir(t.path))
	}
	if err == nil {
		err = vfs.WriteFile(t.fs, t.path, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the tokens to %s: %w: %w", t.path, firn.ErrNotSaved, err)
	}
	t.unsaved, t.saved = false, t.clock()
	if t.seen, err = t.fs.Stat(t.path); err != nil {
		t.seen = vfs.Info{} // read it again next time
	}
	return nil
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// readFile reads a file that has at most limit bytes.
func readFile(fsys vfs.FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes: %w", path, limit, firn.ErrTooLarge)
	}
	return data, err
}
