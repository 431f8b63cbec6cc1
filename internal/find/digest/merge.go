package digest

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// merge adds the items of a previous summary, made by Extract or by a model. Text under an
// unknown heading becomes context.
func (c *collector) merge(previous string) {
	into := context
	unfinished, turn := false, false // within unfinished work; within the part about a single turn
	for line := range strings.SplitSeq(withoutLists(previous), "\n") {
		c.age++
		line = strings.TrimSpace(line)
		if heading, ok := headingOf(line); ok {
			into, unfinished = sectionOf(heading), isUnfinished(heading)
			turn = turn || strings.HasPrefix(heading, "turncontext")
			continue
		}
		if !hasWord(line) || strings.EqualFold(tidy(line, 20), "(none)") {
			continue
		}
		switch {
		case unfinished:
			c.outline[next].add(prefixed(inProgress, tidy(line, itemChars)), c.age)
		case into == next:
			c.outline[next].add(prefixed(planned, tidy(unnumbered(line), itemChars)), c.age)
		case into == goal && turn:
			c.outline[context].add("Asked: "+tidy(line, itemChars), c.age)
		case into == goal:
			c.outline[goal].add(tidy(line, goalChars), c.age)
		default:
			c.mergeLine(into, line)
		}
	}
}

// mergeLine adds a line to a section; a long paragraph is split into sentences.
func (c *collector) mergeLine(into int, line string) {
	if into == context && c.outline[context].mergeNamed(tidy(line, maxItem), c.age) {
		return
	}
	if utf8.RuneCountInString(line) <= maxItem {
		c.outline[into].add(tidy(line, maxItem), c.age)
		return
	}
	for s := range Sentences(line) {
		c.outline[into].add(tidy(s, maxItem), c.age)
	}
}

// headingOf returns the normalized text of a Markdown heading or of a line in bold.
func headingOf(line string) (string, bool) {
	if strings.HasPrefix(line, "#") {
		return foldText(line), true
	}
	if len(line) > 4 && strings.HasPrefix(line, "**") && strings.HasSuffix(line, "**") && len(line) < 80 {
		return foldText(line), true
	}
	return "", false
}

// sectionOf returns the section for a heading.
func sectionOf(heading string) int {
	for _, s := range [...]struct {
		words   string
		section int
	}{
		{"goal", goal}, {"constraint", constraints}, {"preference", constraints}, {"blocked", blocked}, {"decision", decisions},
		{"nextstep", next}, {"done", doneItems}, {"progress", doneItems}, {"completed", doneItems},
	} {
		if strings.Contains(heading, s.words) {
			return s.section
		}
	}
	return context
}

func isUnfinished(heading string) bool { return strings.Contains(heading, "inprogress") }

// unnumbered removes the number of a list item.
func unnumbered(line string) string {
	digits := strings.TrimLeft(line, "0123456789")
	if rest, ok := strings.CutPrefix(digits, ". "); ok && len(digits) < len(line) {
		return rest
	}
	return line
}

// withoutLists removes the blocks that compactions append to a summary, such as lists of
// files, which are stored separately.
func withoutLists(summary string) string {
	for _, name := range [...]string{"first-request", "latest-request", "pinned", "read-files", "modified-files"} {
		for {
			start := strings.Index(summary, "<"+name+">")
			if start < 0 {
				break
			}
			end := strings.Index(summary[start:], "</"+name+">")
			if end < 0 {
				break
			}
			summary = summary[:start] + summary[start+end+len(name)+3:]
		}
	}
	return summary
}

// Prefixes of items that list names.
const (
	listChanged = "Files changed: "
	listRead    = "Files read: "
	listNames   = "Names and numbers: "
)

// mergeNamed merges an item that lists names, and reports whether it is one.
func (s *section) mergeNamed(text string, age int) bool {
	for _, list := range [...]string{listChanged, listRead, listNames} {
		if names, ok := strings.CutPrefix(text, list); ok {
			s.mergeList(list, strings.Split(names, ", "), age)
			return true
		}
	}
	return false
}

// mergeList adds names to the item that lists them, dropping the oldest if they do not fit.
func (s *section) mergeList(list string, names []string, age int) {
	if len(names) == 0 {
		return
	}
	at, known := s.lists[list]
	var all []string
	if known {
		all = strings.Split(strings.TrimPrefix(s.items[at].text, list), ", ")
	}
	all = distinct(slices.Concat(all, names))
	size := utf8.RuneCountInString(list)
	from := len(all)
	for from > 0 && size+utf8.RuneCountInString(all[from-1])+2 <= maxList {
		from--
		size += utf8.RuneCountInString(all[from]) + 2
	}
	if from == len(all) {
		return
	}
	text := list + strings.Join(all[from:], ", ")
	if known {
		s.items[at] = item{text, age}
		return
	}
	if s.lists == nil {
		s.lists = make(map[string]int)
	}
	s.lists[list] = s.add(text, age)
}

// distinct tidies names and removes duplicates.
func distinct(names []string) []string {
	seen := make(map[string]bool)
	kept := names[:0]
	for _, name := range names {
		if name = tidyName(name); name != "" && !seen[name] {
			seen[name] = true
			kept = append(kept, name)
		}
	}
	return kept
}

// tidyName makes a name fit for a list.
func tidyName(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(ellipsis(strings.Join(strings.FieldsFunc(name, blankOrControl), " "), 200), ", ", " "))
}

// names counts words that look like important names or numbers: paths, addresses,
// identifiers, versions, amounts.
type names struct {
	counts map[string]*nameCount
}

type nameCount struct {
	name         string
	count, first int
}

// enoughNames limits how many different names are counted.
const enoughNames = 10_000

func (n *names) count(text string) {
	for word := range strings.FieldsSeq(text) {
		if len(word) > 120 || !looksLikeName(word) {
			continue
		}
		word = strings.TrimFunc(word, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '/' && r != '$' && r != '€' && r != '%'
		})
		if len(word) < 2 || !looksLikeName(word) || !isSingleName(word) {
			continue
		}
		if seen := n.counts[word]; seen != nil {
			seen.count++
		} else if len(n.counts) < enoughNames {
			if n.counts == nil {
				n.counts = make(map[string]*nameCount)
			}
			n.counts[word] = &nameCount{word, 1, len(n.counts)}
		}
	}
}

// isSingleName reports whether a word is a name, not a sentence in a language without
// spaces.
func isSingleName(word string) bool {
	return utf8.ValidString(word) && hasWord(word) && !strings.ContainsAny(word, "\"'`()[]{}<>|=,;*") && strings.IndexFunc(word, func(r rune) bool { return unicode.Is(unicode.Lo, r) || r == '。' }) < 0
}

// looksLikeName reports whether a word has a digit, a slash, an underscore, or a dot
// inside.
func looksLikeName(word string) bool {
	for i := range len(word) {
		switch c := word[i]; {
		case c >= '0' && c <= '9', c == '/' && len(word) > 1, c == '_':
			return true
		case c == '.' && i > 0 && i+1 < len(word):
			if nameByte(word[i+1]) && word[i+1] != '.' && nameByte(word[i-1]) {
				return true
			}
		}
	}
	return false
}

// most returns the most frequent names, in order of first occurrence.
func (n *names) most(count int) []string {
	all := make([]*nameCount, 0, len(n.counts))
	for _, c := range n.counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *nameCount) int { return cmp.Or(b.count-a.count, a.first-b.first) })
	all = all[:min(count, len(all))]
	slices.SortFunc(all, func(a, b *nameCount) int { return a.first - b.first })
	found := make([]string, len(all))
	for i, c := range all {
		found[i] = c.name
	}
	return found
}
