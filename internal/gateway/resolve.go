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

// Resolve finds a session by name. A name is one of these, in order of precedence: the ID; the
// title, or the first prompt of an untitled session, then the same ignoring case; @ and a key;
// a prefix or a suffix of the ID, of at least four characters; a prefix of the title or
// prompt, of the same length; whole words of it; a prefix of the first prompt of a titled
// session, then whole words of it. IDs of one day have a common prefix, so suffixes
// distinguish them. Archived and hidden sessions are included, those in the trash bin are
// not. If no session or several match, Resolve returns a [wire.Problem] of kind NotFound or
// Ambiguous that names candidates.
func (g *sessionReader) Resolve(ctx context.Context, ref string) (firn.ID, error) {
	switch {
	case ref == "" || ref == "-":
		return "", &wire.Problem{Kind: wire.Invalid, Message: "no session given", Hint: "use its id, title or @key; to list sessions: firn ls"}
	case len(ref) > view.MaxReference:
		return "", &wire.Problem{Kind: wire.Invalid, Message: fmt.Sprintf("the session reference has %d bytes, more than %d", len(ref), view.MaxReference)}
	case strings.HasPrefix(ref, "@"):
		id, err := g.keys.resolveKey(ctx, ref[1:])
		if strings.Contains(ref, ":") || !isMissing(err) {
			return id, err // the list is not read for a key
		}
		if named, err := g.resolveName(ctx, ref); err == nil { // a title may begin so too
			return named, nil
		}
		return "", err
	}
	if id := firn.ID(ref); id.Check() == nil {
		err := g.CheckExists(ctx, id)
		if err == nil {
			return id, nil
		}
		if !errors.Is(err, firn.ErrNotFound) {
			return "", err
		}
	}
	return g.resolveName(ctx, ref)
}

// isMissing reports whether nothing was found, or the reference is no valid key.
func isMissing(err error) bool {
	return errors.Is(err, firn.ErrNotFound) || errors.Is(err, firn.ErrInvalid)
}

// resolveName finds a session by title, prompt, or a part of its ID.
func (g *sessionReader) resolveName(ctx context.Context, ref string) (firn.ID, error) {
	name := newSessionName(ref)
	var found [byPromptWords + 1]matches
	for info, err := range g.Every(ctx, store.Query{}) {
		if err != nil {
			return "", fmt.Errorf("find session %q: %w", view.Clip(ref), err)
		}
		if how := name.fits(&info); how != fitsNot {
			found[how].add(&info)
		}
	}
	for how := byTitle; how < byPromptWords; how++ {
		if found[how].count > 0 {
			return found[how].one(ref)
		}
	}
	return found[byPromptWords].one(ref)
}

// fit is how a name matches a session, best first.
type fit int

const (
	fitsNot fit = iota
	byTitle
	byFoldedTitle
	byIDBegin
	byIDEnd
	byTitleBegin
	byWords
	byPrompt
	byPromptWords
)

// sessionName is a session name given by the user.
type sessionName struct {
	text, folded string
	words        []string
}

// newSessionName parses a name. It removes the marks of lists: the arrow of sub-agents and
// the ellipsis of truncated titles.
func newSessionName(ref string) sessionName {
	folded := strings.ToLower(strings.TrimRight(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(ref), "↳ ")), "…"))
	return sessionName{text: ref, folded: folded, words: strings.Fields(folded)}
}

// fits returns how the name matches a session's title, or its first prompt if it is
// untitled. The start and words of the first prompt match in any case.
func (n *sessionName) fits(info *store.Info) fit {
	called := info.Title
	if called == "" {
		called = info.Prompt
	}
	shown, id := view.OneLine(called), string(info.ID)
	prompt := strings.ToLower(view.OneLine(info.Prompt))
	long := len(n.text) >= view.MinPrefix
	switch folded := strings.ToLower(shown); {
	case called != "" && (called == n.text || shown == n.text):
		return byTitle
	case folded != "" && folded == n.folded:
		return byFoldedTitle
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
	case long && strings.HasPrefix(prompt, n.folded):
		return byPrompt
	case holdsWords(prompt, n.words):
		return byPromptWords
	}
	return fitsNot
}

// holdsWords reports whether a text contains all words.
func holdsWords(text string, words []string) bool {
	has := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' })
	for _, word := range words {
		if !slices.Contains(has, word) {
			return false
		}
	}
	return true
}

// matches are the sessions that match a name.
type matches struct {
	count int
	first firn.ID
	// apart is set if their IDs do not all have the first one as a prefix, as those of
	// sub-agents do.
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
	if m.count <= view.MaxCandidates {
		name := info.Title
		if name == "" {
			name = info.Prompt
		}
		m.hints = append(m.hints, strings.TrimSpace(string(info.ID)+" "+view.Preview(name, 40)))
	}
}

// one returns the only match, or an error.
func (m *matches) one(ref string) (firn.ID, error) {
	switch m.count {
	case 0:
		return "", &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("there is no session %q", view.Clip(ref)), Hint: "to list sessions: firn ls, also with --hidden or --archived"}
	case 1:
		return m.first, nil
	}
	if !m.apart && m.first != "" && strings.HasPrefix(string(m.first), ref) {
		return m.first, nil
	}
	return "", &wire.Problem{
		Kind: wire.Ambiguous, Message: fmt.Sprintf("%q matches %d sessions", view.Clip(ref), m.count),
		Hint: "matches: " + view.Enumerate(m.hints, m.count),
	}
}

// resolveKey returns the session that a key points at. The prefix "agent:" and the default
// agent may be omitted.
func (g *keyTable) resolveKey(ctx context.Context, key string) (firn.ID, error) {
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
	return "", &wire.Problem{Kind: wire.NotFound, Message: fmt.Sprintf("key %q has no session", view.Clip(key)), Hint: "to list keys: firn keys ls"}
}

// hold keeps other processes from starting a turn of the session until leave is called. It fails
// if a turn is running, here or in another process.
func (g *lanes) hold(ctx context.Context, id firn.ID, what string) (leave func(), err error) {
	if err := g.mustBeIdle(id, what); err != nil {
		return nil, err
	}
	if g.Enter == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return g.Enter(ctx, id, func() { cancel(turnRuns(id, what)) })
}

// mustBeIdle returns an error if a turn of the session is running in this process.
func (g *lanes) mustBeIdle(id firn.ID, what string) error {
	if !g.atWork(id) {
		return nil
	}
	return turnRuns(id, what)
}

// turnRuns is the error of a change that has to wait for a turn.
func turnRuns(id firn.ID, what string) error {
	return &wire.Problem{Kind: wire.Busy, Message: fmt.Sprintf("%s session %s: a turn is running", what, id), Hint: "wait for the answer, or stop the turn"}
}
