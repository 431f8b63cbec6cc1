package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
)

// KeyType is the type of a [firn.Custom] entry that says that a key points at the
// session from then on: {"key": name}, or that it points elsewhere:
// {"key": name, "moved": id of the other session}, or nowhere:
// {"key": name, "released": true}.
const KeyType = "firn.key"

// resetType is the type of a [firn.Custom] entry that ends or resumes a session of a
// key, see docs/format.md.
const resetType = "firn.reset"

// Claim is a key that points at a session since a time, in milliseconds since 1970.
// Of several sessions that claim a key, the one that did so last has it.
type Claim struct {
	Key string `json:"key"`
	At  int64  `json:"at"`
}

// addClaim notes that a key points at the session since a time.
func addClaim(claims []Claim, key string, at int64) []Claim {
	return append(dropClaim(claims, key), Claim{key, at})
}

// dropClaim notes that a key points elsewhere.
func dropClaim(claims []Claim, key string) []Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool { return c.Key == key })
}

// keyChange is what an entry says about a key.
type keyChange struct {
	Key   string  `json:"key"`
	Moved firn.ID `json:"moved"`
	// Released says that the key points nowhere.
	Released bool `json:"released"`
}

func (k keyChange) apply(claims []Claim, at int64) []Claim {
	if k.Moved != "" || k.Released {
		return dropClaim(claims, k.Key)
	}
	return addClaim(claims, k.Key, at)
}

// keyChangeOf returns what an entry says about a key, if it does.
func keyChangeOf(b *firn.Custom) (keyChange, bool) {
	var k keyChange
	switch b.Type {
	case KeyType:
		if json.Unmarshal(b.Data, &k) != nil {
			return k, false
		}
	case resetType:
		var mark struct {
			Key     string  `json:"key"`
			Next    firn.ID `json:"next"`
			Resumed bool    `json:"resumed"`
		}
		if json.Unmarshal(b.Data, &mark) != nil || mark.Next == "" && !mark.Resumed {
			return k, false
		}
		k = keyChange{Key: mark.Key, Moved: mark.Next}
	}
	return k, CheckKey(k.Key) == nil
}

// KeyEntry makes the entry that says that a key points at the session, or, if moved
// is not empty, at that one instead.
func KeyEntry(key string, moved firn.ID) (firn.Entry, error) {
	data, err := json.Marshal(struct {
		Key   string  `json:"key"`
		Moved firn.ID `json:"moved,omitempty"`
	}{key, moved})
	if err != nil {
		return firn.Entry{}, fmt.Errorf("spell key %s: %w", key, err)
	}
	return firn.Entry{Body: &firn.Custom{Type: KeyType, Data: data}}, nil
}

// Bind points a key at a session, wherever it pointed before, and writes that into the
// transcripts: into the session if its header does not say so already, and into the one
// that the key pointed at. So the table of keys can be rebuilt from the transcripts.
// Use it rather than [Keyed.Bind], which changes the table alone. A store that is not
// Keyed gives ErrUnsupported.
func Bind(ctx context.Context, s Store, key string, id firn.ID) error {
	keyed, ok := As[Keyed](s)
	if !ok {
		return fmt.Errorf("bind key %s: the store keeps no keys: %w", key, firn.ErrUnsupported)
	}
	if err := CheckKey(key); err != nil {
		return err
	}
	old, err := keyed.Lookup(ctx, key)
	if err != nil && !errors.Is(err, firn.ErrNotFound) {
		return err
	}
	if old != id {
		claims, err := begunFor(ctx, s, id, key)
		if err == nil && !claims {
			err = addKey(ctx, s, id, key, "")
		}
		if err != nil {
			return fmt.Errorf("bind key %s: %w", key, err)
		}
	}
	if err := keyed.Bind(ctx, key, id); err != nil {
		return err
	}
	if old != "" && old != id {
		if err := addKey(ctx, s, old, key, id); err != nil && !errors.Is(err, firn.ErrNotFound) {
			return fmt.Errorf("bind key %s: %w", key, err)
		}
	}
	return nil
}

