package native

import (
	"math"
	"strconv"
	"time"
)

// parseTime parses a time in JavaScript's format, 2026-11-15T02:40:15.045Z, or any other
// form of RFC 3339. It truncates to milliseconds.
func parseTime(b []byte) (time.Time, bool) {
	if t, ok := parseISO(b); ok {
		return t, true
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return time.Time{}, false
	}
	t = t.UTC().Truncate(time.Millisecond)
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}, false // it could not be written again
	}
	return t, true
}

// parseISO is the fast path for the usual form.
func parseISO(b []byte) (t time.Time, ok bool) {
	const form = "dddd-dd-ddTdd:dd:dd.dddZ"
	if len(b) != len(form) {
		return t, false
	}
	for i, c := range b {
		if form[i] != 'd' && c != form[i] || form[i] == 'd' && (c < '0' || c > '9') {
			return t, false
		}
	}
	two := func(i int) int { return int(b[i]-'0')*10 + int(b[i+1]-'0') }
	year, month, day := two(0)*100+two(2), two(5), two(8)
	hour, minute, second := two(11), two(14), two(17)
	if month < 1 || month > 12 || day < 1 || day > 28 && day > daysIn(month, year) || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	ms := two(20)*10 + int(b[22]-'0')
	t = time.Date(year, time.Month(month), day, hour, minute, second, ms*int(time.Millisecond), time.UTC)
	return t, !t.IsZero()
}

func daysIn(month, year int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// appendTime appends a time as JavaScript's toISOString does; ok is false if the year does
// not have four digits.
func appendTime(dst []byte, t time.Time) (_ []byte, ok bool) {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return dst, false
	}
	hour, minute, second := t.Clock()
	dst = appendDigits(dst, year, 4)
	dst = appendDigits(append(dst, '-'), int(month), 2)
	dst = appendDigits(append(dst, '-'), day, 2)
	dst = appendDigits(append(dst, 'T'), hour, 2)
	dst = appendDigits(append(dst, ':'), minute, 2)
	dst = appendDigits(append(dst, ':'), second, 2)
	dst = appendDigits(append(dst, '.'), t.Nanosecond()/int(time.Millisecond), 3)
	return append(dst, 'Z'), true
}

func appendDigits(dst []byte, n, width int) []byte {
	for scale := int(math.Pow10(width - 1)); scale > 0; scale /= 10 {
		dst = append(dst, '0'+byte(n/scale%10))
	}
	return dst
}

// epochOK reports whether JavaScript can represent a time in milliseconds. Go's zero time
// is not valid: it means no time.
func epochOK(ms int64) bool {
	const limit = 8_640_000_000_000_000
	return ms >= -limit && ms <= limit && !time.UnixMilli(ms).IsZero()
}

// appendFloat appends a number as JavaScript does; ok is false if JSON cannot represent it.
func appendFloat(dst []byte, f float64) (_ []byte, ok bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, false
	}
	if f == 0 {
		return append(dst, '0'), true
	}
	if size := math.Abs(f); size >= 1e-6 && size < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64), true
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes at least two digits of the exponent, JavaScript as few as possible.
	if n := len(dst); n-start >= 4 && dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst, true
}
