package demo

import (
	"encoding/json"
	"fmt"
	"strings"

	"firn"
	"firn/store"
	"firn/window"
)

const key = "agent:main:demo"

// create makes the session of a key, and finds the same one by the key again.
func (t *tour) create() (string, error) {
	id, err := store.LoadOrCreate(t.ctx, t.st, key)
	if err != nil {
		return "", err
	}
	again, err := store.LoadOrCreate(t.ctx, t.st, key)
	if err != nil {
		return "", err
	}
	if again != id {
		return "", fmt.Errorf("the key gave %s and then %s", id, again)
	}
	t.talk = id
	return fmt.Sprintf("%s → %.13s…", key, id), nil
}

// say appends entries to a session.
func (t *tour) say(id firn.ID, entries ...firn.Entry) error {
	_, err := t.st.Append(t.ctx, id, store.Any, entries...)
	return err
}

// call makes an entry in which the assistant asks for a tool to be run.
func call(id, name, arguments string) firn.Entry {
	return firn.NewEntry(&firn.Message{
		Role: firn.RoleAssistant, StopReason: firn.StopToolUse,
		Parts: []firn.Part{
			firn.Text{Text: "Let me look."},
			firn.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)},
		},
	})
}

// answer makes an entry with what a tool gave back.
func answer(id, name, text string) firn.Entry {
	return firn.NewEntry(&firn.Message{
		Role:  firn.RoleToolResult,
		Parts: []firn.Part{firn.ToolResult{CallID: id, Name: name, Content: []firn.Part{firn.Text{Text: text}}}},
	})
}

// talkOnce appends a turn in which a tool is called.
func (t *tour) talkOnce() (string, error) {
	err := t.say(t.talk,
		firn.UserText("What time is it in Reykjavik?"),
		call("call_1", "now", `{"zone":"Atlantic/Reykjavik"}`),
		answer("call_1", "now", "14:03"),
		firn.AssistantText("It is 14:03 there."),
	)
	if err != nil {
		return "", err
	}
	w, err := t.window(t.talk, window.Profile{})
	if err != nil {
		return "", err
	}
	if len(w.Items) != 4 || len(w.Repairs) != 0 {
		return "", fmt.Errorf("the window has %d messages and %d repairs", len(w.Items), len(w.Repairs))
	}
	info, err := t.st.Inspect(t.ctx, t.talk)
	return fmt.Sprintf("4 entries on disk, %s in one file", size(info.Bytes)), err
}

// window builds what a model would be sent next; without a profile, just what
// was said.
func (t *tour) window(id firn.ID, profile window.Profile) (window.Window, error) {
	path, err := window.Collect(t.st.ReadBack(t.ctx, id, store.End))
	if err != nil {
		return window.Window{}, err
	}
	return window.Build(path, window.Options{Profile: profile}), nil
}

// buildWindows leaves a tool call unanswered, as a crash does, and builds the
// window for every provider all the same.
func (t *tour) buildWindows() (string, error) {
	if err := t.say(t.talk, firn.UserText("Read the log."), call("call_2", "read", `{"path":"log"}`)); err != nil {
		return "", err
	}
	var names []string
	for _, profile := range window.Profiles() {
		w, err := t.window(t.talk, profile)
		if err != nil {
			return "", err
		}
		if open := unanswered(w.Items); open != "" || len(w.Repairs) == 0 {
			return "", fmt.Errorf("for %s call %q has no result, after %d repairs", profile.Name, open, len(w.Repairs))
		}
		names = append(names, fmt.Sprintf("%s %d", profile.Name, len(w.Repairs)))
	}
	return "repairs: " + strings.Join(names, ", "), nil
}

// unanswered returns a call in a window that no result answers.
func unanswered(items []window.Item) string {
	open := make(map[string]bool)
	for _, it := range items {
		for _, part := range it.Message.Parts {
			switch p := part.(type) {
			case firn.ToolCall:
				open[p.ID] = true
			case firn.ToolResult:
				delete(open, p.CallID)
			}
		}
	}
	for id := range open {
		return id
	}
	return ""
}

// count tells how many messages the window has, and how many tokens.
func (t *tour) count() (items int, tokens int64, err error) {
	w, err := t.window(t.talk, window.Profile{})
	return len(w.Items), w.Tokens.Total, err
}

