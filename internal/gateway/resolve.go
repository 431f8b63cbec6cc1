package gateway

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"firn"
	"firn/internal/view"
	"firn/store"
	"firn/wire"
)

// Resolve finds the session that somebody means: by its id, by its exact
// title, by @ and the key that points at it, or by the beginning of its id if
// that is unique and has four characters or more. Archived and hidden sessions
// are found too, those in the bin are not. That it means none or several is a
// [wire.Problem] of kind NotFound or Ambiguous, which names some of them.
func (g *Gateway) Resolve(ctx context.Context, ref string) (firn.ID, error) {
	switch {
	case ref == "" || ref == "-":
		return "", &wire.Problem{Kind: wire.Invalid, Message: "no session was named", Hint: "name it by id, title or @key; firn ls lists them"}
	case len(ref) > view.MaxReference:
		return "", &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("the name of the session has %d bytes, more than %d", len(ref), view.MaxReference)}
	case strings.HasPrefix(ref, "@"):
		return g.resolveKey(ctx, ref[1:])
	}
	if id := firn.ID(ref); id.Check() == nil {
		err := g.MustBe(ctx, id)
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, firn.ErrNotFound) {
			return "", err
		}
	}
	var titled, begun matches
	for info, err := range g.Every(ctx, store.Query{}) {
		if err != nil {
			return "", fmt.Errorf("find session %q: %w", view.Clip(ref), err)
		}
		switch {
		case info.Title == ref || info.Title != "" && view.OneLine(info.Title) == ref: // as it is, or as it is told
			titled.add(&info)
		case len(ref) >= view.MinPrefix && strings.HasPrefix(string(info.ID), ref):
			begun.add(&info)
		}
	}
	if titled.count > 0 {
		return titled.one(ref)
	}
	return begun.one(ref)
}

// matches are sessions that a name may mean.
type matches struct {
	count int
	first firn.ID
	// apart is set if they are not all named after the first, as the sessions of
	// sub-agents are.
	apart bool
	hints []string
}

func (m *matches) add(info *store.Info) {
	m.count++
	switch first := string(m.first); {
	case m.count == 1, strings.HasPrefix(first, string(info.ID)):
		m.first = info.ID
	case !strings.HasPrefix(string(info.ID), first):
		m.apart = true
	}
	if m.count <= view.MostCandidates {
		name := info.Title
		if name == "" {
			name = info.Prompt
		}
		m.hints = append(m.hints, strings.TrimSpace(string(info.ID)+" "+view.Preview(name, 40)))
	}
}

// one returns the only match, or says why there is none.
func (m *matches) one(ref string) (firn.ID, error) {
	switch m.count {
	case 0:
		return "", &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no session %q", view.Clip(ref)), Hint: "firn ls lists the sessions; firn ls --hidden and --archived those put away"}
	case 1:
		return m.first, nil
	}
	if !m.apart && m.first != "" && strings.HasPrefix(string(m.first), ref) {
		return m.first, nil
	}
	return "", &wire.Problem{
		Kind: wire.Ambiguous, Message: fmt.Sprintf("%q means %d sessions", view.Clip(ref), m.count),
		Hint: "it may be " + view.Enumerate(m.hints, m.count),
	}
}

// resolveKey finds the session a key points at. The key may be spelt as people
// do: without the word agent, or without the default agent.
func (g *Gateway) resolveKey(ctx context.Context, key string) (firn.ID, error) {
	keyed, err := g.keyed()
	if err != nil {
		return "", err
	}
	if err := store.CheckKey(key); err != nil {
		return "", &wire.Problem{Kind: wire.Invalid, Message: err.Error()}
	}
	tries := []string{key, "agent:" + key}
	if k, err := g.canonical(key); err == nil {
		tries = append(tries, k.String())
	}
	for _, try := range tries {
		id, err := keyed.Lookup(ctx, try)
		switch {
		case err == nil:
			return id, nil
		case !errors.Is(err, firn.ErrNotFound) && !errors.Is(err, firn.ErrInvalid):
			return "", fmt.Errorf("find the session of key %q: %w", view.Clip(key), err)
		}
	}
	return "", &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("key %q points at no session", view.Clip(key)), Hint: "firn keys ls lists the keys"}
}

// mustRest refuses what cannot be done while a turn of the session is running.
func (g *Gateway) mustRest(id firn.ID, what string) error {
	if !g.atWork(id) {
		return nil
	}
	return &wire.Problem{Kind: wire.Busy, Message: fmt.Sprintf("%s session %s: a turn is running", what, id), Hint: "wait for the answer, or stop the turn"}
}
