package agent

import (
	"fmt"

	"firn.dev"
	"firn.dev/compact"
)

// Level is a warning level for a filling window.
type Level string

// The levels. The empty level means no warning.
const (
	// LevelHigh applies from 80 percent on: it is time to make room.
	LevelHigh Level = "high"
	// LevelFull applies from 95 percent on: the oldest turns are or will soon be left out.
	LevelFull Level = "full"
)

// LevelOf returns the level for a window with that many tokens in use.
func LevelOf(tokens, window int64) Level {
	switch {
	case window <= 0 || tokens*100 < window*80:
		return ""
	case tokens*100 < window*95:
		return LevelHigh
	}
	return LevelFull
}

// warnWindow warns the user that the window is filling up, unless it is compacted
// automatically or compaction was suggested. It warns once when the first level is reached,
// and in every turn at the second. A message that is larger than the window is sent
// nevertheless, since the window's size may be wrong, and is always warned of.
func (t fitter) warnWindow(usage WindowUsage) {
	if n := t.inputTokens(); n > 0 && t.fit.warned == "" {
		t.fit.warned = LevelFull
		t.emit(Notice{Level: LevelFull, Text: fmt.Sprintf("the message fills about %d%% of the window; it was sent whole", n*100/max(usage.Window, 1))})
		return
	}
	if t.autoCompacts() && !t.fit.stuck || t.fit.suggested {
		return
	}
	level := LevelOf(usage.Tokens, usage.Window)
	if t.fit.omitted {
		level = LevelFull
	}
	if level == "" || level == LevelHigh && t.fit.level == LevelHigh || t.fit.warned == level {
		return
	}
	t.fit.warned = level
	text := fmt.Sprintf("the window is %d%% full; /compact frees space", usage.Tokens*100/max(usage.Window, 1))
	switch {
	case t.fit.omitted:
		text = "the window is full: the oldest turns are left out; /compact summarizes them"
	case level == LevelFull:
		text = fmt.Sprintf("the window is %d%% full: the oldest turns will soon be left out; /compact frees space", usage.Tokens*100/usage.Window)
	}
	t.emit(Notice{Text: text, Level: level})
}

// levelBefore returns the level of the window before the message of this turn.
func (t fitter) levelBefore() Level {
	if t.autoCompacts() || t.fit.measured {
		return t.fit.level
	}
	t.fit.measured = true
	tokens := t.requestTokens()
	for i := range t.path.Entries {
		if e := t.path.Entries[i]; e.ID == t.user && t.user != "" {
			if m, ok := messageWithRole(e, firn.RoleUser); ok {
				tokens -= t.a.counter().CountMessage(m)
			}
		}
	}
	return LevelOf(tokens, t.info.Window)
}

// breakerNotice notifies the user that automatic compaction is paused.
func (t fitter) breakerNotice() {
	b := compact.BreakerOf(t.path)
	if b.IsOpen(t.a.Compaction, t.a.now()) && b.Failures == t.a.Compaction.FailureLimit() {
		t.emit(Notice{Level: LevelHigh, Text: fmt.Sprintf("compaction failed %d times in a row; automatic compaction is paused until %s; /compact retries now",
			b.Failures, b.Until(t.a.Compaction).Local().Format("15:04"))})
	}
}
