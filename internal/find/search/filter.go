package search

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/typo"
)

// filterNames are the names of filters, with the names that other programs have for them.
var filterNames = map[string]string{
	"role": "role", "tool": "tool", "agent": "agent", "key": "key", "source": "source", "path": "path", "session": "session",
	"since": "since", "until": "until", "in": "in", "machines": "machines", "after": "since", "before": "until",
}

func isFilter(name string) bool { return filterNames[strings.ToLower(name)] != "" }

// filter parses name:value. It returns false for other words with a colon, such as URLs.
func (p *parser) filter(text string) (bool, error) {
	name, value, ok := strings.Cut(text, ":")
	if !ok || !isFilter(name) {
		return false, nil
	}
	name = filterNames[strings.ToLower(name)]
	if value == "" {
		return true, p.wrong("%s: needs a value", name)
	}
	if p.negated > 0 {
		return true, p.wrong("%s: cannot be negated; filters apply to the whole query", name)
	}
	return true, p.query.Narrow(name, value, p.now)
}

// Narrow adds a filter in query syntax. It returns ErrInvalid for an unknown name or value.
func (q *Query) Narrow(name, value string, now time.Time) (err error) {
	p := parser{}
	switch name {
	case "role":
		role := Role(strings.ToLower(value))
		if !slices.Contains(Roles(), role) {
			return meant("role", value, Roles(), p.wrong("role: must be user, assistant, tool, shell, system, summary or title, not %.40q", value))
		}
		q.Roles = append(q.Roles, role)
	case "tool":
		q.Tools = append(q.Tools, value)
	case "agent":
		q.Agents = append(q.Agents, value)
	case "key":
		q.Keys = append(q.Keys, value)
	case "source":
		q.Sources = append(q.Sources, value)
	case "path":
		if len(PathNames(value)) == 0 {
			return p.wrong("path: needs a name, not %.40q", value)
		}
		q.Paths = append(q.Paths, value)
	case "session":
		if len(value) < 4 {
			return p.wrong("session: needs four characters of an id or more")
		}
		q.Sessions = append(q.Sessions, value)
	case "since":
		q.Since, err = ParseTime(value, now)
	case "until":
		q.Until, err = ParseTime(value, now)
	case "in":
		switch in := In(strings.ToLower(value)); in {
		case InTalk, InTools, InAll:
			q.In = in
		default:
			return meant("in", value, []In{InTalk, InTools, InAll}, p.wrong("in: is talk, tools or all, not %.40q", value))
		}
	case "machines":
		how := Machines(strings.ToLower(value))
		if !slices.Contains(AllMachines(), how) {
			return meant("machines", value, AllMachines(), p.wrong("machines: is lower, equal, hide or only, not %.40q", value))
		}
		q.Machines = how
	default:
		return p.wrong("unknown filter %.40q", name)
	}
	return err
}

// meant adds a hint to the error about the value of a filter: the value that it is like, or an
// example.
func meant[T ~string](name, value string, values []T, err error) error {
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = string(v)
	}
	if near := typo.Nearest(strings.ToLower(value), names, 2); near != "" {
		return failure.WithHint(err, fmt.Sprintf("did you mean %s:%s?", name, near))
	}
	return failure.WithHint(err, fmt.Sprintf("for example: %s:%s", name, names[0]))
}

// ParseTime parses a day, a time, an age (7d, 2w, 12h), today or yesterday.
func ParseTime(text string, now time.Time) (time.Time, error) {
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch strings.ToLower(text) {
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	for unit, days := range map[string]int{"d": 1, "w": 7} {
		if number, ok := strings.CutSuffix(text, unit); ok {
			if n, err := strconv.Atoi(number); err == nil && n >= 0 && n <= 100_000 {
				return now.AddDate(0, 0, -n*days), nil
			}
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01", "2006"} {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	p := parser{}
	return time.Time{}, failure.WithHint(p.wrong("invalid time %.40q: expected a date such as 2026-11-01, a time, or an age such as 7d or 12h", text),
		"for example: since:7d until:"+now.Format(time.DateOnly))
}

// PathNames returns the folded names in a path, in order.
func PathNames(path string) []string {
	var names []string
	for name := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		folded := FoldText(name)
		if len(folded) > maxTerm {
			folded = folded[:maxTerm]
			for !utf8.ValidString(folded) {
				folded = folded[:len(folded)-1]
			}
		}
		if folded != "" {
			names = append(names, folded)
		}
	}
	return names
}

// Free reports whether the query has no filters except In.
func (q *Query) Free() bool {
	return len(q.Roles)+len(q.Tools)+len(q.Agents)+len(q.Keys)+len(q.Sources)+len(q.Paths)+len(q.Sessions) == 0 && q.Since.IsZero() && q.Until.IsZero() && q.Machines != MachinesHide && q.Machines != MachinesOnly
}
