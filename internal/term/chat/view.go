package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// view shows a turn as it happens.
type view struct {
	screen screen
	now    func() time.Time
	// quiet leaves out the answer, which is printed otherwise; verbose shows all
	// that was thought.
	quiet, verbose bool
	// shown says that something of the present answer was shown, missed that
	// something of it was not.
	shown, missed bool
	// thoughts is what the model said to itself since began.
	thoughts strings.Builder
	began    time.Time
	// calls is what the calls that run are shown as.
	calls map[string]string
	// told says that the user was told of the last compaction.
	told bool
	// report is told of warnings where the screen may not be seen.
	report func(string)
}

func (c *chat) newView(quiet bool) *view {
	v := &view{screen: c.screen, now: c.now, quiet: quiet, verbose: c.wordy}
	if c.reports != nil {
		v.report = c.reports.Add
	}
	return v
}

// event shows what happened; each kind has its own function.
func (v *view) event(e wire.Event) {
	if e.Name != wire.DeltaThinking {
		v.fold()
	}
	switch e.Name {
	case wire.DeltaText:
		v.delta(dataOf[wire.Delta](e))
	case wire.DeltaThinking:
		v.think(dataOf[wire.Delta](e))
	case wire.Retry:
		v.screen.endAnswer()
		v.shown = false
		v.screen.note("· asking again: %s", prose.OneLine(dataOf[wire.Notice](e).Text, 200))
	case wire.ToolStarted:
		v.callBegins(dataOf[wire.Tool](e))
	case wire.ToolCompleted:
		v.callEnds(dataOf[wire.Tool](e))
	case wire.TurnQueued:
		v.screen.note("· another turn is running; this waits for it")
	case wire.Gap:
		v.missed = true
	case wire.TurnCompleted:
		v.finish(dataOf[wire.Answer](e))
	default:
		v.aside(e)
	}
}

// dataOf reads what an event tells. What cannot be read is empty.
func dataOf[T any](e wire.Event) T {
	var data T
	_ = json.Unmarshal(e.Data, &data)
	return data
}

// aside shows what happened beside the conversation.
func (v *view) aside(e wire.Event) {
	switch e.Name {
	case wire.CompactionStarted:
		c := dataOf[wire.Compaction](e)
		v.screen.note("· compacting (%s), about %s tokens …", prose.Clean(c.Reason), prose.Grouped(c.Before))
	case wire.CompactionCompleted:
		v.told = true
		c := dataOf[wire.Compaction](e)
		if c.Error != "" {
			v.screen.note("· not compacted: %s", prose.OneLine(c.Error, 300))
			return
		}
		v.screen.note("· compacted: ~%s → ~%s tokens, %s; /uncompact takes it back", prose.Grouped(c.Before), prose.Grouped(c.After), prose.Clean(c.Strategy))
		if c.Failure != "" {
			v.screen.note("· no model summarized: %s", prose.OneLine(c.Failure, 300))
		}
	case wire.NoticeGiven:
		if n := dataOf[wire.Notice](e); n.Level != "" {
			v.warn(prose.OneLine(n.Text, 500))
			return
		}
		if !v.told { // of a compaction the user knows
			v.screen.note("· %s", prose.OneLine(dataOf[wire.Notice](e).Text, 500))
		}
		v.told = false
	}
}

// warn shows a warning: in a chat beside the conversation, of a single answer with the
// reports, which are shown in any case.
func (v *view) warn(text string) {
	if v.quiet && v.report != nil {
		v.report(text)
		return
	}
	v.screen.note("· %s", text)
}

func (v *view) delta(d wire.Delta) {
	if !v.quiet {
		v.shown = true
		v.screen.answer(d.Text)
	}
}

// think gathers what the model says to itself. While it does, the end of it is
// shown.
func (v *view) think(d wire.Delta) {
	if v.thoughts.Len() == 0 {
		v.screen.endAnswer()
		v.began = v.now()
	}
	v.thoughts.WriteString(d.Text)
	last := v.thoughts.String()
	last = last[strings.LastIndexByte(strings.TrimRight(last, "\n"), '\n')+1:]
	v.screen.thinking(prose.OneLine(last, 200))
}

// fold leaves one line of what was thought, or all of it if the user wants to
// know.
func (v *view) fold() {
	text := strings.TrimSpace(v.thoughts.String())
	if v.thoughts.Len() == 0 {
		return
	}
	v.thoughts.Reset()
	v.screen.thinking("")
	if text == "" || !v.screen.seen() {
		return
	}
	took := seconds(v.now().Sub(v.began))
	if !v.verbose {
		v.screen.note("· thought for %s, %s: %s", took, prose.Plural(len(strings.Fields(text)), "word"), prose.OneLine(text, 60))
		return
	}
	v.screen.note("· thought for %s:", took)
	for _, l := range prose.Lines(text) {
		v.screen.note("  %s", l)
	}
}

// callBegins shows that a tool runs.
func (v *view) callBegins(t wire.Tool) {
	if v.calls == nil {
		v.calls = make(map[string]string)
	}
	v.screen.endAnswer()
	v.shown = false
	what := strings.TrimSpace(prose.Clean(t.Name) + " " + summary(t.Arguments))
	v.calls[t.Call] = what
	v.screen.callBegins(t.Call, what)
}

// How calls end.
const (
	callDone      = "done"
	callCancelled = "cancelled"
)

// callEnds shows how a call ended.
func (v *view) callEnds(t wire.Tool) {
	how := fmt.Sprintf("ok, %s, %s", seconds(time.Duration(t.Ms)*time.Millisecond), prose.Size(int64(len(t.Text))))
	if t.State != callDone {
		how = prose.Clean(t.State)
		if text := prose.OneLine(t.Text, 120); text != "" && t.State != callCancelled {
			how += ": " + text
		}
	}
	v.screen.callEnds(t.Call, v.calls[t.Call], how)
	delete(v.calls, t.Call)
}

// finish ends an answer that came whole.
func (v *view) finish(a wire.Answer) {
	if v.quiet {
		return
	}
	if v.missed && v.shown {
		v.screen.endAnswer()
		v.screen.note("· the connection broke meanwhile; this is the whole answer:")
		v.shown = false
	}
	switch {
	case a.Silent && v.screen.seen():
		v.screen.note("(no reply)")
	case !a.Silent && !v.shown:
		v.screen.answer(a.Text)
	}
	v.screen.endAnswer()
	if a.Stop == string(firn.StopLength) {
		v.screen.note("· the answer was cut at its greatest length")
	}
}

// end leaves nothing open, however the turn ended.
func (v *view) end() {
	v.fold()
	v.screen.endAnswer()
}

// headline is what the line of an error begins with. What was not saved is
// said first.
func headline(err error) string {
	switch {
	case errors.Is(err, firn.ErrUnknownOutcome):
		return "PERHAPS NOT SAVED: "
	case errors.Is(err, firn.ErrNotSaved):
		return "NOT SAVED: "
	case errors.Is(err, errStopped):
		return ""
	}
	return "firn: "
}

// seconds is a short time for people.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
