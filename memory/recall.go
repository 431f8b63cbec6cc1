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
)

// Scope says whom notes are about, and so who gets to see them.
type Scope string

// The scopes of notes.
const (
	// ScopeAgent is what an agent knows in its own conversations.
	ScopeAgent Scope = "agent"
	// ScopeUser is what it knows in conversations with one person or group,
	// which a key names.
	ScopeUser Scope = "user"
	// ScopeProject is what belongs to a directory that is worked on.
	ScopeProject Scope = "project"
)

// Shelf is the folders of notes that count in a conversation. Those that do
// not are nil.
type Shelf struct {
	Agent, User, Project *Dir
	// Past looks for what was said in earlier conversations; nil: only notes
	// are recalled.
	Past Search
}

// Search finds what was said that fits a query, the best first, at most limit
// of it.
type Search func(ctx context.Context, query string, limit int) ([]Past, error)

// Past is something that was said before.
type Past struct {
	Session firn.ID
	Entry   firn.EntryID
	// Title is that of the session.
	Title string
	// Text is what was said, with as much around it as is needed to understand
	// it.
	Text string
	Time time.Time
}

// Hit is something that was recalled.
type Hit struct {
	// Scope is that of a note, empty for something that was said.
	Scope Scope
	// Ref names the note, or the fact in it; for something that was said it is
	// session/entry.
	Ref string
	// Title is that of the note or the session.
	Title, Text string
	// Type is the category of a fact or the type of a note.
	Type string
	// Confidence is how sure it is, zero if that is not said.
	Confidence float64
	Time       time.Time
	Sources    []Source
	// Score is how well it fits, from 0 to 1.
	Score float64
	// Age is how old it is, zero if that is not known.
	Age time.Duration

	// rank is how far ahead of others it comes.
	rank float64
}

// Limits bound what is recalled. The zero value is good.
type Limits struct {
	// Count is how many pieces there are at most, zero means 5; Bytes how long
	// they are together, zero means 4096.
	Count, Bytes int
	// Floor is how well a piece must fit, from 0 to 1; zero means 0.25, less
	// than zero that anything does.
	Floor float64
	// Now is what ages are counted from; zero means that they are not told.
	Now time.Time
}

func (l Limits) settle() Limits {
	return Limits{Count: cmp.Or(l.Count, 5), Bytes: cmp.Or(l.Bytes, 4096), Floor: cmp.Or(l.Floor, 0.25), Now: l.Now}
}

// BytesFor is how many bytes a share of a window of so many tokens is, by the
// usual estimate of four bytes for a token; at most most.
func BytesFor(window int64, share float64, most int) int {
	return int(min(float64(most), float64(window)*share*4))
}

// Folder is a folder of notes and whom it is about.
type Folder struct {
	Scope Scope
	Dir   *Dir
}

// Folders are those that count, the most particular first.
func (s Shelf) Folders() []Folder {
	all := []Folder{{ScopeUser, s.User}, {ScopeProject, s.Project}, {ScopeAgent, s.Agent}}
	return slices.DeleteFunc(all, func(f Folder) bool { return f.Dir == nil })
}

// Find finds notes that fit a query, the best first. Those that fit less than
// floor are left out.
func (s Shelf) Find(ctx context.Context, query string, limit int, floor float64) ([]Hit, error) {
	hits, _, err := s.find(ctx, query, floor)
	return hits[:min(len(hits), max(limit, 0))], err
}

func (s Shelf) find(ctx context.Context, query string, floor float64) ([]Hit, ranking, error) {
	var all []piece
	var scopes []Scope
	for _, f := range s.Folders() {
		pieces, err := f.Dir.pieces(ctx)
		if err != nil {
			return nil, ranking{}, err
		}
		all = append(all, pieces...)
		scopes = append(scopes, slices.Repeat([]Scope{f.Scope}, len(pieces))...)
	}
	r := rank(terms(query), all)
	var hits []Hit
	for i, p := range all {
		if score, rank := r.score(p.titled, p.said); score > 0 && score >= floor {
			hits = append(hits, Hit{rank: rank, Scope: scopes[i], Ref: p.ref, Title: p.title, Text: p.text, Type: p.kind, Confidence: p.confidence, Time: p.day, Sources: p.sources, Score: score})
		}
	}
	slices.SortStableFunc(hits, better)
	return hits, r, nil
}

