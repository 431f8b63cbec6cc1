package tool

import (
	"context"
	"fmt"
	"strings"
	"time"

	"firn"
)

// Hit is something that was found.
type Hit struct {
	// Source is what it was found in, such as a file or a session; Where is the
	// place in it, such as a line or an entry, and may be empty.
	Source, Where string
	Text          string
	// Time is when it was said, zero if that is not known.
	Time time.Time
}

// Search finds what fits a query, the best first, at most limit of it. It may
// be called from many goroutines.
type Search func(ctx context.Context, query string, limit int) ([]Hit, error)

// What recall asks for and shows at most.
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

// recallDetails is the hits, for programs.
type recallDetails struct {
	Hits []recallHit `json:"hits"`
}

type recallHit struct {
	Source string    `json:"source"`
	Where  string    `json:"where,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// Recall makes the tool recall, which looks for what was said or noted before.
func Recall(search Search) Tool {
	return New("recall", "Looks for what was said in earlier conversations or noted to be remembered, and shows where it was found.",
		func(ctx context.Context, a recallArguments) (Result, error) {
			query := strings.TrimSpace(a.Query)
			if query == "" || len(query) > maxQuery || a.Limit < 0 {
				return Result{}, fmt.Errorf("%w arguments for recall: a query of at most %s is needed, and limit is not below zero", firn.ErrInvalid, count(maxQuery, "byte"))
			}
			limit := defaultHits
			if a.Limit > 0 {
				limit = min(a.Limit, maxHits)
			}
			hits, err := search(ctx, query, limit)
			if err != nil {
				return Result{}, fmt.Errorf("look for %q: %w", ellipsis(query, 100), err)
			}
			return showHits(query, hits[:min(len(hits), limit)]), nil
		})
}

func showHits(query string, hits []Hit) Result {
	details := recallDetails{Hits: []recallHit{}}
	var b strings.Builder
	if len(hits) == 0 {
		fmt.Fprintf(&b, "nothing was found for %q", ellipsis(query, 100))
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

// place is where and when it was found, on one line.
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

// text is what was found, moved in so that no line of it looks like the place
// of another hit.
func (h Hit) text() string {
	clean, _ := firn.CleanText(strings.TrimSpace(h.Text))
	return "  " + strings.ReplaceAll(ellipsis(clean, maxHitText), "\n", "\n  ")
}
