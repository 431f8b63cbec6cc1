package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/wire"
)

// reference is a parsed reference to an entry.
type reference struct {
	kind referenceKind
	// n is the number of an entry, or of turns before the head.
	n int
	// name is an ID, a prefix of one, or a label.
	name string
}

type referenceKind int

const (
	// byName is an ID, a label or a prefix of an ID, in this order.
	byName referenceKind = iota
	// byNumber is #n: the n-th entry of the file.
	byNumber
	// byTurns is HEAD~n: the head before the last n turns of the branch. HEAD~0 is HEAD.
	byTurns
)

const (
	// HeadName is the name of the head.
	HeadName   = "HEAD"
	turnsMark  = "~"
	numberMark = "#"
)

// parseReference parses a reference. It returns a problem of kind Invalid if that is not
// possible.
func parseReference(s string) (reference, error) {
	bad := func(why string) (reference, error) {
		return reference{}, &wire.Problem{
			Kind: wire.Invalid, Message: fmt.Sprintf("invalid entry reference %q: %s", Clip(s), why),
			Hint: "use an id or its start, a label, HEAD, HEAD~n or #n",
		}
	}
	switch {
	case s == "":
		return bad("it is empty")
	case len(s) > MaxReference:
		return bad(fmt.Sprintf("it has %d bytes, more than %d", len(s), MaxReference))
	case s == HeadName || s == HeadName+turnsMark:
		n := strings.Count(s, turnsMark)
		return reference{kind: byTurns, n: n}, nil
	case strings.HasPrefix(s, HeadName+turnsMark):
		n, ok := parseNumber(s[len(HeadName+turnsMark):])
		if !ok {
			return bad("expected a number of turns after HEAD~")
		}
		return reference{kind: byTurns, n: n}, nil
	case strings.HasPrefix(s, numberMark):
		n, ok := parseNumber(s[len(numberMark):])
		if !ok || n == 0 {
			return bad("expected the number of an entry after #, starting with 1")
		}
		return reference{kind: byNumber, n: n}, nil
	}
	return reference{kind: byName, name: s}, nil
}

// TurnsBack returns the reference to the head n turns ago.
func TurnsBack(n int) string { return reference{kind: byTurns, n: n}.String() }

// IsFree reports whether a name can be used as a label: it has no other meaning as a
// reference.
func IsFree(name string) bool {
	ref, err := parseReference(name)
	return err == nil && ref.kind == byName
}

// parseNumber parses an unsigned number.
func parseNumber(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err == nil && s[0] != '+'
}

// String formats the reference.
func (r reference) String() string {
	switch {
	case r.kind == byNumber:
		return numberMark + strconv.Itoa(r.n)
	case r.kind == byTurns && r.n == 0:
		return HeadName
	case r.kind == byTurns:
		return HeadName + turnsMark + strconv.Itoa(r.n)
	}
	return r.name
}

// FindEntry resolves a reference. [firn.Root] is the head before the first turn; it is
// returned only for HEAD~n. If no entry or several match, FindEntry returns a problem of
// kind NotFound or Ambiguous.
func (v *View) FindEntry(ctx context.Context, id firn.ID, name string) (firn.EntryID, error) {
	ref, err := parseReference(name)
	if err != nil {
		return "", err
	}
	if err := v.CheckExists(ctx, id); err != nil {
		return "", err
	}
	var found firn.EntryID
	switch ref.kind {
	case byNumber:
		found, err = v.entryNumber(ctx, id, ref)
	case byTurns:
		found, err = v.entryTurns(ctx, id, ref)
	default:
		found, err = v.entryNamed(ctx, id, ref.name)
	}
	if err != nil {
		return "", fmt.Errorf("find entry %s of session %s: %w", Clip(name), id, err)
	}
	return found, nil
}

// EntryAt is like FindEntry but rejects the root.
func (v *View) EntryAt(ctx context.Context, id firn.ID, name string) (firn.EntryID, error) {
	found, err := v.FindEntry(ctx, id, name)
	if err == nil && found == firn.Root {
		return "", NoEntry(id, name, "it is before the first turn")
	}
	return found, err
}

// NoEntry returns the problem for a missing entry.
func NoEntry(id firn.ID, name, why string) error {
	message := fmt.Sprintf("session %s has no entry %q", id, Clip(name))
	if why != "" {
		message += ": " + why
	}
	return &wire.Problem{Kind: wire.NotFound, Message: message, Hint: "to list the entries: firn tree SESSION"}
}

// entryNumber resolves an entry number.
func (v *View) entryNumber(ctx context.Context, id firn.ID, ref reference) (firn.EntryID, error) {
	found, count, err := v.numbers.entry(ctx, v.Store, id, ref.n)
	if err == nil && found == "" {
		err = NoEntry(id, ref.String(), fmt.Sprintf("it has %d", count))
	}
	return found, err
}

// entryTurns returns the head before the last n turns: the parent of the n-th user message
// from the end.
func (v *View) entryTurns(ctx context.Context, id firn.ID, ref reference) (firn.EntryID, error) {
	turns := 0
	for rec, err := range v.trail(ctx, id, fromHead()) {
		if err != nil {
			return "", err
		}
		if ref.n == 0 {
			return rec.Glance.ID, nil
		}
		if !StartsTurn(&rec) {
			continue
		}
		if turns++; turns == ref.n {
			return v.before(ctx, id, &rec)
		}
	}
	if ref.n == 0 {
		return "", NoEntry(id, ref.String(), "it has no messages yet")
	}
	if turns == 1 {
		return "", NoEntry(id, ref.String(), "its branch has 1 turn")
	}
	return "", NoEntry(id, ref.String(), fmt.Sprintf("its branch has %d turns", turns))
}

