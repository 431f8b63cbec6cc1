package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"firn.dev"
)

// maxUnasked is the share of unanswerable questions for which memory may show something.
const maxUnasked = 0.05

// recallUnasked measures what memory shows to a run: for questions that a conversation
// answers, and for those of another conversation, which it does not answer.
func recallUnasked(ctx context.Context, w io.Writer, chats []chat, homes []*chatHome, all *chatHome) error {
	var answered, other, renamed, rest shownMark
	for i, c := range chats {
		next := (i + 1) % len(chats)
		var own []firn.ID
		for n := range c.sessions {
			own = append(own, firn.ID(fmt.Sprintf("chat-%d-%d", c.number, n)))
		}
		rename := strings.NewReplacer(pairs(c.speakers(), chats[next].speakers())...)
		for _, q := range c.questions {
			for _, ask := range []struct {
				mark   *shownMark
				home   *chatHome
				text   string
				except []firn.ID
			}{
				{&answered, homes[i], q.Text, nil},
				{&other, homes[next], q.Text, nil},
				{&renamed, homes[next], rename.Replace(q.Text), nil},
				{&rest, all, q.Text, own},
			} {
				hits, err := recallFrom(ctx, ask.home.index, ask.text, ask.except)
				if err != nil {
					return err
				}
				ask.mark.add(hits, c.number, q.Evidence)
			}
		}
	}
	fmt.Fprintf(w, "%-24s %s, with the answer %.1f%%\n", "memory, answerable", answered, answered.share(answered.right))
	fmt.Fprintf(w, "%-24s %s asked of another conversation, %s of all others; goal: at most %.0f%%\n", "memory, unanswerable", other, rest, 100*maxUnasked)
	fmt.Fprintf(w, "%-24s %s; many of these have an answer\n", "memory, names replaced", renamed)
	return nil
}

// shownMark counts the questions for which memory shows something, and the answer.
type shownMark struct{ n, shown, right int }

func (m *shownMark) add(hits [][]string, chat int, evidence []string) {
	m.n++
	if len(hits) > 0 {
		m.shown++
	}
	if slices.ContainsFunc(evidence, func(id string) bool {
		name := fmt.Sprintf("%d-%s", chat, id)
		return slices.ContainsFunc(hits, func(hit []string) bool { return slices.Contains(hit, name) })
	}) {
		m.right++
	}
}

func (m shownMark) share(n int) float64 { return 100 * float64(n) / float64(max(m.n, 1)) }

func (m shownMark) String() string { return fmt.Sprintf("%.1f%% shown (n=%d)", m.share(m.shown), m.n) }

// speakers returns the speakers of a conversation in the order in which they first speak.
func (c chat) speakers() []string {
	var all []string
	for _, turns := range c.sessions {
		for _, t := range turns {
			if !slices.Contains(all, t.Speaker) {
				all = append(all, t.Speaker)
			}
		}
	}
	return all
}

// pairs returns the elements of a and b in turn.
func pairs(a, b []string) []string {
	var all []string
	for i := range min(len(a), len(b)) {
		all = append(all, a[i], b[i])
	}
	return all
}
