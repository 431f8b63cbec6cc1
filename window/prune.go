package window

import (
	"cmp"
	"slices"
	"strings"

	"firn.dev"
)

// Pruning says which tool results are old enough to be shortened, and how. Its
// zero value is OpenClaw's default. A number less than zero stands for zero.
type Pruning struct {
	// KeepLastAssistants is how many of the assistant's last messages protect
	// themselves and all that comes after the first of them; zero means 3.
	KeepLastAssistants int
	// SoftTrimRatio and HardClearRatio are how much of the window must be in use
	// for results to be shortened and cleared; zero means 0.3 and 0.5.
	SoftTrimRatio, HardClearRatio float64
	// MinPrunableChars is how much there must be left in the results that may be
	// cleared for any of them to be; zero means 50,000.
	MinPrunableChars int
	SoftTrim         SoftTrim
	HardClear        HardClear
	// Allow and Deny name the tools whose results may and may not be touched.
	// A * stands for any characters, and case does not count. Deny wins; without
	// Allow all are allowed.
	Allow, Deny []string
}

// SoftTrim says how a result is shortened.
type SoftTrim struct {
	// MaxChars is how long a result may be and stay whole; zero means 4,000.
	MaxChars int
	// HeadChars and TailChars are how much of a longer one is kept at either end;
	// zero means 1,500.
	HeadChars, TailChars int
}

// HardClear says how a result is cleared.
type HardClear struct {
	// Disabled says that results are shortened and never cleared.
	Disabled bool
	// Placeholder is what is left of it; empty means
	// "[Old tool result content cleared]".
	Placeholder string
}

const (
	// pruneImageChars is how many characters OpenClaw counts for an image.
	pruneImageChars = 8000
	// charsPerToken is how many characters OpenClaw counts for a token.
	charsPerToken = 4
	// worthTrimming is how many characters a result must lose to be shortened.
	// One that was shortened before has fewer to lose.
	worthTrimming = 32
)

// Prune shortens old tool results, and clears the oldest of them if that is
// not enough, as OpenClaw's context pruning does. windowTokens is the size of
// the model's window; if it is not known nothing is done. Whether the
// provider's cache has run out, so that changing what it holds costs nothing,
// is for the caller to know.
//
// What stands before the first message of the user is not touched, nor what
// stands behind the first of the assistant's last messages, nor results with
// images, nor results that would not become shorter. Nothing is touched if the
// assistant has spoken less often than that. [Path.Out] names what was changed
// as [Pruned]; it is still sent.
func (p Path) Prune(pr Pruning, windowTokens int64) Path {
	pr = pr.filled()
	if windowTokens <= 0 {
		return p
	}
	from, to := p.prunable(pr.KeepLastAssistants)
	if from >= to {
		return p
	}
	d := draft{path: p}
	s := pruner{Pruning: pr, draft: &d, window: float64(windowTokens) * charsPerToken, used: p.chars()}
	if s.uses(pr.SoftTrimRatio) {
		s.trim(from, to)
		if !pr.HardClear.Disabled && s.uses(pr.HardClearRatio) {
			s.clear()
		}
	}
	return d.done()
}

// PruneBefore is Prune for the first n entries of the path as if it ended
// there; what comes behind them stays as it is. Since the same entries are
// always pruned in the same way, a path that grows keeps its beginning.
func (p Path) PruneBefore(n int, pr Pruning, windowTokens int64) Path {
	n = min(max(n, 0), len(p.Entries))
	before := p
	before.Entries = slices.Clip(p.Entries[:n])
	before.stale = min(p.stale, n)
	pruned := before.Prune(pr, windowTokens)
	p.Entries = slices.Concat(pruned.Entries, p.Entries[n:])
	p.Out, p.stale = pruned.Out, max(p.stale, pruned.stale)
	return p
}

// filled puts the defaults where nothing is said.
func (pr Pruning) filled() Pruning {
	pr.KeepLastAssistants = max(0, cmp.Or(pr.KeepLastAssistants, 3))
	pr.SoftTrimRatio = max(0, cmp.Or(pr.SoftTrimRatio, 0.3))
	pr.HardClearRatio = max(0, cmp.Or(pr.HardClearRatio, 0.5))
	pr.MinPrunableChars = max(0, cmp.Or(pr.MinPrunableChars, 50000))
	pr.SoftTrim.MaxChars = max(0, cmp.Or(pr.SoftTrim.MaxChars, 4000))
	pr.SoftTrim.HeadChars = max(0, cmp.Or(pr.SoftTrim.HeadChars, 1500))
	pr.SoftTrim.TailChars = max(0, cmp.Or(pr.SoftTrim.TailChars, 1500))
	pr.HardClear.Placeholder = cmp.Or(pr.HardClear.Placeholder, "[Old tool result content cleared]")
	return pr
}

