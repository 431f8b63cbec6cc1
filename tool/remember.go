package tool

import (
	"context"
	"fmt"
	"strings"

	"firn.dev"
)

// Memo is a note that an agent wants to store.
type Memo struct {
	// Text is the content, one fact per line unless Name is set.
	Text string
	// Name is the name of a separate note; empty means the daily notes.
	Name string
	// Type is the kind of fact: preference, project, pattern, decision or constraint; empty
	// if unspecified.
	Type string
}

// RememberFunc stores a memo permanently and returns a sentence that describes the result. It must
// be safe for concurrent use.
type RememberFunc func(ctx context.Context, m Memo) (string, error)

// ForgetFunc removes a stored memo, by the name that recall shows or by its words, and returns a
// sentence that describes the result. It must be safe for concurrent use.
type ForgetFunc func(ctx context.Context, what string) (string, error)

// The size limits of a memo and of its name, in bytes.
const (
	maxMemo = 8 << 10
	maxName = 200
)

type rememberArguments struct {
	Text string `json:"text" desc:"What to remember, one fact on each line, so that it can be understood without this conversation."`
	Name string `json:"name,omitempty" desc:"The name of a note of its own, for something longer. A note of that name is replaced."`
	Type string `json:"type,omitempty" desc:"What kind of fact it is: preference, project, pattern, decision or constraint."`
}

type forgetArguments struct {
	What string `json:"what" desc:"The note or fact to forget: its name as recall shows it, such as extracted#1a2b3c4d, or its exact words."`
}

// Remember returns the tool remember, which stores facts beyond a conversation.
func Remember(keep RememberFunc) Tool {
	return New("remember", "Saves facts for later conversations; recall finds them, and relevant ones are shown to you automatically. "+
		"Save what will matter later: decisions, preferences, names, dates, open tasks. Never save passwords or keys.",
		func(ctx context.Context, a rememberArguments) (Result, error) {
			if strings.TrimSpace(a.Text) == "" || len(a.Text) > maxMemo || len(a.Name) > maxName {
				return Result{}, fmt.Errorf("%w arguments for remember: text must have 1 to %s; note only important facts", firn.ErrInvalid, count(maxMemo, "byte"))
			}
			reply, err := keep(ctx, Memo(a))
			if err != nil {
				return Result{}, err
			}
			return TextResult(reply), nil
		})
}

// Forget returns the tool forget, which removes stored facts. Users can undo it.
func Forget(drop ForgetFunc) Tool {
	return New("forget", "Forgets a note or a fact that was remembered: when the user asks for it, or when it is no longer true.",
		func(ctx context.Context, a forgetArguments) (Result, error) {
			what := strings.TrimSpace(a.What)
			if what == "" || len(what) > maxQuery {
				return Result{}, fmt.Errorf("%w arguments for forget: say what, in at most %s", firn.ErrInvalid, count(maxQuery, "byte"))
			}
			reply, err := drop(ctx, what)
			if err != nil {
				return Result{}, err
			}
			return TextResult(reply), nil
		})
}
