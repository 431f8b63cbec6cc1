package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/find/search"
)

// Scope is the scope of notes: who they are about, and so who may see them.
type Scope string

// The scopes of notes.
const (
	// ScopeAgent is for notes of an agent's own conversations.
	ScopeAgent Scope = "agent"
	// ScopeUser is for notes of conversations with one person or group, identified by a
	// key.
	ScopeUser Scope = "user"
	// ScopeProject is for notes about a project directory.
	ScopeProject Scope = "project"
)

// Shelf holds the folders of notes that apply to a conversation. Those that do not apply
// are nil.
type Shelf struct {
	Agent, User, Project *Dir
	// Past searches earlier conversations; nil means that only notes are recalled.
	Past Search
}

// Search finds at most limit earlier messages for a query, best first.
type Search func(ctx context.Context, query string, limit int) ([]PastMessage, error)

// PastMessage is an earlier message.
type PastMessage struct {
	Session firn.ID
	Entry   firn.EntryID
	// Title is the title of the session.
	Title string
	// Text is the message with the context needed to understand it.
	Text string
	Time time.Time
	// Relevance is the estimated probability that the message is about the query.
	Relevance float64
}

// Hit is a recalled note or message.
type Hit struct {
	// Scope is the scope of a note; empty for a message.
	Scope Scope
	// Ref is the reference of the note or fact; for a message it is session/entry.
	Ref string
	// Title is the title of the note or the session.
	Title, Text string
	// Type is the category of a fact or the type of a note.
	Type string
	// Confidence is the confidence; zero if not given.
	Confidence float64
	Time       time.Time
	Sources    []Source
	// Score is how well it matches, from 0 to 1.
	Score float64
	// Age is its age; zero if unknown.
	Age time.Duration
	// Replaces are the older notes that this one contradicts, which are left out. Disputed
	// is the newer note that contradicts a part of this one.
	Replaces []string
	Disputed string
}

// Limits limits the recalled text. The zero value means the defaults.
type Limits struct {
	// Count is the maximum number of pieces; zero means 5. Bytes is their maximum total
	// length; zero means 4096.
	Count, Bytes int
	// Floor is the minimum score, from 0 to 1; zero means 0.25, a negative value no
	// minimum. Least is the minimum score of the best message: below it no message is
	// recalled.
	Floor, Least float64
	// Now is the reference time for ages; zero means that ages are not set.
	Now time.Time
}

func (l Limits) withDefaults() Limits {
	return Limits{Count: cmp.Or(l.Count, 5), Bytes: cmp.Or(l.Bytes, 4096), Floor: cmp.Or(l.Floor, 0.25), Least: l.Least, Now: l.Now}
}

// BytesFor returns the number of bytes of a share of a window in tokens, estimated at four
// bytes per token; at most most.
func BytesFor(window int64, share float64, most int) int {
	return int(min(float64(most), float64(window)*share*4))
}

// Folder is a folder of notes and its scope.
type Folder struct {
	Scope Scope
	Dir   *Dir
}

// Folders returns the folders that apply, the most specific first.
func (s Shelf) Folders() []Folder {
	all := []Folder{{ScopeUser, s.User}, {ScopeProject, s.Project}, {ScopeAgent, s.Agent}}
	return slices.DeleteFunc(all, func(f Folder) bool { return f.Dir == nil })
}

// Find finds notes for a query, best first. Those with a score below floor are left out.
func (s Shelf) Find(ctx context.Context, query string, limit int, floor float64) ([]Hit, error) {
	hits, _, err := s.find(ctx, query, floor)
	return hits[:min(len(hits), max(limit, 0))], err
}

