package token

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"firn"
	"firn/wire"
)

// page is all that a book holds, as it is written down. What it says is decided
// here, and nothing is read or written.
type page struct {
	Version int   `json:"version"`
	Tokens  []row `json:"tokens"`
	// Codes let a browser in, each once.
	Codes []code `json:"codes,omitempty"`
}

// row is a token and the SHA-256 of its secret. The secret is 256 random bits, so
// nothing slower is needed to keep it from being guessed.
type row struct {
	wire.Token
	Hash string `json:"hash"`
	// Browser says that it was made for one that logged in; Parent is the token
	// that it comes from, without which it is no good.
	Browser bool   `json:"browser,omitempty"`
	Parent  string `json:"parent,omitempty"`
}

const version = 1

// parse reads a page; an empty one if nothing is there.
func parse(data []byte) (page, error) {
	p := page{Version: version}
	if data == nil {
		return p, nil
	}
	p.Version = 0
	if err := json.Unmarshal(data, &p); err != nil {
		return page{}, fmt.Errorf("%w: %w", firn.ErrCorrupt, err)
	}
	if p.Version != version {
		return page{}, fmt.Errorf("its version is %d, and %d is what we know: %w", p.Version, version, firn.ErrUnsupported)
	}
	return p, nil
}

func (p page) bytes() ([]byte, error) {
	data, err := json.MarshalIndent(p, "", "  ")
	return append(data, '\n'), err
}

// copy is a page that can be changed.
func (p page) copy() page {
	p.Tokens, p.Codes = slices.Clone(p.Tokens), slices.Clone(p.Codes)
	return p
}

// without is the page in which some tokens have ended.
func (p page) without(banned map[string]ending) page {
	p = p.copy()
	for i := range p.Tokens {
		if e, ok := banned[p.Tokens[i].ID]; ok {
			p.Tokens[i].end(e)
		}
	}
	return p
}

// index is where the token with an id is; -1 if there is none.
func (p page) index(id string) int {
	return slices.IndexFunc(p.Tokens, func(r row) bool { return r.ID == id })
}

// has reports whether a token is there that was about to be added.
func (p page) has(fresh row) bool {
	i := p.index(fresh.ID)
	return i >= 0 && p.Tokens[i].Hash == fresh.Hash
}

// add adds a token, if there is room.
func (p *page) add(fresh row, what string) error {
	if len(p.Tokens) >= maxTokens {
		return fmt.Errorf("%s: there are %d tokens already: %w", what, maxTokens, firn.ErrTooLarge)
	}
	p.Tokens = append(p.Tokens, fresh)
	return nil
}

// named finds the token that an id means, or the name of one that is in use.
func (p page) named(ref string, now time.Time) (int, error) {
	if i := p.index(ref); i >= 0 {
		return i, nil
	}
	found := -1
	for i, r := range p.Tokens {
		if r.Name != ref || !p.good(r, now) {
			continue
		}
		if found >= 0 { // two homes became one cluster
			return -1, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("several tokens are named %q", ref), Hint: "name it by its id, which firn token ls tells"}
		}
		found = i
	}
	if found < 0 {
		return -1, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no token %q", ref), Hint: "firn token ls lists them"}
	}
	return found, nil
}

// good reports whether a token lets in.
func (p page) good(r row, now time.Time) bool { return lives(r, now) && p.alive(r.Parent, now) }

// lives is good of the token by itself.
func lives(r row, now time.Time) bool {
	return r.Revoked.IsZero() && (r.Expires.IsZero() || now.Before(r.Expires)) && r.Scope.Known()
}

// maxLineage is how far a token can be from the one that it comes from first.
const maxLineage = 16

// alive reports whether what comes from a token may still be used; what comes
// from the owner, who has no token, always may.
func (p page) alive(token string, now time.Time) bool {
	return p.lineage(token, func(r row) bool { return lives(r, now) })
}

// comesFrom reports whether a token is another, or was made with its help.
func (p page) comesFrom(token, other string) bool {
	for range maxLineage {
		if token == other || token == "" {
			break
		}
		i := p.index(token)
		if i < 0 {
			return false
		}
		token = p.Tokens[i].Parent
	}
	return token == other
}

// first is the token that all others come from in the end which somebody made with
// the help of a token; empty for the owner.
func (p page) first(token string) string {
	for range maxLineage {
		i := p.index(token)
		if i < 0 || p.Tokens[i].Parent == "" {
			break
		}
		token = p.Tokens[i].Parent
	}
	return token
}

// join takes over the tokens of another page, and returns how many were new. One
// that is in both is revoked if it is so in either.
func (p *page) join(other page) (int, error) {
	fresh := 0
	for _, r := range other.Tokens {
		i := p.index(r.ID)
		if i < 0 {
			if err := p.add(r, "take over a token"); err != nil {
				return 0, err
			}
			fresh++
			continue
		}
		if e := r.ending(); !e.at.IsZero() {
			p.Tokens[i].end(e)
		}
	}
	return fresh, nil
}
