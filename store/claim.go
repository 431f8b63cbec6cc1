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

// KeyType is the type of a [firn.Custom] entry that records a key change: {"key": name}
// binds the key to the session, {"key": name, "moved": id} records that it was bound to
// another session, and {"key": name, "released": true} that it was deleted.
const KeyType = "firn.key"

// resetType is the type of a [firn.Custom] entry that ends or resumes a session of a key,
// see docs/format.md.
const resetType = "firn.reset"

// Claim is a key bound to a session and the time of the binding, in milliseconds since
// 1970. If several sessions claim a key, the latest claim wins.
type Claim struct {
	Key string `json:"key"`
	At  int64  `json:"at"`
}

// addClaim returns claims with the key bound at a time.
func addClaim(claims []Claim, key string, at int64) []Claim {
	return append(dropClaim(claims, key), Claim{key, at})
}

// dropClaim returns claims without the key.
func dropClaim(claims []Claim, key string) []Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool { return c.Key == key })
}

// keyChange is a key change recorded in an entry.
type keyChange struct {
	Key   string  `json:"key"`
	Moved firn.ID `json:"moved"`
	// Released is set if the key was deleted.
	Released bool `json:"released"`
}

func (k keyChange) apply(claims []Claim, at int64) []Claim {
	if k.Moved != "" || k.Released {
		return dropClaim(claims, k.Key)
	}
	return addClaim(claims, k.Key, at)
}

// keyChangeOf returns the key change recorded in an entry, if any.
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

// KeyEntry returns the entry that binds a key to the session. If moved is not empty, the
// entry records that the key now points to that session instead.
func KeyEntry(key string, moved firn.ID) (firn.Entry, error) {
	data, err := json.Marshal(struct {
		Key   string  `json:"key"`
		Moved firn.ID `json:"moved,omitempty"`
	}{key, moved})
	if err != nil {
		return firn.Entry{}, fmt.Errorf("encode key %s: %w", key, err)
	}
	return firn.Entry{Body: &firn.Custom{Type: KeyType, Data: data}}, nil
}

// Bind points a key to a session, replacing an earlier binding, and records the change in
// the transcripts of both sessions, so that the key table can be rebuilt from them. It
// writes nothing to a new session whose header names the key. Use it instead of
// [Keyed.Bind], which changes only the table. It returns ErrUnsupported if the store is not
// Keyed.
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
		claims, err := createdForKey(ctx, s, id, key)
		if err == nil && !claims {
			err = appendKeyEntry(ctx, s, id, key, "")
		}
		if err != nil {
			return fmt.Errorf("bind key %s: %w", key, err)
		}
	}
	if err := keyed.Bind(ctx, key, id); err != nil {
		return err
	}
	if old != "" && old != id {
		if err := appendKeyEntry(ctx, s, old, key, id); err != nil && !errors.Is(err, firn.ErrNotFound) {
			return fmt.Errorf("bind key %s: %w", key, err)
		}
	}
	return nil
}

// Release deletes a key and records that in every session that claims it, so that a rebuilt
// key table does not contain it. The sessions are kept. It returns the session the key
// pointed to, or ErrNotFound if the key was not bound. It returns ErrUnsupported if the
// store is not an [Unbinder].
//
// Release writes to the sessions first: after a crash the key may still be bound, and
// Release can be repeated.
func Release(ctx context.Context, s Store, key string) (firn.ID, error) {
	keyed, ok := As[Keyed](s)
	table, can := As[Unbinder](s)
	if !ok || !can {
		return "", fmt.Errorf("release key %s: not supported by the store: %w", key, firn.ErrUnsupported)
	}
	id, err := keyed.Lookup(ctx, key)
	if err != nil {
		return "", err
	}
	claimed, err := sessionsClaiming(ctx, s, key)
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

// sessionsClaiming returns the sessions whose entries claim a key.
func sessionsClaiming(ctx context.Context, s Store, key string) ([]firn.ID, error) {
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

// createdForKey reports whether a session was just created for a key: its header names the
// key, and it has only a few more entries, none of which changes a key. It returns
// ErrNotFound if the session does not exist.
func createdForKey(ctx context.Context, s Store, id firn.ID, key string) (bool, error) {
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

// appendKeyEntry records in a session that a key points to it, or to moved if that is not
// empty. A session that cannot be appended to, such as a file of another tool, is left
// unchanged.
func appendKeyEntry(ctx context.Context, s Store, id firn.ID, key string, moved firn.ID) error {
	entry, err := KeyEntry(key, moved)
	if err != nil {
		return err
	}
	if _, err := s.Append(ctx, id, Any, entry); err != nil && !errors.Is(err, firn.ErrUnsupported) {
		return err
	}
	return nil
}

// noClaims is the value of [Info.BoundKeys] for a session created for a key that no longer
// points to it.
const noClaims = "-"

// encodeClaims encodes claims as a string, so that infos can be compared with ==. The
// result is empty in the usual case: the header's key, bound when the session was created.
func encodeClaims(claims []Claim, key string, created int64) string {
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

// Claims returns the keys bound to the session according to its entries, with the times of
// the bindings.
func (i *Info) Claims() []Claim {
	switch {
	case i.BoundKeys == noClaims || i.BoundKeys == "" && i.Key == "":
		return nil
	case i.BoundKeys == "":
		return []Claim{{i.Key, i.Created.UnixMilli()}}
	}
	var claims []Claim
	for line := range strings.Lines(i.BoundKeys) {
		key, at, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if ms, err := strconv.ParseInt(at, 10, 64); err == nil {
			claims = append(claims, Claim{key, ms})
		}
	}
	return claims
}

// hasKey reports whether a session claims a key or was created for it.
func (i *Info) hasKey(key string) bool {
	return i.Key == key || i.BoundKeys != "" && slices.ContainsFunc(i.Claims(), func(c Claim) bool { return c.Key == key })
}