// prunable returns the places between which results may be touched: from the
// first message of the user to the assistant's last messages but so many.
func (p Path) prunable(keepAssistants int) (from, to int) {
	for from < len(p.Entries) && placeOf(&p.Entries[from]) != opening {
		from++
	}
	to = len(p.Entries)
	for ; keepAssistants > 0 && to > from; to-- {
		if m, ok := p.Entries[to-1].Body.(*firn.Message); ok && m.Role == firn.RoleAssistant && isSent(&p.Entries[to-1]) {
			keepAssistants--
		}
	}
	if keepAssistants > 0 {
		return 0, 0
	}
	return from, to
}

// chars counts the characters of all messages of a path.
func (p Path) chars() int {
	n := 0
	if p.Compaction != nil {
		if c, ok := p.Compaction.Body.(*firn.Compaction); ok {
			n = units(c.Summary)
		}
	}
	for i := range p.Entries {
		e := &p.Entries[i]
		if !isSent(e) {
			continue
		}
		switch b := e.Body.(type) {
		case *firn.Message:
			n += chars(b.Parts, pruneImageChars)
		case *firn.CustomMessage:
			n += chars(b.Parts, pruneImageChars)
		case *firn.BranchSummary:
			n += units(b.Summary)
		}
	}
	return n
}

// pruner is one pruning of a path.
type pruner struct {
	Pruning
	draft *draft
	// window and used are characters: how many there is room for, and how many
	// there are.
	window float64
	used   int
	// touchable are the places of the results that may be touched, left how many
	// characters there are in them.
	touchable []int
	left      int
}

func (s *pruner) uses(ratio float64) bool { return float64(s.used)/s.window >= ratio }

// trim shortens the results that are too long.
func (s *pruner) trim(from, to int) {
	for i := from; i < to; i++ {
		r, ok := s.draft.result(i)
		if !ok || !s.touches(r.Name) || !isPlain(r.Content) {
			continue
		}
		size := chars(r.Content, pruneImageChars)
		if short, ok := s.SoftTrim.short(r.Content); ok {
			s.draft.replace(i, short)
			s.used -= size - units(short)
			size = units(short)
		}
		s.touchable = append(s.touchable, i)
		s.left += size
	}
}

// clear clears results, the oldest first, until enough of the window is free.
func (s *pruner) clear() {
	if s.left < s.MinPrunableChars {
		return
	}
	rest := units(s.HardClear.Placeholder)
	for _, i := range s.touchable {
		if !s.uses(s.HardClearRatio) {
			return
		}
		r, _ := s.draft.result(i)
		if size := chars(r.Content, pruneImageChars); size > rest {
			s.draft.replace(i, s.HardClear.Placeholder)
			s.used -= size - rest
		}
	}
}

// touches reports whether results of a tool may be touched.
func (s *pruner) touches(tool string) bool {
	if len(s.Allow) == 0 && len(s.Deny) == 0 {
		return true
	}
	tool = strings.ToLower(strings.TrimSpace(tool))
	return !named(s.Deny, tool) && (len(s.Allow) == 0 || named(s.Allow, tool))
}

// short returns the beginning and the end of a text that is too long, and says
// what was done; ok is false if the text stays as it is.
func (t SoftTrim) short(content []firn.Part) (text string, ok bool) {
	if chars(content, 0)+len(content) <= t.MaxChars {
		return "", false // which goes for most, and is cheap to see
	}
	text = textOf(content)
	size := units(text)
	if size <= t.MaxChars || size <= t.HeadChars+t.TailChars {
		return "", false
	}
	note := trimNote(t.HeadChars, t.TailChars, size)
	text = headUnits(text, t.HeadChars) + "\n...\n" + tailUnits(text, t.TailChars) + note
	return text, size-units(text) >= worthTrimming
}

// named reports whether one of the patterns stands for a name in small letters.
func named(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if matches(strings.ToLower(strings.TrimSpace(pattern)), name) {
			return true
		}
	}
	return false
}

// matches reports whether a pattern, in which * stands for any characters,
// stands for a name.
func matches(pattern, name string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, before)
	for ok && star {
		var middle string
		if middle, after, star = strings.Cut(after, "*"); !star {
			return strings.HasSuffix(rest, middle)
		}
		_, rest, ok = strings.Cut(rest, middle)
	}
	return false
}
