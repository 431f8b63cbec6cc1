package provider

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// after is how long a provider asks to be left alone, zero if it does not say:
// by the header made for it, by the body, or by the limits that are used up.
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

// retryAfter reads the header of that name: seconds, or a date.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	if s, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
		return seconds(s), s >= 0
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// seconds is a duration that cannot overflow: what is longer than a year is a
// year.
func seconds(s float64) time.Duration {
	const year = 365 * 24 * 3600
	if math.IsNaN(s) || s < 0 {
		return 0
	}
	return time.Duration(min(s, year) * float64(time.Second))
}

// tryAgain is how OpenAI and Groq tell it in words.
var tryAgain = regexp.MustCompile(`(?i)\b(?:try again|retry) in ([\d.hms]+)`)

// wait is how long the body says to wait.
func (n notice) wait() time.Duration {
	if n.delay > 0 {
		return n.delay
	}
	if m := tryAgain.FindStringSubmatch(n.text); m != nil {
		if d, err := time.ParseDuration(strings.TrimRight(m[1], ".")); err == nil {
			return d
		}
	}
	return 0
}

// resets is how long it takes until every limit that is used up is there
// again. A limit is told by two headers: what remains of it, and when it
// resets.
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

// reset reads when a limit resets: a time, a duration, a number of seconds, or
// seconds or milliseconds since 1970.
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
