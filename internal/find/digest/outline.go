package digest

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Lengths in a summary, in characters.
const (
	goalChars       = 600
	itemChars       = 300
	askChars        = 160
	resultLineChars = 120
	lookChars       = 2000
	// maxItem is the maximum length of an item except the goal.
	maxItem = 500
	// maxList is the maximum length of an item that lists names.
	maxList = 320
	// maxNames is the maximum number of names listed.
	maxNames = 24
)

// Sections of a summary, in order.
const (
	goal = iota
	constraints
	doneItems
	blocked
	decisions
	next
	context
	sectionCount
)

// headings are the headings of the sections.
var headings = [sectionCount]string{
	goal:        "## Goal",
	constraints: "## Constraints & Preferences",
	doneItems:   "## Progress\n### Done",
	blocked:     "## Progress\n### Blocked",
	decisions:   "## Key Decisions",
	next:        "## Next Steps",
	context:     "## Critical Context",
}

// Prefixes of plans and unfinished work.
const (
	planned    = "Was planned: "
	inProgress = "Was in progress: "
)

// prefixed adds a prefix to a text unless it already has one.
func prefixed(prefix, text string) string {
	if strings.HasPrefix(text, planned) || strings.HasPrefix(text, inProgress) {
		return text
	}
	return prefix + text
}

// outline is a structured summary.
type outline [sectionCount]section

// section holds the items of a section, in order of first occurrence.
type section struct {
	items []item
	seen  map[string]int
	// lists are the indexes of items that list names.
	lists map[string]int
}

// item is one line of a summary. age is the time of its last occurrence; greater is newer.
type item struct {
	text string
	age  int
}

// add adds an item, or updates the age of an existing one, and returns its index.
func (s *section) add(text string, age int) int {
	key := foldText(text)
	if at, ok := s.seen[key]; ok && s.items[at].text != "" {
		s.items[at].age = age
		return at
	}
	if s.seen == nil {
		s.seen = make(map[string]int)
	}
	s.seen[key] = len(s.items)
	s.items = append(s.items, item{ellipsis(text, max(maxItem, goalChars)), age})
	return len(s.items) - 1
}

func (s *section) empty() bool { return len(s.items) == 0 }

func (s *section) texts() []string {
	var texts []string
	for _, it := range s.items {
		if it.text != "" {
			texts = append(texts, it.text)
		}
	}
	return texts
}

// write returns as much of the outline as fits.
func (o *outline) write(maxChars int) string {
	text := o.fit(maxChars).render()
	if text == "" {
		text = o.firstItem()
	}
	return ellipsis(strings.ToValidUTF8(text, "\uFFFD"), maxChars)
}

// firstItem returns the first item, for a limit too small for a heading.
func (o *outline) firstItem() string {
	for i := range o {
		if texts := o[i].texts(); len(texts) > 0 {
			return texts[0]
		}
	}
	return ""
}

func (o *outline) render() string {
	var b strings.Builder
	progress := false
	for i := range o {
		texts := o[i].texts()
		if len(texts) == 0 {
			continue
		}
		heading := headings[i]
		if sub, ok := strings.CutPrefix(heading, "## Progress\n"); ok {
			if progress {
				heading = sub
			}
			progress = true
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(heading)
		for _, text := range texts {
			b.WriteString("\n- ")
			b.WriteString(text)
		}
	}
	return b.String()
}

// shares are the percentages of the space remaining after goal and constraints, in the
// order in which unused space is assigned.
var shares = []struct{ section, share int }{
	{decisions, 25}, {blocked, 12}, {context, 28}, {doneItems, 28}, {next, 7},
}

// fit selects the items that fit: all, or first the goal, then the newest constraints, then
// the newest other items by their shares, then more of each while there is space.
func (o *outline) fit(maxChars int) *outline {
	f := fitting{from: o, left: maxChars}
	if f.all() {
		return o
	}
	f.takeGoal(maxChars / 2)
	f.take(constraints, maxChars*3/10)
	room := f.left
	for _, s := range shares {
		f.take(s.section, room*s.share/100)
	}
	f.take(constraints, f.left)
	for _, s := range shares {
		f.take(s.section, f.left)
	}
	return f.chosen()
}

// fitting selects items, the newest of each section first.
type fitting struct {
	from *outline
	left int
	// order lists the items of a section, newest first, computed on first use; taken is the
	// number selected.
	order [sectionCount][]int
	taken [sectionCount]int
	// goal is the selected goal, possibly shortened.
	goal string
}

// cost returns the characters used by an item: its text, the list mark, and for the first
// one the heading.
func cost(section int, text string, first bool) int {
	n := utf8.RuneCountInString(text) + len("\n- ")
	if first {
		n += len(headings[section]) + len("\n\n")
	}
	return n
}

// all reports whether everything fits.
func (f *fitting) all() bool {
	sum := 0
	for i := range f.from {
		for j, text := range f.from[i].texts() {
			if sum += cost(i, text, j == 0); sum > f.left {
				return false
			}
		}
	}
	return true
}

// takeGoal selects the oldest goal, shortened to the limit.
func (f *fitting) takeGoal(limit int) {
	texts := f.from[goal].texts()
	if len(texts) == 0 {
		return
	}
	bare := cost(goal, "", true)
	if limit = max(limit, min(f.left, bare+20)); limit <= bare {
		return
	}
	f.goal = ellipsis(texts[0], limit-bare)
	f.left -= cost(goal, f.goal, true)
}

// take selects items of a section, newest first, until one does not fit.
func (f *fitting) take(section, limit int) {
	items := f.from[section].items
	if f.order[section] == nil {
		f.order[section] = newestFirst(items)
	}
	for limit = min(limit, f.left); f.taken[section] < len(f.order[section]); f.taken[section]++ {
		at := f.order[section][f.taken[section]]
		c := cost(section, items[at].text, f.taken[section] == 0)
		if c > limit {
			return
		}
		limit -= c
		f.left -= c
	}
}

func newestFirst(items []item) []int {
	order := make([]int, 0, len(items))
	for i, it := range items {
		if it.text != "" {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return items[b].age - items[a].age })
	return order
}

// chosen returns the outline of the selected items, in the original order.
func (f *fitting) chosen() *outline {
	var o outline
	if f.goal != "" {
		o[goal].items = []item{{text: f.goal}}
	}
	for i := range f.from {
		taken := slices.Sorted(slices.Values(f.order[i][:f.taken[i]]))
		for _, at := range taken {
			o[i].items = append(o[i].items, f.from[i].items[at])
		}
	}
	return &o
}