// find returns the notes with at least a relevance, best first, and all pieces.
func (s Shelf) find(ctx context.Context, query string, floor float64) ([]Hit, []scoped, error) {
	var all []scoped
	var texts []search.Text
	for _, f := range s.Folders() {
		pieces, err := f.Dir.pieces(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range pieces {
			all, texts = append(all, scoped{p, f.Scope}), append(texts, p.words)
		}
	}
	var hits []Hit
	for i, score := range search.RankTexts(query, texts) {
		if score > 0 && score >= floor {
			hits = append(hits, all[i].hit(score))
		}
	}
	slices.SortStableFunc(hits, better)
	return hits, all, nil
}

// better orders hits by score weighted by confidence, then notes before messages, then newest
// first.
func better(a, b Hit) int {
	sure := func(h Hit) float64 { return h.Score * (0.8 + 0.2*cmp.Or(h.Confidence, 1)) }
	noted := func(h Hit) int { return min(len(h.Scope), 1) }
	return cmp.Or(cmp.Compare(sure(b), sure(a)), cmp.Compare(noted(b), noted(a)), b.Time.Compare(a.Time))
}

// Recall finds the best notes and earlier messages for a query, within limits. The result
// may be empty. If the search of messages fails, the error is returned together with the
// notes.
func (s Shelf) Recall(ctx context.Context, query string, limits Limits) ([]Hit, error) {
	limits = limits.withDefaults()
	hits, all, err := s.find(ctx, query, limits.Floor)
	if err != nil || search.Words(query).Want == nil {
		return nil, err
	}
	hits = yield(hits, all)
	hits = hits[:min(len(hits), limits.Count)]
	if s.Past != nil {
		past, perr := s.Past(ctx, query, limits.Count)
		if err = perr; perr != nil {
			err = fmt.Errorf("recall earlier messages: %w", perr)
		}
		hits = append(hits, pastHits(past, hits, limits)...)
		slices.SortStableFunc(hits, better)
	}
	for i := range hits {
		if h := &hits[i]; !limits.Now.IsZero() && !h.Time.IsZero() {
			h.Age = max(limits.Now.Sub(h.Time), 0)
		}
	}
	return fit(hits, limits), err
}

// pastHits returns the messages that are relevant and not already covered by notes. If the
// best of them is below limits.Least, none is.
func pastHits(past []PastMessage, notes []Hit, limits Limits) []Hit {
	noted := make(map[Source]bool)
	for _, h := range notes {
		for _, s := range h.Sources {
			noted[s] = true
		}
	}
	best := 0.0
	for _, p := range past {
		best = max(best, p.Relevance)
	}
	if best < limits.Least {
		return nil
	}
	var hits []Hit
	for _, p := range past {
		if at := (Source{p.Session, p.Entry}); !noted[at] && p.Relevance > 0 && p.Relevance >= limits.Floor {
			hits = append(hits, Hit{Ref: at.String(), Title: p.Title, Text: p.Text, Time: p.Time, Sources: []Source{at}, Score: p.Relevance})
		}
	}
	return hits
}

// maxHitBytes is the maximum length of a hit's text.
const maxHitBytes = 1024

// fit cuts hits to the limits, keeping complete ones first.
func fit(hits []Hit, limits Limits) []Hit {
	var kept []Hit
	room := limits.Bytes
	for _, h := range hits {
		if len(kept) == limits.Count {
			break
		}
		h.Text = shorten(h.Text, maxHitBytes)
		size := len(formatHit(len(kept)+1, h))
		if size > room {
			continue
		}
		room -= size
		kept = append(kept, h)
	}
	return kept
}

// shorten cuts a text at the end of a word.
func shorten(text string, most int) string {
	text, _ = firn.CleanText(strings.TrimSpace(text))
	if len(text) <= most {
		return text
	}
	cut := firn.CutText(text, most-len("…"))
	if at := strings.LastIndexAny(cut, " \n"); at > most/2 {
		cut = cut[:at]
	}
	return strings.TrimSpace(cut) + "…"
}

// FormatHits formats hits for a model, each marked with its source. It is empty if there are
// none.
func FormatHits(hits []Hit) string {
	var b strings.Builder
	for i, h := range hits {
		b.WriteString(formatHit(i+1, h))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// formatHit formats one hit. Its text is indented, so that no line of it looks like the marker
// of another hit.
func formatHit(n int, h Hit) string {
	var about []string
	if h.Scope == "" {
		about = append(about, "said in session "+h.Ref)
	} else {
		about = append(about, "note "+string(h.Scope)+"/"+h.Ref)
	}
	if h.Title != "" {
		about = append(about, "“"+strings.Join(strings.Fields(firn.CutText(h.Title, 80)), " ")+"”")
	}
	if h.Type != "" {
		about = append(about, strings.Join(strings.Fields(firn.CutText(h.Type, 40)), " "))
	}
	if h.Confidence > 0 {
		about = append(about, fmt.Sprintf("%d%% sure", int(math.Round(h.Confidence*100))))
	}
	if !h.Time.IsZero() {
		about = append(about, h.Time.Format(dayFormat))
	}
	if h.Age >= oldAfter {
		about = append(about, oldText(h.Age))
	}
	if len(h.Replaces) > 0 {
		about = append(about, "replaces the older "+strings.Join(h.Replaces, ", "))
	}
	if h.Disputed != "" {
		about = append(about, "in part contradicted by the newer "+h.Disputed)
	}
	if h.Scope != "" && len(h.Sources) > 0 {
		about = append(about, "from "+h.Sources[0].String())
	}
	return fmt.Sprintf("[%d] %s\n  %s\n", n, strings.Join(about, ", "), strings.ReplaceAll(h.Text, "\n", "\n  "))
}

// oldAfter is the age from which a piece is marked as old, because it may be outdated.
const oldAfter = 30 * 24 * time.Hour

// oldText describes the age of a piece.
func oldText(age time.Duration) string {
	const month = 30 * 24 * time.Hour
	n, unit := int(age/month), "month"
	if n >= 24 {
		n, unit = int(age/(365*24*time.Hour)), "year"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s old: may be out of date", n, unit)
}
