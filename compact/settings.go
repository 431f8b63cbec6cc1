package compact

import (
	"time"

	"firn.dev/provider"
)

// Mode says what happens when compaction is due.
type Mode string

// What happens when compaction is due. The zero value is Auto.
const (
	// Auto compacts.
	Auto Mode = "auto"
	// Suggest tells the user and leaves it to them.
	Suggest Mode = "suggest"
	// Off does nothing; compaction is never due. It can still be asked for.
	Off Mode = "off"
)

// Reason says why a compaction is run.
type Reason string

// Why a compaction is run. The zero value is Manual.
const (
	// Threshold: the conversation passed the limit of the settings.
	Threshold Reason = "threshold"
	// Overflow: the provider said that the request is too long.
	Overflow Reason = "overflow"
	// Manual: somebody asked for it.
	Manual Reason = "manual"
)

// Settings say when a conversation is compacted and how much of it is kept.
// The zero value has good defaults.
type Settings struct {
	Mode Mode
	// Threshold is a number of tokens above which compaction is due; zero means
	// none. Fraction is the same as a share of the window, such as 0.9.
	Threshold int64
	Fraction  float64
	// Reserve is what is left free of the window for the answer; zero means
	// 16,384. It is raised to ReserveFloor, where zero means 20,000 and less
	// than zero none, but never above a quarter of the window.
	Reserve, ReserveFloor int64
	// KeepRecent is about how many tokens of the latest messages are kept as
	// they are; zero means 20,000. It is lowered where the window is too small.
	KeepRecent int64
	// Failures is how many tries may fail in a row before no model is asked for a
	// summary, unless the user wants one; zero means 3. After Cooldown it is tried
	// again; zero means 10 minutes.
	Failures int
	Cooldown time.Duration
	// Backoff says how often a summariser that fails for a while is asked again.
	Backoff provider.Backoff
	// Timeout bounds each call of the summariser, with its retries; zero means 2
	// minutes. All calls of a run together are bounded by five times that.
	// When time is up the rest is summarised without a model.
	Timeout time.Duration
}

const (
	defaultReserve    = 16_384
	defaultFloor      = 20_000
	defaultKeepRecent = 20_000
	defaultFailures   = 3
	defaultTimeout    = 2 * time.Minute
	defaultCooldown   = 10 * time.Minute
	// patience is how many times the timeout of one call all calls may take.
	patience = 5
)

// Limit is how many tokens a conversation may have in a window of that size:
// compaction is due above it. It is the least of the limits that are set, and
// always more than zero and less than the window. A window of zero or less is
// taken for [provider.AssumedWindow].
func (s Settings) Limit(window int64) int64 {
	window = known(window)
	limit := window - s.reserve(window)
	if s.Threshold > 0 {
		limit = min(limit, s.Threshold)
	}
	if s.Fraction > 0 {
		limit = min(limit, int64(s.Fraction*float64(window)))
	}
	return max(1, min(limit, window-1))
}

// Due reports whether a conversation of so many tokens should be compacted
// before it goes on. It is never due if the mode is Off.
func (s Settings) Due(tokens, window int64) bool {
	return s.Mode != Off && tokens > s.Limit(window)
}

// reserve is what is left free of a window.
func (s Settings) reserve(window int64) int64 {
	reserve, floor := s.Reserve, s.ReserveFloor
	if reserve <= 0 {
		reserve = defaultReserve
	}
	if floor == 0 {
		floor = defaultFloor
	}
	return min(max(reserve, floor), known(window)/4)
}

// keepRecent is how many tokens of recent messages are kept if there is room
// for so many.
func (s Settings) keepRecent(room int64) int64 {
	keep := s.KeepRecent
	if keep <= 0 {
		keep = defaultKeepRecent
	}
	return max(1, min(keep, room/2))
}

func (s Settings) failures() int {
	if s.Failures <= 0 {
		return defaultFailures
	}
	return s.Failures
}

func (s Settings) cooldown() time.Duration {
	if s.Cooldown <= 0 {
		return defaultCooldown
	}
	return s.Cooldown
}

func (s Settings) timeout() time.Duration {
	if s.Timeout <= 0 {
		return defaultTimeout
	}
	return s.Timeout
}

// known is the size of a window, or what is assumed if it is not known.
func known(window int64) int64 {
	if window <= 0 {
		return provider.AssumedWindow
	}
	return window
}
