package chat

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// view shows the events of a turn.
type view struct {
	screen screen
	now    func() time.Time
	// quiet suppresses the answer, which the caller prints; verbose shows thinking in full.
	quiet, verbose bool
	// shown is true if a part of the current answer was shown, and missed if a part was
	// lost.
	shown, missed bool
	// thoughts is the model's thinking since began.
	thoughts strings.Builder
	began    time.Time
	// calls holds the descriptions of running calls by call ID.
	calls map[string]string
	// compactionShown is true if the last compaction was already shown.
	compactionShown bool
	// terminal says whether styles are supported. diffShown reports whether the diff of a
	// call was shown before it ran; may be nil.
	terminal  Terminal
	diffShown func(call string) bool
	// report receives warnings if the screen may not be seen. It may be nil.
	report func(string)
	// tap receives each event before it is shown. It may be nil.
	tap func(wire.Event)
}

func (c *chat) newView(quiet bool) *view {
	v := &view{screen: c.screen, now: c.now, quiet: quiet, verbose: c.isVerbose, terminal: c.o.Terminal, diffShown: c.approvals.showsDiff}
	if c.reports != nil {
		v.report = c.reports.Add
	}
	return v
}

// event shows an event.
func (v *view) event(e wire.Event) {
	if v.tap != nil {
		v.tap(e)
	}
	if e.Name != wire.DeltaThinking {
		v.endThinking()
	}
	switch e.Name {
	case wire.DeltaText:
		v.delta(wire.DataOf[wire.Delta](e))
	case wire.DeltaThinking:
		v.think(wire.DataOf[wire.Delta](e))
	case wire.Retry:
		v.screen.endAnswer()
		v.shown = false
		v.screen.note("· retrying: %s", prose.OneLine(wire.DataOf[wire.Notice](e).Text, 200))
	case wire.ToolStarted:
		v.callBegins(wire.DataOf[wire.Tool](e))
	case wire.ToolProgress:
		t := wire.DataOf[wire.Tool](e)
		v.screen.callOutput(t.Call, t.Text)
	case wire.ToolCompleted:
		v.callEnds(wire.DataOf[wire.Tool](e))
	case wire.TurnQueued:
		v.screen.note("· another turn is running; this message is queued")
	case wire.Gap:
		v.missed = true
	case wire.TurnCompleted:
		v.finish(wire.DataOf[wire.Answer](e))
	default:
		v.aside(e)
	}
}

// aside shows compactions and notices.
func (v *view) aside(e wire.Event) {
	switch e.Name {
	case wire.CompactionStarted:
		c := wire.DataOf[wire.Compaction](e)
		v.screen.note("· compacting (%s), about %s tokens …", prose.Clean(c.Reason), prose.Grouped(c.Before))
	case wire.CompactionCompleted:
		v.compactionShown = true
		c := wire.DataOf[wire.Compaction](e)
		if c.Error != "" {
			v.screen.note("· not compacted: %s", prose.OneLine(c.Error, 300))
			return
		}
		v.screen.note("· compacted: ~%s → ~%s tokens, %s; undo: /uncompact", prose.Grouped(c.Before), prose.Grouped(c.After), prose.Clean(c.Strategy))
		if c.Failure != "" {
			v.screen.note("· summarized without a model: %s", prose.OneLine(c.Failure, 300))
		}
	case wire.NoticeEvent:
		if n := wire.DataOf[wire.Notice](e); n.Level != "" {
			v.warn(prose.OneLine(n.Text, 500))
			return
		}
		if !v.compactionShown { // otherwise the notice repeats it
			v.screen.note("· %s", prose.OneLine(wire.DataOf[wire.Notice](e).Text, 500))
		}
		v.compactionShown = false
	}
}

// warn shows a warning. For a single question it is added to the reports, which are always
// shown.
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

// think collects the model's thinking and shows its last line.
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

// endThinking replaces the thinking with one line, or with all of it if verbose.
func (v *view) endThinking() {
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

// callBegins shows a running tool call.
func (v *view) callBegins(t wire.Tool) {
	if v.calls == nil {
		v.calls = make(map[string]string)
	}
	v.screen.endAnswer()
	v.shown = false
	what := prose.CallTitle(t.Name, t.Arguments)
	v.calls[t.Call] = what
	v.screen.callBegins(t.Call, what)
}

// States of calls.
const (
	callDone     = "done"
	callCanceled = "cancelled"
)

// callEnds shows the result of a call.
func (v *view) callEnds(t wire.Tool) {
	took := time.Duration(t.Ms) * time.Millisecond
	how := fmt.Sprintf("ok, %s, %s", seconds(took), prose.Size(int64(len(t.Text))))
	if t.State != callDone {
		how = prose.Clean(t.State)
		if text := prose.OneLine(t.Text, 120); t.State == callCanceled {
			how = "canceled"
		} else if text != "" {
			how += ": " + text
		}
	}
	what := v.calls[t.Call]
	v.screen.callEnds(t.Call, what, how)
	delete(v.calls, t.Call)
	v.showResult(t, what)
}

// showResult shows what a call changed, or its output, folded if it is long.
func (v *view) showResult(t wire.Tool, what string) {
	f, folds := v.screen.(folder)
	switch {
	case !v.screen.seen():
	case t.Diff != "" && v.diffShown != nil && v.diffShown(t.Call):
	case t.Diff != "" && folds:
		f.fold(what, diffLines(v.terminal, t.Diff, maxDiffLines), foldedDiff)
	case t.Diff != "":
		v.screen.lines(diffLines(v.terminal, t.Diff, foldedDiff))
	case folds && t.State == callDone:
		if lines := outputLines(t.Text); len(lines) > 1 { // the line of the call shows the rest
			for i, l := range lines {
				lines[i] = styled(v.terminal, dimmed, l)
			}
			f.fold(what, lines, foldedOutput)
		}
	}
}

// finish ends a complete answer.
func (v *view) finish(a wire.Answer) {
	if v.quiet {
		return
	}
	if v.missed && v.shown {
		v.screen.endAnswer()
		v.screen.note("· the connection was interrupted; this is the full answer:")
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
		v.screen.note("· the answer hit the output limit")
	}
}

// end ends open output, regardless of how the turn ended.
func (v *view) end() {
	v.endThinking()
	v.screen.endAnswer()
}

// headline returns the prefix of an error message. It marks data that was not saved.
func headline(err error) string {
	switch {
	case errors.Is(err, firn.ErrUnknownOutcome):
		return "MAYBE NOT SAVED: "
	case errors.Is(err, firn.ErrNotSaved):
		return "NOT SAVED: "
	case errors.Is(err, errStopped):
		return ""
	}
	return "firn: "
}

// seconds formats a short duration.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