// better orders hits: how well they fit, then how sure they are, then the newer.
func better(a, b Hit) int {
	sure := func(h Hit) float64 { return cmp.Or(h.Confidence, 1) }
	return cmp.Or(cmp.Compare(b.rank*(0.8+0.2*sure(b)), a.rank*(0.8+0.2*sure(a))), b.Time.Compare(a.Time))
}

// Recall finds the best notes and what was said before that fit a query, within
// limits. There may be nothing. A search of the past that fails is an error
// beside the notes that were found.
func (s Shelf) Recall(ctx context.Context, query string, limits Limits) ([]Hit, error) {
	limits = limits.settle()
	hits, r, err := s.find(ctx, query, limits.Floor)
	if err != nil || len(r.wanted) == 0 {
		return nil, err
	}
	hits = hits[:min(len(hits), limits.Count)]
	if s.Past != nil {
		past, perr := s.Past(ctx, query, limits.Count)
		if err = perr; perr != nil {
			err = fmt.Errorf("recall what was said before: %w", perr)
		}
		hits = append(hits, pastHits(past, hits, r, limits.Floor)...)
		slices.SortStableFunc(hits, better)
	}
	for i := range hits {
		if h := &hits[i]; !limits.Now.IsZero() && !h.Time.IsZero() {
			h.Age = max(limits.Now.Sub(h.Time), 0)
		}
	}
	return fit(hits, limits), err
}

// pastHits are what was said, if it fits well enough and no note was made of it.
func pastHits(past []Past, notes []Hit, r ranking, floor float64) []Hit {
	noted := make(map[Source]bool)
	for _, h := range notes {
		for _, s := range h.Sources {
			noted[s] = true
		}
	}
	titled, said, among := pastTerms(past, r)
	var hits []Hit
	for i, p := range past {
		at := Source{p.Session, p.Entry}
		_, rank := r.score(titled[i], said[i])
		score, _ := among.score(titled[i], said[i])
		if noted[at] || score < floor || score == 0 {
			continue
		}
		hits = append(hits, Hit{rank: rank, Ref: at.String(), Title: p.Title, Text: p.Text, Time: p.Time, Sources: []Source{at}, Score: score})
	}
	return hits
}

// pastTerms are the words of what was said and of its titles, and the ranking by
// which to tell whether it fits at all: what was said is much longer than a note,
// so its length is compared with that of its like. Beside notes it keeps its
// place behind those that say the same in fewer words.
func pastTerms(past []Past, r ranking) (titled, said [][]string, among ranking) {
	total := 0
	for _, p := range past {
		titled, said = append(titled, terms(p.Title)), append(said, terms(p.Title+" "+p.Text))
		total += len(said[len(said)-1])
	}
	among = r
	among.mean = max(r.mean, float64(total)/float64(max(len(past), 1)))
	return titled, said, among
}

// maxHitBytes bounds the text of one hit.
const maxHitBytes = 1024

// fit cuts hits to the limits, whole ones first.
func fit(hits []Hit, limits Limits) []Hit {
	var kept []Hit
	room := limits.Bytes
	for _, h := range hits {
		if len(kept) == limits.Count {
			break
		}
		h.Text = shorten(h.Text, maxHitBytes)
		size := len(spell(len(kept)+1, h))
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

// Spell spells hits for a model, each marked with where it comes from. It is
// empty if there are none.
func Spell(hits []Hit) string {
	var b strings.Builder
	for i, h := range hits {
		b.WriteString(spell(i+1, h))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// spell spells one hit. Its text is moved in, so that no line of it looks like
// the mark of another.
func spell(n int, h Hit) string {
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
	if h.Scope != "" && len(h.Sources) > 0 {
		about = append(about, "from "+h.Sources[0].String())
	}
	return fmt.Sprintf("[%d] %s\n  %s\n", n, strings.Join(about, ", "), strings.ReplaceAll(h.Text, "\n", "\n  "))
}

// oldAfter is the age from which on a piece is marked as old: what it says may have
// changed since.
const oldAfter = 30 * 24 * time.Hour

// oldText says how old a piece is.
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