// branch moves the head back to the first answer, says something else there,
// and returns to the branch it came from.
func (t *tour) branch() (string, error) {
	path, err := window.Collect(t.st.ReadBack(t.ctx, t.talk, store.End))
	if err != nil {
		return "", err
	}
	before, _, err := t.count()
	if err != nil {
		return "", err
	}
	leaf, fork := path.Head, path.Entries[3].ID
	aside, _, err := t.headTo(fork, firn.UserText("And in Oslo?"))
	if err != nil {
		return "", err
	}
	after, _, err := t.headTo(leaf)
	if err != nil {
		return "", err
	}
	if after != before || aside >= before {
		return "", fmt.Errorf("the window had %d messages, on the other branch %d, and back again %d", before, aside, after)
	}
	return fmt.Sprintf("%d messages → %d on the other branch → %d", before, aside, after), nil
}

// headTo moves the head to an entry and goes on from there.
func (t *tour) headTo(target firn.EntryID, entries ...firn.Entry) (items int, tokens int64, err error) {
	head := firn.NewEntry(&firn.Head{Reason: "demo"})
	head.Parent = target
	if err := t.say(t.talk, append([]firn.Entry{head}, entries...)...); err != nil {
		return 0, 0, err
	}
	return t.count()
}

// hide hides a message and restores it.
func (t *tour) hide() (string, error) {
	text := firn.UserText("my password is hunter2")
	if err := t.say(t.talk, answer("call_2", "read", "all quiet"), firn.AssistantText("The log is quiet."), text, firn.AssistantText("Noted.")); err != nil {
		return "", err
	}
	before, _, err := t.count()
	if err != nil {
		return "", err
	}
	stone := firn.Hide(text.ID)
	if err := t.say(t.talk, stone); err != nil {
		return "", err
	}
	hidden, _, err := t.count()
	if err != nil {
		return "", err
	}
	if err := t.say(t.talk, firn.Hide(stone.ID)); err != nil {
		return "", err
	}
	after, _, err := t.count()
	if err != nil {
		return "", err
	}
	if hidden >= before || after != before {
		return "", fmt.Errorf("the window had %d messages, then %d, then %d", before, hidden, after)
	}
	return fmt.Sprintf("%d messages → %d → %d, by adding two entries", before, hidden, after), nil
}

// compact lets a summary stand for most of a long talk, and takes that back.
func (t *tour) compact() (string, error) {
	asks, keep, err := t.talkLong(60)
	if err != nil {
		return "", err
	}
	before, tokens, err := t.count()
	if err != nil {
		return "", err
	}
	compaction := firn.NewEntry(&firn.Compaction{Summary: "The user asked:\n- " + strings.Join(asks, "\n- "), FirstKept: keep, TokensBefore: tokens})
	if err := t.say(t.talk, compaction); err != nil {
		return "", err
	}
	small, smallTokens, err := t.count()
	if err != nil {
		return "", err
	}
	if err := t.say(t.talk, firn.Hide(compaction.ID)); err != nil {
		return "", err
	}
	after, afterTokens, err := t.count()
	if err != nil {
		return "", err
	}
	if small >= before || smallTokens >= tokens || after != before || afterTokens != tokens {
		return "", fmt.Errorf("the window had %d messages of ~%d tokens, then %d of ~%d, then %d of ~%d", before, tokens, small, smallTokens, after, afterTokens)
	}
	return fmt.Sprintf("%d messages, ~%s tokens → %d, ~%s → %d, ~%s", before, grouped(tokens), small, grouped(smallTokens), after, grouped(afterTokens)), nil
}

// talkLong appends a number of turns. It returns what was asked in the first
// of them, and the entry that the last two begin with.
func (t *tour) talkLong(turns int) (asks []string, keep firn.EntryID, err error) {
	var entries []firn.Entry
	for i := range turns {
		ask := fmt.Sprintf("What is in chapter %d?", i+1)
		user := firn.UserText(ask)
		entries = append(entries, user, firn.AssistantText(strings.Repeat("It goes on about snow that became ice. ", 12)))
		if i < 5 {
			asks = append(asks, ask)
		}
		if i == turns-2 {
			keep = user.ID
		}
	}
	return asks, keep, t.say(t.talk, entries...)
}
