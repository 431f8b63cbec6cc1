package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"firn"
	"firn/agent"
)

// view shows a turn as it happens.
type view struct {
	screen *screen
	// quiet leaves out the answer, which is printed otherwise.
	quiet bool

	// shown says that something of the present answer was shown.
	shown bool
	usage *agent.WindowUsage
	// calls is what the calls that run are shown as.
	calls map[string]string
	// told says that the user was told of the last compaction.
	told bool
}

// event shows what happened; each kind has its own function.
func (v *view) event(e agent.Event) {
	switch e := e.(type) {
	case agent.Started:
		if e.Recovered {
			v.screen.note("· the answer that was interrupted is kept, marked as such")
		}
	case agent.Delta:
		v.delta(e)
	case agent.Appended:
		if m, ok := e.Entry.Body.(*firn.Message); ok && m.Role == firn.RoleAssistant {
			v.screen.endAnswer()
		}
	case agent.Interrupted:
		v.screen.endAnswer()
		v.shown = false
	case agent.Retrying:
		v.screen.note("· asking again in %s: %s", seconds(e.Delay), oneLine(e.Err.Error(), 200))
	case agent.ToolStarted:
		v.callBegins(e)
	case agent.ToolDone:
		v.callEnds(e)
	case agent.WindowUsage:
		v.usage = &e
	case agent.Finished:
		v.finish(e.Outcome)
	default:
		v.aside(e)
	}
}

// aside shows what happened beside the conversation.
func (v *view) aside(e agent.Event) {
	switch e := e.(type) {
	case agent.CompactionStarted:
		v.screen.note("· compacting (%s), about %s tokens …", e.Reason, grouped(e.Tokens))
	case agent.CompactionDone:
		v.told = true
		if e.Err != nil {
			v.screen.note("· not compacted: %s", oneLine(e.Err.Error(), 300))
			return
		}
		v.screen.note("· compacted: ~%s → ~%s tokens, %s; /uncompact takes it back", grouped(e.Before), grouped(e.After), e.Strategy)
	case agent.CompactionDue:
		v.screen.say("· the window is nearly full (~%s of %s tokens): /compact makes room", grouped(e.Tokens), grouped(e.Limit))
	case agent.Flushed:
		if e.Err != nil {
			v.screen.note("· notes could not be taken: %s", oneLine(e.Err.Error(), 200))
		} else if e.Notes > 0 {
			v.screen.note("· %s taken before older parts are summarised", plural(e.Notes, "note"))
		}
	case agent.Notice:
		if !v.told { // of a compaction the user knows
			v.screen.note("· %s", clean(e.Text))
		}
		v.told = false
	}
}

func (v *view) delta(d agent.Delta) {
	switch {
	case d.Thinking:
		v.screen.think(d.Text)
	case !v.quiet:
		v.shown = true
		v.screen.answer(d.Text)
	}
}

// callBegins shows that a tool runs.
func (v *view) callBegins(e agent.ToolStarted) {
	if v.calls == nil {
		v.calls = make(map[string]string)
	}
	v.shown = false
	what := strings.TrimSpace(clean(e.Name) + " " + summary(e.Arguments))
	v.calls[e.Call] = what
	v.screen.callBegins(e.Call, what)
}

// callEnds shows how a call ended.
func (v *view) callEnds(e agent.ToolDone) {
	how := fmt.Sprintf("%s, %s", seconds(e.Took), size(int64(len(e.Text))))
	if e.State != agent.CallDone {
		how = string(e.State)
		if text := oneLine(e.Text, 120); text != "" && e.State != agent.CallCancelled {
			how += ": " + text
		}
	}
	v.screen.callEnds(e.Call, v.calls[e.Call], how)
	delete(v.calls, e.Call)
}

// finish ends an answer that came whole.
func (v *view) finish(out agent.Outcome) {
	if v.quiet {
		return
	}
	switch {
	case out.Silent && v.screen.terminal.Err:
		v.screen.note("(no reply)")
	case !out.Silent && !v.shown:
		v.screen.answer(out.Text)
	}
	v.screen.endAnswer()
	if out.Stop == firn.StopLength {
		v.screen.note("· the answer was cut at its greatest length")
	}
	if v.screen.terminal.Err && v.usage != nil {
		v.screen.note("%s", status(*v.usage, out.Usage))
	}
}

// end leaves no line open, however the turn ended.
func (v *view) end() { v.screen.endAnswer() }

// status is the line after a turn: how full the window is, and what was used.
func status(w agent.WindowUsage, u firn.Usage) string {
	about := ""
	if w.Estimated {
		about = "~"
	}
	text := fmt.Sprintf("window %s%s", about, share(w.Tokens, w.Window))
	text += fmt.Sprintf(" · %s in, %s out", short1k(u.Input+u.CacheRead+u.CacheWrite), short1k(u.Output))
	if u.Cost.Total > 0 {
		text += fmt.Sprintf(" · $%.4f", u.Cost.Total)
	}
	return text
}

// headline is what the line of an error begins with. What was not saved is
// said first.
func headline(err error) string {
	switch {
	case errors.Is(err, firn.ErrNotSaved), errors.Is(err, firn.ErrReplaced):
		return "NOT SAVED: "
	case errors.Is(err, errStopped):
		return ""
	}
	return "firn: "
}

// maxSummary bounds how much is shown of the arguments of a call, in characters.
const maxSummary = 60

// summary shows the arguments of a call in short: their values, in order.
func summary(arguments json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(arguments))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return oneLine(string(arguments), maxSummary)
	}
	var values []string
	for d.More() {
		var value json.RawMessage
		if _, err := d.Token(); err != nil || d.Decode(&value) != nil {
			break
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		values = append(values, text)
	}
	return oneLine(strings.Join(values, " "), maxSummary)
}

// seconds is a short time for people.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