// Release makes a key point nowhere, and writes that into every session that claims it,
// so that a rebuilt table of keys does not have it again. The sessions stay. It returns
// the session that the key pointed at, or ErrNotFound if it pointed nowhere. A store
// that is not an [Unbinder] gives ErrUnsupported.
//
// Released sessions are written first: after a crash in between the key still points at
// its session, and Release can be called again.
func Release(ctx context.Context, s Store, key string) (firn.ID, error) {
	keyed, ok := As[Keyed](s)
	table, can := As[Unbinder](s)
	if !ok || !can {
		return "", fmt.Errorf("release key %s: the store cannot take keys away: %w", key, firn.ErrUnsupported)
	}
	id, err := keyed.Lookup(ctx, key)
	if err != nil {
		return "", err
	}
	claimed, err := claimants(ctx, s, key)
	if err != nil {
		return "", fmt.Errorf("release key %s: %w", key, err)
	}
	data, err := json.Marshal(struct {
		Key      string `json:"key"`
		Released bool   `json:"released"`
	}{key, true})
	if err != nil {
		return "", fmt.Errorf("release key %s: %w", key, err)
	}
	for _, one := range claimed {
		entry := firn.Entry{Body: &firn.Custom{Type: KeyType, Data: data}}
		if _, err := s.Append(ctx, one, Any, entry); err != nil && !errors.Is(err, firn.ErrUnsupported) && !errors.Is(err, firn.ErrNotFound) {
			return "", fmt.Errorf("release key %s: %w", key, err)
		}
	}
	return id, table.Unbind(ctx, key)
}

// claimants are the sessions whose entries say that a key points at them.
func claimants(ctx context.Context, s Store, key string) ([]firn.ID, error) {
	var ids []firn.ID
	for _, away := range []Query{{}, {Archived: true}, {Hidden: true}, {Archived: true, Hidden: true}} {
		away.Key = key
		for info, err := range s.List(ctx, away) {
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(info.Claims(), func(c Claim) bool { return c.Key == key }) {
				ids = append(ids, info.ID)
			}
		}
	}
	return ids, nil
}

// begunFor reports whether a session was begun just now for a key: its header names the
// key, and the few entries behind it say nothing else. A session that is not there is
// ErrNotFound.
func begunFor(ctx context.Context, s Store, id firn.ID, key string) (bool, error) {
	const few = 64
	n, ours := 0, false
	for rec, err := range s.Read(ctx, id, Start) {
		if err != nil {
			return false, err
		}
		if n++; n > few {
			return false, nil
		}
		e, err := rec.Entry()
		if err != nil {
			continue
		}
		switch b := e.Body.(type) {
		case *firn.Header:
			ours = b.Key == key
		case *firn.Custom:
			if _, ok := keyChangeOf(b); ok {
				return false, nil
			}
		}
		if !ours {
			return false, nil
		}
	}
	return ours, nil
}

// addKey writes into a session that a key points at it, or elsewhere. One that cannot
// be added to, such as the file of another tool, stays as it is.
func addKey(ctx context.Context, s Store, id firn.ID, key string, moved firn.ID) error {
	entry, err := KeyEntry(key, moved)
	if err != nil {
		return err
	}
	if _, err := s.Append(ctx, id, Any, entry); err != nil && !errors.Is(err, firn.ErrUnsupported) {
		return err
	}
	return nil
}

// noClaims is how an info spells that no key points at the session though it was begun
// for one.
const noClaims = "-"

// spellClaims spells claims as one text, so that two infos can be compared. That the key
// of the header points at the session since it was created is the empty text.
func spellClaims(claims []Claim, key string, created int64) string {
	if key == "" && len(claims) == 0 || key != "" && len(claims) == 1 && claims[0] == (Claim{key, created}) {
		return ""
	}
	if len(claims) == 0 {
		return noClaims
	}
	var b strings.Builder
	for _, c := range claims {
		fmt.Fprintf(&b, "%s\t%d\n", c.Key, c.At)
	}
	return b.String()
}

// Claims returns the keys that point at the session as far as its entries say, and
// since when.
func (i *Info) Claims() []Claim {
	switch {
	case i.Held == noClaims || i.Held == "" && i.Key == "":
		return nil
	case i.Held == "":
		return []Claim{{i.Key, i.Created.UnixMilli()}}
	}
	var claims []Claim
	for line := range strings.Lines(i.Held) {
		key, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ms, err := strconv.ParseInt(at, 10, 64); err == nil {
			claims = append(claims, Claim{key, ms})
		}
	}
	return claims
}

// hasKey reports whether a session claims a key, or was begun for it.
func (i *Info) hasKey(key string) bool {
	return i.Key == key || i.Held != "" && slices.ContainsFunc(i.Claims(), func(c Claim) bool { return c.Key == key })
}