// before returns the parent of an entry of the branch; [firn.Root] if there is none.
func (v *View) before(ctx context.Context, id firn.ID, at *firn.Record) (firn.EntryID, error) {
	for older, err := range v.trail(ctx, id, fromParent(at)) {
		if err != nil {
			return "", err
		}
		return older.Glance.ID, nil
	}
	return firn.Root, nil
}

// StartsTurn reports whether a record starts a turn: it is a user message.
func StartsTurn(rec *firn.Record) bool {
	if rec.Glance.Kind != firn.KindMessage {
		return false
	}
	e, err := rec.Entry()
	if err != nil {
		return false
	}
	m, ok := e.Body.(*firn.Message)
	return ok && m.Role == firn.RoleUser
}

// entryNamed finds an entry by ID, label or ID prefix. It reads the session from its end as
// far as necessary; for a long or already known session it uses the shape.
func (v *View) entryNamed(ctx context.Context, id firn.ID, name string) (firn.EntryID, error) {
	shape, done, err := (shaper{v}).knownShape(ctx, id)
	if err != nil {
		return "", err
	}
	if shape != nil {
		defer done()
		return shape.named(name)
	}
	s := entrySearch{name: name}
	for rec, err := range readBackBounded(ctx, v.Store, id) {
		if errors.Is(err, errLong) {
			shape, done, err := v.Shape(ctx, id)
			if err != nil {
				return "", err
			}
			defer done()
			return shape.named(name)
		}
		if err != nil {
			return "", err
		}
		if IsNode(&rec) && s.visit(&rec) {
			return rec.Glance.ID, nil
		}
	}
	return s.one(id)
}

// named finds an entry by ID, label or ID prefix.
func (s *Shape) named(name string) (firn.EntryID, error) {
	if s.Tree.Find(firn.EntryID(name)) >= 0 {
		return firn.EntryID(name), nil
	}
	search := entrySearch{name: name}
	for target, label := range s.outline().Labels {
		if label == name {
			search.labeled = append(search.labeled, target)
		}
	}
	slices.Sort(search.labeled)
	for n := s.Tree.Head(); n >= 0 && len(search.labeled) == 0; n-- {
		search.addIfPrefixed(s.Tree.Node(n).ID)
	}
	return search.one(s.id)
}

// entrySearch searches records that are visited newest first.
type entrySearch struct {
	name string
	// labeled are the entries with that label, prefixed those whose ID has that prefix.
	labeled, prefixed []firn.EntryID
	// hidden are the entries hidden by tombstones so far, labelKnown the entries whose
	// latest label was seen.
	hidden, labelKnown map[firn.EntryID]bool
	// seen are the IDs seen so far, to ignore duplicates.
	seen map[firn.EntryID]bool
}

// visit visits the next older record. It returns true if the ID matches exactly.
func (s *entrySearch) visit(rec *firn.Record) bool {
	gl := &rec.Glance
	if string(gl.ID) == s.name {
		return true
	}
	switch {
	case gl.Kind == firn.KindTombstone && !s.hidden[gl.ID]:
		s.hidden = mark(s.hidden, gl.Target)
	case gl.Kind == firn.KindLabel && !s.hidden[gl.ID] && !s.labelKnown[gl.Target]:
		if e, err := rec.Entry(); err == nil {
			s.labelKnown = mark(s.labelKnown, gl.Target)
			if l, ok := e.Body.(*firn.Label); ok && l.Name == s.name {
				s.labeled = append(s.labeled, gl.Target)
			}
		}
	}
	s.addIfPrefixed(gl.ID)
	return false
}

// addIfPrefixed adds an ID if it has the prefix.
func (s *entrySearch) addIfPrefixed(id firn.EntryID) {
	if len(s.name) >= MinPrefix && strings.HasPrefix(string(id), s.name) && !s.seen[id] {
		s.seen = mark(s.seen, id)
		s.prefixed = append(s.prefixed, id)
	}
}

// mark adds an ID to a set.
func mark(set map[firn.EntryID]bool, id firn.EntryID) map[firn.EntryID]bool {
	if set == nil {
		set = make(map[firn.EntryID]bool)
	}
	set[id] = true
	return set
}

// one returns the only entry found, by label or else by ID prefix.
func (s *entrySearch) one(id firn.ID) (firn.EntryID, error) {
	found := s.labeled
	if len(found) == 0 {
		found = s.prefixed
	}
	switch len(found) {
	case 0:
		return "", NoEntry(id, s.name, "")
	case 1:
		return found[0], nil
	}
	names := make([]string, 0, MaxCandidates)
	for _, entry := range found[:min(len(found), MaxCandidates)] {
		names = append(names, string(entry))
	}
	return "", &wire.Problem{
		Kind: wire.Ambiguous, Message: fmt.Sprintf("%q matches %d entries of session %s", Clip(s.name), len(found), id),
		Hint: "matches: " + Enumerate(names, len(found)),
	}
}
