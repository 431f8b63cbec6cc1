package digest

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// The measures of a summary, in characters.
const (
	goalChars       = 600
	itemChars       = 300
	askChars        = 160
	resultLineChars = 120
	lookChars       = 2000
	// maxItem bounds any item but the goal.
	maxItem = 500
	// maxList bounds an item that lists names.
	maxList = 320
	// maxNames bounds how many names are told.
	maxNames = 24
)

// The sections of a summary, in the order they are written.
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

// headings are what stands above the sections.
var headings = [sectionCount]string{
	goal:        "## Goal",
	constraints: "## Constraints & Preferences",
	doneItems:   "## Progress\n### Done",
	blocked:     "## Progress\n### Blocked",
	decisions:   "## Key Decisions",
	next:        "## Next Steps",
	context:     "## Critical Context",
}

// What plans and unfinished work begin with.
const (
	planned    = "Was planned: "
	inProgress = "Was in progress: "
)

// prefixed puts a prefix before a text that does not have one of ours.
func prefixed(prefix, text string) string {
	if strings.HasPrefix(text, planned) || strings.HasPrefix(text, inProgress) {
		return text
	}
	return prefix + text
}

// outline is a summary before it is written.
type outline [sectionCount]section

// section holds the items of one section, in the order they were first met.
type section struct {
	items []item
	seen  map[string]int
	// lists are the places of the items that list names.
	lists map[string]int
}

// item is one line of a summary. Age is when it was met last; the greatest is
// the newest.
type item struct {
	text string
	age  int
}

// add adds an item, unless it is there already; then it is as new as that. It
// returns its place.
func (s *section) add(text string, age int) int {
	key := folded(text)
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

// write writes as much of the outline as fits.
func (o *outline) write(maxChars int) string {
	text := o.fit(maxChars).render()
	if text == "" {
		text = o.barest()
	}
	return ellipsis(strings.ToValidUTF8(text, "\uFFFD"), maxChars)
}

// barest is what is told when there is no room for a heading.
func (o *outline) barest() string {
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

// shares are how the room that goal and constraints leave is shared out at
// first, in hundredths, and in which order what is left goes to who wants more.
var shares = []struct{ section, share int }{
	{decisions, 25}, {blocked, 12}, {context, 28}, {doneItems, 28}, {next, 7},
}

// fit chooses what fits: all, or first the goal, then the newest constraints,
// then the newest of the others by their shares, then more of each while there
// is room.
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

// fitting is the choosing of items, of which each section's newest come first.
type fitting struct {
	from *outline
	left int
	// order lists the items of a section, newest first, once it is asked for;
	// taken is how many of them were taken.
	order [sectionCount][]int
	taken [sectionCount]int
	// goal is the goal as it was taken.
	goal string
}

// costs are what items cost: their characters, the list's mark, and for the
// first one the heading.
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

// takeGoal takes the oldest goal, cut if it is longer than the limit.
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

// take takes items of a section, the newest first, until one does not fit.
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

// chosen is the outline of what was taken, in the old order.
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
