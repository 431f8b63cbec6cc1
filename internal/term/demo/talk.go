package demo

import (
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// key is the key of the demo's session.
const key = "agent:main:demo"

// offlineModel is the model of the demo. It needs no API key and no network, and is
// deterministic.
const offlineModel = "firn/offline"

// create creates a session with a key, and finds it again by the key.
func (t *tour) create() (string, error) {
	s, err := t.client.NewSession(t.ctx, wire.NewSession{Key: key})
	if err != nil {
		return "", err
	}
	again, err := t.client.NewSession(t.ctx, wire.NewSession{Key: key})
	if err != nil {
		return "", err
	}
	if again.ID != s.ID {
		return "", fmt.Errorf("the key returned %s, then %s", s.ID, again.ID)
	}
	t.talk = s.ID
	model := offlineModel
	if _, err := t.client.Patch(t.ctx, t.talk, wire.Patch{Model: &model}); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s → %s", key, prose.Short(s.ID)), nil
}

// ask sends a message and returns the answer, which must contain word.
func (t *tour) ask(id firn.ID, text, word string) (wire.Answer, error) {
	answer, err := t.client.Turn(t.ctx, id, wire.Turn{Text: text})
	if err != nil {
		return answer, err
	}
	if !strings.Contains(answer.Text, word) {
		return answer, fmt.Errorf("%q was answered with %q, without %q", text, prose.OneLine(answer.Text, 80), word)
	}
	return answer, nil
}

// converse has a conversation with a tool call and a recall of an earlier message.
func (t *tour) converse() (string, error) {
	if _, err := t.ask(t.talk, "My name is Ada, and I plan a trip to Oslo.", ""); err != nil {
		return "", err
	}
	sum, err := t.ask(t.talk, "What is 17*23?", "391")
	if err != nil {
		return "", err
	}
	if sum.Calls == 0 {
		return "", fmt.Errorf("no tool was called")
	}
	if _, err := t.ask(t.talk, "What is my name?", "Ada"); err != nil {
		return "", err
	}
	s, err := t.getSession(t.talk)
	if err != nil {
		return "", err
	}
	if s.State.Turns != 3 {
		return "", fmt.Errorf("counted %d turns instead of 3", s.State.Turns)
	}
	return fmt.Sprintf("3 turns, %s, “Ada” remembered, %s on disk", prose.Plural(sum.Calls, "tool call"), prose.Size(s.Bytes)), nil
}

// getSession returns a session with its state.
func (t *tour) getSession(id firn.ID) (wire.Session, error) {
	s, err := t.client.Session(t.ctx, string(id))
	if err == nil && s.State == nil {
		err = fmt.Errorf("session %s has no state: %s", id, s.Fault)
	}
	return s, err
}

// longTalk is the number of further turns.
const longTalk = 30

// continueTalk adds turns until there is something to compact.
func (t *tour) continueTalk() (string, error) {
	for i := range longTalk {
		text := fmt.Sprintf("Note for day %d of the trip: %s", i+1, strings.Repeat("the snow became ice, and the ice went on. ", 8))
		if _, err := t.ask(t.talk, text, ""); err != nil {
			return "", err
		}
	}
	s, err := t.getSession(t.talk)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d more turns, window %s", longTalk, share(s.State.Window)), nil
}

// share returns how full a window is.
func share(u wire.Usage) string {
	about := ""
	if u.Estimated {
		about = "~"
	}
	return about + prose.Share(u.Tokens, u.Window)
}

// compact replaces most of the conversation with a summary.
func (t *tour) compact() (string, error) {
	var err error
	if t.full, err = t.client.Window(t.ctx, t.talk, ""); err != nil {
		return "", err
	}
	done, err := t.client.Compact(t.ctx, t.talk, wire.Compact{Hint: "keep the names", KeepRecent: 2000})
	if err != nil {
		return "", err
	}
	t.compaction = done.ID
	now, err := t.client.Window(t.ctx, t.talk, "")
	if err != nil {
		return "", err
	}
	if now.Count >= t.full.Count || done.After >= done.Before {
		return "", fmt.Errorf("the window had %d messages and %d tokens, and now has %d and %d", t.full.Count, done.Before, now.Count, done.After)
	}
	return fmt.Sprintf("%d messages → %d, ~%s tokens → ~%s; nothing was erased", t.full.Count, now.Count, prose.Grouped(done.Before), prose.Grouped(done.After)), nil
}

// search finds a message from before the compaction in the full branch.
func (t *tour) search() (string, error) {
	const word = "trip to Oslo"
	looked, found := 0, 0
	var first wire.Entry
	for e, err := range t.client.Entries(t.ctx, t.talk, client.EntryQuery{View: wire.ViewBranch}) {
		if err != nil {
			return "", err
		}
		looked++
		l, ok := prose.ReadLine(e.Line)
		if !ok || l.Message == nil || !strings.Contains(l.Message.Text(), word) {
			continue
		}
		if found++; found == 1 {
			first = e
		}
	}
	page, err := t.client.SessionsPage(t.ctx, client.Query{Text: "Ada"})
	if err != nil {
		return "", err
	}
	if found == 0 || first.Out == "" || len(page.Items) != 1 {
		return "", fmt.Errorf("%q was found in %d of %d entries, first %q, and %d sessions mention Ada", word, found, looked, first.Out, len(page.Items))
	}
	return fmt.Sprintf("“%s” in %d of %s entries, first in #%d, which is %s", word, found, prose.Grouped(int64(looked)), first.N, first.Out), nil
}

// fork forks the session at an earlier entry and leaves the original unchanged.
func (t *tour) fork() (string, error) {
	before, err := t.getSession(t.talk)
	if err != nil {
		return "", err
	}
	s, err := t.client.Fork(t.ctx, t.talk, wire.Fork{At: "HEAD~5", Title: "the other trip"})
	if err != nil {
		return "", err
	}
	if _, err := t.ask(s.ID, "What is 6*7?", "42"); err != nil {
		return "", err
	}
	after, err := t.getSession(t.talk)
	if err != nil {
		return "", err
	}
	if after.End != before.End || s.ID == t.talk {
		return "", fmt.Errorf("the forked session ended at %d, and now ends at %d", before.End, after.End)
	}
	return fmt.Sprintf("%s continues from HEAD~5; %s is unchanged", prose.Short(s.ID), prose.Short(t.talk)), nil
}

// uncompact undoes the compaction: the model is sent the same messages as before.
func (t *tour) uncompact() (string, error) {
	if _, err := t.client.Undo(t.ctx, t.talk, t.compaction); err != nil {
		return "", err
	}
	now, err := t.client.Window(t.ctx, t.talk, "")
	if err != nil {
		return "", err
	}
	before := t.full.Totals
	before.Notes, now.Totals.Notes = 0, 0 // recalled notes may have been added in the meantime
	if now.Count != t.full.Count || now.Totals != before {
		return "", fmt.Errorf("the window had %d messages %+v, and now has %d %+v", t.full.Count, before, now.Count, now.Totals)
	}
	return fmt.Sprintf("%d messages again, identical", now.Count), nil
}
