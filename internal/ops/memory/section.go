package memory

import (
	"slices"
	"strings"
	"time"

	"firn.dev/internal/base/pattern"
)

// The headings of the note of extracted facts. The first two are the same as in Cersei.
const (
	autoSection = "## Auto-extracted memories"
	dayHeading  = "### Session memories — "
	goneSection = "## Superseded memories"
)

var anyDay = pattern.New(`\d{4}-\d{2}-\d{2}`)

// Facts returns the facts of a note: its list items outside of code blocks. Superseded ones
// are marked.
func (n Note) Facts() []Fact {
	var facts []Fact
	day, _ := n.Day()
	walkLines(n.Body, func(number int, line string, superseded bool, heading time.Time) {
		f, ok := parseFact(line)
		if !ok {
			return
		}
		f.Note, f.Line, f.Day = n.Name, number, day
		if !heading.IsZero() {
			f.Day = heading
		}
		f.Gone = f.Gone || superseded
		facts = append(facts, f)
	})
	return facts
}

// walkLines calls see for each line of a body outside of code blocks, with whether it is in
// the section of superseded facts and the day of its heading.
func walkLines(body string, see func(number int, line string, superseded bool, day time.Time)) {
	var day time.Time
	superseded, code := false, false
	number := 0
	for line := range strings.SplitSeq(body, "\n") {
		number++
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if code {
			continue
		}
		if strings.HasPrefix(line, "#") {
			if strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "# ") {
				superseded, day = strings.HasPrefix(line, goneSection), time.Time{}
			}
			if found := anyDay().FindString(line); found != "" {
				if at, ok := dayOf(found); ok {
					day = at
				}
			}
		}
		see(number, line, superseded, day)
	}
}

// withFacts adds facts to a body under the heading of a day, which is created if necessary
// before those of other days.
func withFacts(body string, day time.Time, facts []Fact) string {
	if len(facts) == 0 {
		return body
	}
	lines := make([]string, len(facts))
	for i, f := range facts {
		lines[i] = f.String()
	}
	heading := dayHeading + day.Format(dayFormat)
	all := strings.Split(body, "\n")
	section := slices.Index(all, autoSection)
	if section < 0 {
		if body = strings.TrimRight(body, "\n"); body != "" {
			body += "\n\n"
		}
		return body + autoSection + "\n\n" + heading + "\n" + strings.Join(lines, "\n") + "\n"
	}
	end := sectionEnd(all, section)
	if at := slices.Index(all[section:end], heading); at >= 0 {
		return strings.Join(slices.Insert(all, section+at+1, lines...), "\n")
	}
	fresh := append([]string{"", heading}, lines...)
	if next := section + 1; next < len(all) && all[next] != "" {
		fresh = append(fresh, "")
	}
	return strings.Join(slices.Insert(all, section+1, fresh...), "\n")
}

// sectionEnd returns the end of the section that starts at a line.
func sectionEnd(lines []string, begin int) int {
	for i := begin + 1; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "## ") || strings.HasPrefix(lines[i], "# ") {
			return i
		}
	}
	return len(lines)
}

// withGone adds lines to the section of superseded facts, latest first, and keeps at most
// that many; the others are returned.
func withGone(body string, gone []string, most int) (to string, left []string) {
	if len(gone) == 0 {
		return body, nil
	}
	all := strings.Split(strings.TrimRight(body, "\n"), "\n")
	section := slices.Index(all, goneSection)
	if section < 0 {
		all = append(all, "", goneSection, "")
		section = len(all) - 2
	}
	at := section + 1
	for at < len(all) && all[at] == "" {
		at++
	}
	all = slices.Insert(all, at, gone...)
	kept := 0
	for i := at; i < sectionEnd(all, section); {
		if _, ok := listItem(all[i]); ok {
			if kept++; kept > most {
				left = append(left, all[i])
				all = slices.Delete(all, i, i+1)
				continue
			}
		}
		i++
	}
	return strings.Join(all, "\n") + "\n", left
}

// edit replaces or removes a line.
type edit struct {
	line int
	text string
	drop bool
}

// withEdits applies edits to the lines of a body and removes headings of days that become
// empty.
func withEdits(body string, edits []edit) string {
	if len(edits) == 0 {
		return body
	}
	at := make(map[int]edit, len(edits))
	for _, e := range edits {
		at[e.line] = e
	}
	var kept []string
	number := 0
	for line := range strings.SplitSeq(body, "\n") {
		number++
		e, ok := at[number]
		switch {
		case ok && e.drop:
		case ok:
			kept = append(kept, e.text)
		default:
			kept = append(kept, line)
		}
	}
	return strings.Join(dropEmptyDays(kept), "\n")
}

// dropEmptyDays removes the headings of days without content.
func dropEmptyDays(lines []string) []string {
	var kept []string
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], dayHeading) {
			next := i + 1
			for next < len(lines) && lines[next] == "" {
				next++
			}
			if next == len(lines) || strings.HasPrefix(lines[next], "#") {
				i = next - 1
				if next == len(lines) {
					kept = append(kept, "")
				}
				continue
			}
		}
		kept = append(kept, lines[i])
	}
	return kept
}
