package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"firn.dev"
	"firn.dev/internal/gateway/view"
	"firn.dev/store"
	"firn.dev/wire"
)

// Resolve finds the session that a name means: by its id; by its title, or its first
// prompt where lists show that; by @ and the key that points at it; by the beginning or
// the end of its id, of four characters or more; by the beginning of its title or
// prompt, as long; by whole words of them. The first of these that fits any session counts. Ids of one
// day begin alike, so their ends tell them apart. Archived and hidden sessions are found
// too, those in the bin are not. That it means none or several is a [wire.Problem] of
// kind NotFound or Ambiguous, which names some of them.
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
	name := newSessionName(ref)
	var found [byWords + 1]matches
	for info, err := range g.Every(ctx, store.Query{}) {
		if err != nil {
			return "", fmt.Errorf("find session %q: %w", view.Clip(ref), err)
		}
		if how := name.fits(&info); how != fitsNot {
			found[how].add(&info)
		}
	}
	for how := byTitle; how < byWords; how++ {
		if found[how].count > 0 {
			return found[how].one(ref)
		}
	}
	return found[byWords].one(ref)
}

// fit is how a name fits a session, the best first.
type fit int

const (
	fitsNot fit = iota
	byTitle
	byIDBegin
	byIDEnd
	byTitleBegin
	byWords
)

// sessionName is what a person calls a session.
type sessionName struct {
	text, folded string
	words        []string
}

// newSessionName reads a name. Lists cut long ones, and mark that with an ellipsis.
func newSessionName(ref string) sessionName {
	folded := strings.ToLower(strings.TrimRight(strings.TrimSpace(ref), "…"))
	return sessionName{text: ref, folded: folded, words: strings.Fields(folded)}
}

// fits reports how the name fits a session. A session is called by its title, or
// without one by its first prompt.
func (n *sessionName) fits(info *store.Info) fit {
	called := info.Title
	if called == "" {
		called = info.Prompt
	}
	shown, id := view.OneLine(called), string(info.ID)
	long := len(n.text) >= view.MinPrefix
	switch folded := strings.ToLower(shown); {
	case called != "" && (called == n.text || shown == n.text):
		return byTitle
	case long && strings.HasPrefix(id, n.text):
		return byIDBegin
	case long && strings.HasSuffix(id, n.text):
		return byIDEnd
	case len(n.words) == 0:
		return fitsNot
	case long && strings.HasPrefix(folded, n.folded):
		return byTitleBegin
	case holdsWords(folded, n.words):
		return byWords
	}
	return fitsNot
}

// holdsWords reports whether a text has all words.
func holdsWords(text string, words []string) bool {
	has := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' })
	for _, word := range words {
		if !slices.Contains(has, word) {
			return false
		}
	}
	return true
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
func (g *Gateway) mustBeIdle(id firn.ID, what string) error {
	if !g.atWork(id) {
		return nil
	}
	return &wire.Problem{Kind: wire.Busy, Message: fmt.Sprintf("%s session %s: a turn is running", what, id), Hint: "wait for the answer, or stop the turn"}
}
