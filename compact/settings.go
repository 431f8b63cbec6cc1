package compact

import (
	"time"

	"firn.dev/provider"
)

// Mode is the action to take when compaction is due.
type Mode string

// Actions when compaction is due. The zero value is Auto.
const (
	// Auto compacts.
	Auto Mode = "auto"
	// Suggest notifies the user, who decides.
	Suggest Mode = "suggest"
	// Off disables automatic compaction; it is never due. It can still be requested.
	Off Mode = "off"
)

// Reason is the reason for a compaction.
type Reason string

// Reasons for a compaction. The zero value is Manual.
const (
	// Threshold: the conversation exceeds the limit of the settings.
	Threshold Reason = "threshold"
	// Overflow: the provider rejected the request as too long.
	Overflow Reason = "overflow"
	// Manual: it was requested.
	Manual Reason = "manual"
)

// Settings configure when a conversation is compacted and how much of it is kept. The zero
// value has sensible defaults.
type Settings struct {
	Mode Mode
	// Threshold is the number of tokens above which compaction is due; zero means none.
	// Fraction is the same as a fraction of the window, such as 0.9.
	Threshold int64
	Fraction  float64
	// Reserve is the part of the window reserved for the answer, in tokens; zero means
	// 16,384. It is raised to ReserveFloor (zero means 20,000, a negative number none), but
	// never above a quarter of the window.
	Reserve, ReserveFloor int64
	// KeepRecent is the approximate number of tokens of the latest messages that are kept
	// unchanged; zero means 20,000. It is lowered if the window is too small.
	KeepRecent int64
	// Failures is the number of consecutive failures after which no model is asked for a
	// summary except on request; zero means 3. Cooldown is the time after which it is tried
	// again; zero means 10 minutes.
	Failures int
	Cooldown time.Duration
	// Backoff configures the retries after temporary failures of the summarizer.
	Backoff provider.Backoff
	// Timeout limits each call of the summarizer, including retries; zero means 2 minutes.
	// All calls of a run together are limited to five times that. After that, the rest is
	// summarized without a model.
	Timeout time.Duration
}

const (
	defaultReserve    = 16_384
	defaultFloor      = 20_000
	defaultKeepRecent = 20_000
	defaultFailures   = 3
	defaultTimeout    = 2 * time.Minute
	defaultCooldown   = 10 * time.Minute
	// timeoutFactor is the limit for all calls of a run, as a multiple of the timeout of
	// one call.
	timeoutFactor = 5
)

// Limit returns the number of tokens above which compaction is due in a window of the given
// size. It is the smallest of the configured limits, always greater than zero and less than
// the window. A window of zero or less means [provider.AssumedWindow].
func (s Settings) Limit(window int64) int64 {
	window = windowSize(window)
	limit := window - s.reserve(window)
	if s.Threshold > 0 {
		limit = min(limit, s.Threshold)
	}
	if s.Fraction > 0 {
		limit = min(limit, int64(s.Fraction*float64(window)))
	}
	return max(1, min(limit, window-1))
}

// Due reports whether a conversation of the given size should be compacted before it
// continues. It returns false if the mode is Off.
func (s Settings) Due(tokens, window int64) bool {
	return s.Mode != Off && tokens > s.Limit(window)
}

// reserve returns the part of a window reserved for the answer.
func (s Settings) reserve(window int64) int64 {
	reserve, floor := s.Reserve, s.ReserveFloor
	if reserve <= 0 {
		reserve = defaultReserve
	}
	if floor == 0 {
		floor = defaultFloor
	}
	return min(max(reserve, floor), windowSize(window)/4)
}

// keepRecent returns the number of tokens of recent messages to keep, given the available
// room.
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

// windowSize returns the size of a window, or the assumed size if it is unknown.
func windowSize(window int64) int64 {
	if window <= 0 {
		return provider.AssumedWindow
	}
	return window
}
