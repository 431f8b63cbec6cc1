package provider

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"firn.dev/internal/base/pattern"
)

// after returns the retry delay that a provider requests: from the Retry-After header, the
// body, or the exhausted rate limits. It is zero if there is none.
func after(status int, header http.Header, n notice, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return seconds(ms / 1000)
	}
	if d, ok := retryAfter(header.Get("Retry-After"), now); ok {
		return d
	}
	if d := n.wait(); d > 0 {
		return d
	}
	if status != http.StatusTooManyRequests {
		return 0
	}
	return resets(header, now)
}

// retryAfter parses a Retry-After header: seconds or a date.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	if s, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
		return seconds(s), s >= 0
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// seconds converts seconds to a duration of at most one year, which cannot overflow.
func seconds(s float64) time.Duration {
	const year = 365 * 24 * 3600
	if math.IsNaN(s) || s < 0 {
		return 0
	}
	return time.Duration(min(s, year) * float64(time.Second))
}

// tryAgain matches the delay in error messages of OpenAI and Groq.
var tryAgain = pattern.New(`(?i)\b(?:try again|retry) in ([\d.hms]+)`)

// wait returns the retry delay stated in the body.
func (n notice) wait() time.Duration {
	if n.delay > 0 {
		return n.delay
	}
	if m := tryAgain().FindStringSubmatch(n.text); m != nil {
		if d, err := time.ParseDuration(strings.TrimRight(m[1], ".")); err == nil {
			return d
		}
	}
	return 0
}

// resets returns the time until all exhausted rate limits have been reset. Each limit has
// two headers: the remaining amount and the reset time.
func resets(header http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for name, values := range header {
		low := strings.ToLower(name)
		if !strings.Contains(low, "ratelimit") || !strings.Contains(low, "reset") || len(values) == 0 {
			continue
		}
		if header.Get(strings.Replace(low, "reset", "remaining", 1)) != "0" {
			continue
		}
		longest = max(longest, reset(values[0], now))
	}
	return longest
}

// reset parses the reset time of a limit: a timestamp, a duration, a number of seconds, or
// a Unix time in seconds or milliseconds.
func reset(value string, now time.Time) time.Duration {
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return max(at.Sub(now), 0)
	}
	if d, err := time.ParseDuration(value); err == nil {
		return max(d, 0)
	}
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
		return 0
	case n >= 1e12:
		return seconds(n/1000 - float64(now.UnixMilli())/1000)
	case n >= 1e9:
		return seconds(n - float64(now.UnixMilli())/1000)
	}
	return seconds(n)
}
