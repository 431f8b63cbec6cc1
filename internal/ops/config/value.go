package config

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size. In settings it is a number of bytes, optionally with a unit: kb, mb, gb
// and tb are powers of 1,000; kib, mib, gib and tib are powers of 1,024.
type Bytes int64

// String formats a size with the largest unit that gives an integer.
func (b Bytes) String() string {
	for i := len(byteUnits) - 1; i >= 0; i-- {
		if u := byteUnits[i]; b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// byteUnits are in ascending order.
var byteUnits = []struct {
	name string
	size int64
}{
	{"kb", 1e3}, {"kib", 1 << 10}, {"mb", 1e6}, {"mib", 1 << 20},
	{"gb", 1e9}, {"gib", 1 << 30}, {"tb", 1e12}, {"tib", 1 << 40},
}

var errSize = errors.New("expected a size such as 500kb, 10mb or 2gib")

// parseBytes parses a size.
func parseBytes(s string) (Bytes, error) {
	text := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(s)), "_", "")
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz ")
	unit, factor := strings.TrimSpace(text[len(digits):]), int64(1)
	if unit != "" && unit != "b" {
		factor = 0
		for _, u := range byteUnits {
			if unit == u.name {
				factor = u.size
			}
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	if factor == 0 || err != nil || strings.ContainsAny(digits, "xX+") {
		return 0, errSize
	}
	total := n * float64(factor)
	if !(total >= 0 && total < math.MaxInt64) {
		return 0, errSize
	}
	if whole, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return Bytes(whole * factor), nil // exact if possible
	}
	return Bytes(math.Round(total)), nil
}

var errDuration = errors.New("expected a duration such as 30s, 5m, 2h or 30d")

// parseDuration parses a duration with Go's units, d for days and w for weeks.
func parseDuration(s string) (time.Duration, error) {
	text := strings.TrimSpace(s)
	var total time.Duration
	for _, unit := range []struct {
		name string
		time time.Duration
	}{{"w", 7 * day}, {"d", day}} {
		digits, rest, found := strings.Cut(text, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(digits, 64)
		if err != nil || strings.Trim(digits, "0123456789.") != "" || n*float64(unit.time) >= float64(math.MaxInt64-total) {
			return 0, errDuration
		}
		total += time.Duration(n * float64(unit.time))
		if text = rest; text == "" {
			return total, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || total+d < total || strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		return 0, errDuration
	}
	return total + d, nil
}

const day = 24 * time.Hour

// formatDuration formats a duration so that parseDuration can parse it.
func formatDuration(d time.Duration) string {
	if d <= 0 {
		return "0s"
	}
	text := ""
	if days := d / day; days > 0 {
		text, d = strconv.FormatInt(int64(days), 10)+"d", d%day
	}
	if d == 0 {
		return text
	}
	rest := d.String()
	if strings.HasSuffix(rest, "m0s") {
		rest = strings.TrimSuffix(rest, "0s")
	}
	if strings.HasSuffix(rest, "h0m") {
		rest = strings.TrimSuffix(rest, "0m")
	}
	return text + rest
}
