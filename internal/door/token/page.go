package token

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// page is the stored content of a book. Its methods do no I/O.
type page struct {
	Version int   `json:"version"`
	Tokens  []row `json:"tokens"`
	// Codes are one-time login codes.
	Codes []code `json:"codes,omitempty"`
}

// row is a token and the SHA-256 of its secret. The secret has 256 random bits, so a slow
// hash is not needed.
type row struct {
	wire.Token
	Hash string `json:"hash"`
	// Browser is true for the token of a browser login; Parent is the token it derives
	// from, without which it is invalid.
	Browser bool   `json:"browser,omitempty"`
	Parent  string `json:"parent,omitempty"`
}

const version = 1

// parse decodes a page; without data the page is empty.
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
		return page{}, fmt.Errorf("version %d, but only %d is supported: %w", p.Version, version, firn.ErrUnsupported)
	}
	return p, nil
}

func (p page) bytes() ([]byte, error) {
	data, err := json.MarshalIndent(p, "", "  ")
	return append(data, '\n'), err
}

// copy returns a copy that can be changed.
func (p page) copy() page {
	p.Tokens, p.Codes = slices.Clone(p.Tokens), slices.Clone(p.Codes)
	return p
}

// without returns the page with the banned tokens ended.
func (p page) without(banned map[string]ending) page {
	p = p.copy()
	for i := range p.Tokens {
		if e, ok := banned[p.Tokens[i].ID]; ok {
			p.Tokens[i].end(e)
		}
	}
	return p
}

// index returns the index of the token with an ID, or -1.
func (p page) index(id string) int {
	return slices.IndexFunc(p.Tokens, func(r row) bool { return r.ID == id })
}

// has reports whether a token that was to be added is already there.
func (p page) has(fresh row) bool {
	i := p.index(fresh.ID)
	return i >= 0 && p.Tokens[i].Hash == fresh.Hash
}

// add adds a token if there is room.
func (p *page) add(fresh row, what string) error {
	if len(p.Tokens) >= maxTokens {
		return fmt.Errorf("%s: there are already %d tokens: %w", what, maxTokens, firn.ErrTooLarge)
	}
	p.Tokens = append(p.Tokens, fresh)
	return nil
}

// find returns the index of a token given by its ID, or by its name if it is in use.
func (p page) find(ref string, now time.Time) (int, error) {
	if i := p.index(ref); i >= 0 {
		return i, nil
	}
	found := -1
	for i, r := range p.Tokens {
		if r.Name != ref || !p.valid(r, now) {
			continue
		}
		if found >= 0 { // possible after two homes were joined to one cluster
			return -1, &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("%q matches several tokens", ref), Hint: "use the id from firn token ls"}
		}
		found = i
	}
	if found < 0 {
		return -1, &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("unknown token %q", ref), Hint: "to list tokens: firn token ls"}
	}
	return found, nil
}

// valid reports whether a token is accepted.
func (p page) valid(r row, now time.Time) bool {
	return validAlone(r, now) && p.parentValid(r.Parent, now)
}

// validAlone is valid without regard to the parent.
func validAlone(r row, now time.Time) bool {
	return r.Revoked.IsZero() && (r.Expires.IsZero() || now.Before(r.Expires)) && r.Scope.Known()
}

// maxLineage is the maximum number of ancestors of a token.
const maxLineage = 16

// parentValid reports whether tokens derived from a token may be used. Tokens from the
// owner, who has no token, always may.
func (p page) parentValid(token string, now time.Time) bool {
	return p.lineage(token, func(r row) bool { return validAlone(r, now) })
}

// comesFrom reports whether a token is other, or derives from it.
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

// first returns the first ancestor of a token; empty for the owner.
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

// join adds the tokens of another page and returns the number of new ones. A token in both
// is revoked if it is revoked in either.
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
