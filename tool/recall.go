package tool

import (
	"context"
	"fmt"
	"strings"
	"time"

	"firn.dev"
)

// Hit is a search result.
type Hit struct {
	// Source is the file or session of the hit. Where is the position in it, such as a line
	// or an entry, and may be empty.
	Source, Where string
	Text          string
	// Time is the time of the text, or zero if unknown.
	Time time.Time
}

// Search returns up to limit hits for a query, best first. It must be safe for concurrent
// use.
type Search func(ctx context.Context, query string, limit int) ([]Hit, error)

// The limits of recall.
const (
	defaultHits = 5
	maxHits     = 20
	maxQuery    = 1000 // bytes
	maxHitText  = 1000 // characters
)

type recallArguments struct {
	Query string `json:"query" desc:"The words to look for."`
	Limit int    `json:"limit,omitempty" desc:"How many hits to show; 5 if not given, 20 at most."`
}

// recallDetails is the machine-readable result of recall.
type recallDetails struct {
	Hits []recallHit `json:"hits"`
}

type recallHit struct {
	Source string    `json:"source"`
	Where  string    `json:"where,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// Recall returns the tool recall, which searches earlier conversations and notes.
func Recall(search Search) Tool {
	return New("recall", "Searches earlier conversations and saved notes, and shows where each result was found.",
		func(ctx context.Context, a recallArguments) (Result, error) {
			query := strings.TrimSpace(a.Query)
			if query == "" || len(query) > maxQuery || a.Limit < 0 {
				return Result{}, fmt.Errorf("%w arguments for recall: query must have 1 to %s, and limit must not be negative", firn.ErrInvalid, count(maxQuery, "byte"))
			}
			limit := defaultHits
			if a.Limit > 0 {
				limit = min(a.Limit, maxHits)
			}
			hits, err := search(ctx, query, limit)
			if err != nil {
				return Result{}, fmt.Errorf("search for %q: %w", ellipsis(query, 100), err)
			}
			return showHits(query, hits[:min(len(hits), limit)]), nil
		})
}

func showHits(query string, hits []Hit) Result {
	details := recallDetails{Hits: []recallHit{}}
	var b strings.Builder
	if len(hits) == 0 {
		fmt.Fprintf(&b, "nothing found for %q", ellipsis(query, 100))
	}
	for i, h := range hits {
		if i > 0 {
			b.WriteString("\n\n")
		}
		fmt.Fprintf(&b, "[%d] %s\n%s", i+1, h.place(), h.text())
		details.Hits = append(details.Hits, recallHit{Source: h.Source, Where: h.Where, Time: h.Time})
	}
	return Result{Parts: TextResult(b.String()).Parts, Details: quote(details)}
}

// place returns the source, position and time of the hit on one line.
func (h Hit) place() string {
	place := display(h.Source)
	if h.Where != "" {
		place += ", " + display(h.Where)
	}
	if !h.Time.IsZero() {
		place += ", " + h.Time.Format(time.DateOnly)
	}
	return place
}

// text returns the text of the hit, indented so that no line looks like the place of
// another hit.
func (h Hit) text() string {
	clean, _ := firn.CleanText(strings.TrimSpace(h.Text))
	return "  " + strings.ReplaceAll(ellipsis(clean, maxHitText), "\n", "\n  ")
}
