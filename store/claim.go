package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
)

// KeyType is the type of a [firn.Custom] entry that records a key change: {"key": name}
// binds the key to the session, {"key": name, "moved": id} records that it was bound to
// another session, and {"key": name, "released": true} that it was deleted. A binding that
// replaces one has the time of that one in "after", so that it is newer even if a clock is
// wrong.
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
	Moved firn.ID `json:"moved,omitempty"`
	// Released is set if the key was deleted.
	Released bool `json:"released,omitempty"`
	// After is the time of the claim that this one replaces, in milliseconds since 1970.
	After int64 `json:"after,omitempty"`
}

// latestClaim is the greatest valid value of After, far in the future.
const latestClaim = 1 << 52

// apply returns claims after the change, which was recorded at a time.
func (k keyChange) apply(claims []Claim, at int64) []Claim {
	if k.Moved != "" || k.Released {
		return dropClaim(claims, k.Key)
	}
	if k.After >= at && k.After < latestClaim {
		at = k.After + 1
	}
	return addClaim(claims, k.Key, at)
}

// entry returns the entry that records the change.
func (k keyChange) entry() (firn.Entry, error) {
	data, err := json.Marshal(k)
	if err != nil {
		return firn.Entry{}, fmt.Errorf("encode key %s: %w", k.Key, err)
	}
	return firn.Entry{Body: &firn.Custom{Type: KeyType, Data: data}}, nil
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
	return keyChange{Key: key, Moved: moved}.entry()
}

// ReplaceClaim returns the entries that a new session needs besides its header, so that its
// claim for a key is newer than that of the session old, which has the key now: none, unless
// the clock is behind.
func ReplaceClaim(ctx context.Context, s Store, key string, old firn.ID, now time.Time) ([]firn.Entry, error) {
	claim, _, err := ClaimOf(ctx, s, old, key)
	if errors.Is(err, firn.ErrNotFound) || err == nil && claim.At < now.UnixMilli() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e, err := keyChange{Key: key, After: claim.At}.entry()
	return []firn.Entry{e}, err
}

// ClaimOf returns the claim of a session for a key, and whether it has one. It reads back to
// the latest checkpoint.
func ClaimOf(ctx context.Context, s Store, id firn.ID, key string) (Claim, bool, error) {
	var later []firn.Entry
	for rec, err := range s.ReadBack(ctx, id, End) {
		if err != nil {
			return Claim{}, false, err
		}
		if rec.Gap != nil || rec.Glance.Kind != firn.KindHeader && rec.Glance.Kind != firn.KindCustom {
			continue
		}
		e, err := rec.Entry()
		if err != nil {
			continue
		}
		later = append(later, e)
		if b, ok := e.Body.(*firn.Custom); ok {
			if _, complete := CheckpointOf(b); complete {
				break
			}
		}
	}
	var c Checkpoint
	for _, e := range slices.Backward(later) {
		c.See(id, e)
	}
	i := slices.IndexFunc(c.Keys, func(claim Claim) bool { return claim.Key == key })
	if i < 0 {
		return Claim{}, false, nil
	}
	return c.Keys[i], true, nil
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
		if err := recordClaim(ctx, s, key, id, old); err != nil {
			return fmt.Errorf("bind key %s: %w", key, err)
		}
	}
	if err := keyed.Bind(ctx, key, id); err != nil {
		return err
	}
	if old != "" && old != id {
		if err := appendKeyEntry(ctx, s, old, keyChange{Key: key, Moved: id}); err != nil && !errors.Is(err, firn.ErrNotFound) {
			return fmt.Errorf("bind key %s: %w", key, err)
		}
	}
	return nil
}

// recordClaim records in a session that a key points to it from now on and no more to the
// session old, if there is one. A new session whose header does that already is left unchanged.
func recordClaim(ctx context.Context, s Store, key string, id, old firn.ID) error {
	var after int64
	if old != "" {
		claim, _, err := ClaimOf(ctx, s, old, key)
		if err != nil && !errors.Is(err, firn.ErrNotFound) {
			return err
		}
		after = claim.At
	}
	created, err := createdForKey(ctx, s, id, key)
	if err != nil || !created.IsZero() && created.UnixMilli() > after {
		return err
	}
	return appendKeyEntry(ctx, s, id, keyChange{Key: key, After: after})
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
	for _, one := range claimed {
		if err := appendKeyEntry(ctx, s, one, keyChange{Key: key, Released: true}); err != nil && !errors.Is(err, firn.ErrNotFound) {
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

// createdForKey returns the creation time of a session that was just created for a key: its
// header names the key, and it has only a few more entries, none of which changes a key. For
// other sessions the time is zero. It returns ErrNotFound if the session does not exist.
func createdForKey(ctx context.Context, s Store, id firn.ID, key string) (created time.Time, err error) {
	const few = 64
	n := 0
	for rec, err := range s.Read(ctx, id, Start) {
		if err != nil {
			return time.Time{}, err
		}
		if n++; n > few {
			return time.Time{}, nil
		}
		e, err := rec.Entry()
		if err != nil {
			continue
		}
		switch b := e.Body.(type) {
		case *firn.Header:
			if b.Key == key {
				created = e.Time
			}
		case *firn.Custom:
			if _, ok := keyChangeOf(b); ok {
				return time.Time{}, nil
			}
		}
		if created.IsZero() {
			return created, nil
		}
	}
	return created, nil
}

// appendKeyEntry records a key change in a session. A session that cannot be appended to,
// such as a file of another tool, is left unchanged.
func appendKeyEntry(ctx context.Context, s Store, id firn.ID, change keyChange) error {
	entry, err := change.entry()
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
