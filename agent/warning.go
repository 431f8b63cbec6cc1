package agent

import (
	"fmt"

	"firn.dev"
	"firn.dev/compact"
)

// Level is how full a window is, as far as the user should know.
type Level string

// The levels. The empty one is nothing to worry about.
const (
	// LevelHigh is from 80 percent on: it is time to make room.
	LevelHigh Level = "high"
	// LevelFull is from 95 percent on: the oldest turns are left out, or soon will be.
	LevelFull Level = "full"
)

// LevelOf returns the level of a window of which so many tokens are in use.
func LevelOf(tokens, window int64) Level {
	switch {
	case window <= 0 || tokens*100 < window*80:
		return ""
	case tokens*100 < window*95:
		return LevelHigh
	}
	return LevelFull
}

// warnOf tells the user that the window fills up, if nothing will make room by itself and
// compaction was not suggested:
// when it comes to the first level, and at the second in every turn.
func (t *turn) warnOf(usage WindowUsage) {
	if t.auto() && !t.fit.stuck || t.fit.suggested {
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
	text := fmt.Sprintf("the window is %d%% full; /compact makes room", usage.Tokens*100/max(usage.Window, 1))
	switch {
	case t.fit.omitted:
		text = "the window is full: the oldest turns are not sent; /compact summarizes them"
	case level == LevelFull:
		text = fmt.Sprintf("the window is %d%% full: soon the oldest turns are not sent; /compact makes room", usage.Tokens*100/usage.Window)
	}
	t.emit(Notice{Text: text, Level: level})
}

// levelBefore is the level of the window before the message of this turn.
func (t *turn) levelBefore() Level {
	if t.auto() || t.fit.measured {
		return t.fit.level
	}
	t.fit.measured = true
	tokens := t.measure()
	for i := range t.path.Entries {
		if e := t.path.Entries[i]; e.ID == t.user && t.user != "" {
			if m, ok := saidBy(e, firn.RoleUser); ok {
				tokens -= t.a.counter().CountMessage(m)
			}
		}
	}
	return LevelOf(tokens, t.info.Window)
}

// breakerNotice says that compaction is paused.
func (t *turn) breakerNotice() {
	b := compact.BreakerOf(t.path)
	if b.Open(t.a.Compaction, t.a.now()) && b.Failures == t.a.Compaction.FailureLimit() {
		t.emit(Notice{Level: LevelHigh, Text: fmt.Sprintf("compaction failed %d times in a row; until %s no model is asked for a summary; /compact tries at once",
			b.Failures, b.Until(t.a.Compaction).Local().Format("15:04"))})
	}
}
