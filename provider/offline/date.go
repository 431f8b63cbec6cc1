package offline

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev/internal/base/pattern"
)

// Questions about a date other than today's call the tool now, and the answer is computed from
// its result, since the model does not read the clock.

var (
	dateAhead  = pattern.New(`(?i)\b(?:what|which)\b.{0,30}\b(?:date|day|weekday)\b.{0,30}\bin (\d{1,4}|an?|one|two|three|four|five|six|seven|ten) (day|week|month|year)s?\b`)
	dateAgo    = pattern.New(`(?i)\b(?:what|which)\b.{0,30}\b(?:date|day|weekday)\b.{0,30}\b(\d{1,4}|an?|one|two|three|four|five|six|seven|ten) (day|week|month|year)s? ago\b`)
	dateNear   = pattern.New(`(?i)\b(?:what|which)\b.{0,30}\b(?:date|day|weekday)\b.{0,30}\b(tomorrow|yesterday)\b`)
	dateFrom   = pattern.New(`(?i)\bhow (?:many days|long)\b.{0,30}\b(until|till|to|since|from|before)\b.{0,20}?\b(\d{4}-\d{2}-\d{2}|christmas|new year)\b`)
	dateOfDay  = pattern.New(`(?i)\b(?:what|which) (?:day|weekday)(?: of the week)? (?:is|was|will be|falls on)(?: on)? (\d{4}-\d{2}-\d{2})\b`)
	smallWords = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
)

// findDate finds a question about another date.
func findDate(text string) (wanted, bool) {
	if dateAnswer(text, time.Time{}) == "" {
		return wanted{}, false
	}
	return wanted{tool: "now"}, true
}

// dateAnswer answers a question about another date than today's. It is empty if the text asks
// for none.
func dateAnswer(text string, now time.Time) string {
	if m := dateOfDay().FindStringSubmatch(text); m != nil {
		if day, err := time.Parse(time.DateOnly, m[1]); err == nil {
			return dayText(day)
		}
	}
	if m := dateFrom().FindStringSubmatch(text); m != nil {
		return distance(strings.ToLower(m[2]), now)
	}
	if m := dateNear().FindStringSubmatch(text); m != nil {
		days := 1
		if strings.EqualFold(m[1], "yesterday") {
			days = -1
		}
		return dayText(now.AddDate(0, 0, days))
	}
	if m := dateAgo().FindStringSubmatch(text); m != nil {
		return dayText(moved(now, -amount(m[1]), m[2]))
	}
	if m := dateAhead().FindStringSubmatch(text); m != nil {
		return dayText(moved(now, amount(m[1]), m[2]))
	}
	return ""
}

func amount(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return smallWords[strings.ToLower(text)]
}

func moved(at time.Time, n int, unit string) time.Time {
	switch strings.ToLower(unit) {
	case "week":
		return at.AddDate(0, 0, 7*n)
	case "month":
		return at.AddDate(0, n, 0)
	case "year":
		return at.AddDate(n, 0, 0)
	}
	return at.AddDate(0, 0, n)
}

func dayText(day time.Time) string { return day.Format("Monday, 2 January 2006 (2006-01-02)") + "." }

// distance returns the days between today and another day.
func distance(name string, now time.Time) string {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	day, err := time.Parse(time.DateOnly, name)
	switch name {
	case "christmas":
		day, err = time.Date(now.Year(), time.December, 25, 0, 0, 0, 0, time.UTC), nil
	case "new year":
		day, err = time.Date(now.Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC), nil
	}
	if err != nil {
		return ""
	}
	if day.Before(today) && name == "christmas" {
		day = day.AddDate(1, 0, 0)
	}
	days := int(day.Sub(today).Hours() / 24)
	date := day.Format(time.DateOnly)
	switch {
	case days == 0:
		return "That is today, " + date + "."
	case days < 0:
		return fmt.Sprintf("%s since %s.", counted(-days, "day"), date)
	}
	return fmt.Sprintf("%s until %s.", counted(days, "day"), date)
}

// nowIn parses the time in a result of the tool now.
func nowIn(result string) (time.Time, bool) {
	stamp, _, _ := strings.Cut(result, ",")
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(stamp))
	return at, err == nil
}
