package memory

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev/internal/base/pattern"
)

// relative matches relative dates together with the preceding word, which determines how
// the date is written.
var relative = pattern.New(`(?i)\b(?:(by|on|until|till|since|before|after|from|for|of|to|at|in|this coming) +)?(?:the +)?` +
	`(day after tomorrow|day before yesterday|tomorrow|yesterday|today|tonight|` +
	`in (?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (?:day|week|month|year)s?|` +
	`(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten) (?:day|week|month|year)s? ago|` +
	`(?:next|last|this) (?:week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)|` +
	`(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b('s|’s|s\b)?`)

// absoluteDates replaces relative dates in a text, such as tomorrow, last week, in three days or
// by Friday, with absolute ones. written is when the text was written. A weekday alone counts
// only after a preposition: "on Friday" is replaced, "Fridays" is not. In German, French
// and Spanish only the simple words for days are known; other languages are left unchanged.
func absoluteDates(text string, written time.Time) string {
	if written.IsZero() {
		return text
	}
	if l, ok := detectLanguage(text); ok {
		return l.absolute(text, written)
	}
	var b strings.Builder
	end := 0
	for _, m := range relative().FindAllStringSubmatchIndex(text, -1) {
		group := func(n int) string {
			if m[2*n] < 0 {
				return ""
			}
			return text[m[2*n]:m[2*n+1]]
		}
		word, preposition, suffix := strings.ToLower(group(2)), group(1), group(3)
		to, ok := absolute(word, strings.ToLower(preposition), written)
		if !ok || suffix == "s" {
			continue
		}
		b.WriteString(text[end:m[0]])
		b.WriteString(likeFirst(text[m[0]:m[1]], formatDate(to, preposition, suffix, word)))
		end = m[1]
	}
	return b.String() + text[end:]
}

// likeFirst capitalizes text if other is capitalized.
func likeFirst(other, text string) string {
	if other[0] >= 'A' && other[0] <= 'Z' && text[0] >= 'a' && text[0] <= 'z' {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

// span is a period in words, and whether it is a single day.
type span struct {
	text string
	day  bool
}

// formatDate writes a date after the word that preceded it.
func formatDate(to span, preposition, suffix, word string) string {
	if suffix != "" {
		to.text += "'s"
	}
	low := strings.ToLower(preposition)
	switch {
	case low == "" && suffix != "":
		return to.text
	case low == "" && to.day:
		return "on " + to.text
	case low == "":
		return "in " + to.text
	case low == "this coming", strings.HasPrefix(word, "in ") && low == "in":
		return "on " + to.text
	}
	return preposition + " " + to.text
}

func absolute(word, preposition string, written time.Time) (span, bool) {
	day := func(n int) (span, bool) { return span{written.AddDate(0, 0, n).Format(dayFormat), true}, true }
	switch word {
	case "today", "tonight":
		return day(0)
	case "tomorrow":
		return day(1)
	case "yesterday":
		return day(-1)
	case "day after tomorrow":
		return day(2)
	case "day before yesterday":
		return day(-2)
	}
	fields := strings.Fields(word)
	switch {
	case fields[0] == "in":
		return shiftDate(fields[1], fields[2], 1, written)
	case fields[len(fields)-1] == "ago":
		return shiftDate(fields[0], fields[1], -1, written)
	case len(fields) == 2:
		return adjacentSpan(fields[0], fields[1], written)
	}
	switch preposition {
	case "by", "on", "until", "till", "before", "after", "this coming", "for":
		return day(daysUntil(written, fields[0]))
	}
	return span{}, false
}

// shiftDate returns the date count days, weeks, months or years from written.
func shiftDate(count, unit string, sign int, written time.Time) (span, bool) {
	n, err := strconv.Atoi(count)
	if err != nil {
		n = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}[count]
	}
	n *= sign
	switch strings.TrimSuffix(unit, "s") {
	case "day":
		return span{written.AddDate(0, 0, n).Format(dayFormat), true}, true
	case "week":
		return span{written.AddDate(0, 0, 7*n).Format(dayFormat), true}, true
	case "month":
		return monthOf(written, n), true
	}
	return span{strconv.Itoa(written.Year() + n), false}, true
}

// adjacentSpan returns the previous, current or next week, month, year or weekday.
func adjacentSpan(which, unit string, written time.Time) (span, bool) {
	n := map[string]int{"last": -1, "this": 0, "next": 1}[which]
	switch unit {
	case "week":
		monday := written.AddDate(0, 0, -(int(written.Weekday())+6)%7+7*n)
		return span{"the week of " + monday.Format(dayFormat), false}, true
	case "month":
		return monthOf(written, n), true
	case "year":
		return span{strconv.Itoa(written.Year() + n), false}, true
	}
	days := daysUntil(written, unit)
	if which == "last" {
		days -= 7
	}
	return span{written.AddDate(0, 0, days).Format(dayFormat), true}, true
}

// monthOf returns the month n months from written, regardless of the day of the month.
func monthOf(written time.Time, n int) span {
	first := time.Date(written.Year(), written.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	return span{fmt.Sprintf("%04d-%02d", first.Year(), first.Month()), false}
}

// daysUntil returns the number of days until a weekday: one to seven.
func daysUntil(written time.Time, weekday string) int {
	for n := 1; n <= 7; n++ {
		if strings.EqualFold(written.AddDate(0, 0, n).Weekday().String(), weekday) {
			return n
		}
	}
	return 0
}
