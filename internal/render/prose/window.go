package prose

import (
	"fmt"

	"firn.dev/wire"
)

// Level returns a warning if a window is nearly full, or "".
func Level(u wire.Usage) string {
	switch u.Level {
	case "high":
		return ", nearly full"
	case "full":
		return ", full"
	}
	return ""
}

// Breaker returns how often compaction failed, and until when it is paused.
func Breaker(b wire.Breaker) string {
	text := fmt.Sprintf("failed %s in a row", Count(b.Failures, "time", "times"))
	if b.Open {
		text = fmt.Sprintf("paused until %s, after %s in a row", b.Until.Local().Format("15:04"), Plural(b.Failures, "failure"))
	}
	if b.Error != "" {
		text += ": " + OneLine(b.Error, 300)
	}
	return text
}
