package window

import (
	"cmp"
	"slices"
	"strings"

	"firn.dev"
)

// Pruning configures which old tool results are shortened, and how. Its zero value is
// OpenClaw's default. Negative numbers mean zero.
type Pruning struct {
	// KeepLastAssistants is the number of latest assistant messages that are protected,
	// together with everything after the first of them; zero means 3.
	KeepLastAssistants int
	// SoftTrimRatio and HardClearRatio are the fractions of the window that must be in use
	// before results are shortened or cleared; zero means 0.3 and 0.5.
	SoftTrimRatio, HardClearRatio float64
	// MinPrunableChars is the minimum total size of the clearable results; below it none is
	// cleared. Zero means 50,000.
	MinPrunableChars int
	SoftTrim         SoftTrim
	HardClear        HardClear
	// Allow and Deny are patterns of tools whose results may and may not be changed. A *
	// matches any characters; case is ignored. Deny takes precedence. An empty Allow allows
	// all tools.
	Allow, Deny []string
}

// SoftTrim configures how a result is shortened.
type SoftTrim struct {
	// MaxChars is the maximum length of a result that is not shortened; zero means 4,000.
	MaxChars int
	// HeadChars and TailChars are the lengths kept at the start and the end of a longer
	// result; zero means 1,500.
	HeadChars, TailChars int
}

// HardClear configures how a result is cleared.
type HardClear struct {
	// Disabled means that results are shortened but never cleared.
	Disabled bool
	// Placeholder replaces the content; empty means "[Old tool result content cleared]".
	Placeholder string
}

const (
	// pruneImageChars is the size of an image in characters, as OpenClaw counts it.
	pruneImageChars = 8000
	// charsPerToken is the number of characters per token, as OpenClaw counts it.
	charsPerToken = 4
	// worthTrimming is the minimum number of characters that shortening must save. A result
	// that was shortened before saves fewer.
	worthTrimming = 32
)

// Prune shortens old tool results, and clears the oldest ones if that is not enough, like
// OpenClaw's context pruning. windowTokens is the size of the model's window; if it is
// unknown, nothing is done. The caller decides whether the provider's cache has expired, so
// that changing cached content costs nothing.
//
// Prune does not change entries before the first user message, entries after the first of
// the protected assistant messages, results with images, or results that would not become
// shorter. It changes nothing if there are fewer assistant messages than are protected.
// [Path.Out] lists the changed results as [Pruned]; they are still sent.
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

// PruneBefore prunes the first n entries as if the path ended there; later entries are
// unchanged. The same entries are always pruned in the same way, so a growing path keeps
// its prefix.
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

// filled returns the settings with defaults for zero values.
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

// prunable returns the range of entries that may be changed: from the first user message to
// the protected assistant messages.
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
	// window and used are in characters: the size of the window and the size in use.
	window float64
	used   int
	// touchable are the indexes of the results that may be changed, and left is the number
	// of characters in them.
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

// clear clears results, oldest first, until enough of the window is free.
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

// touches reports whether results of a tool may be changed.
func (s *pruner) touches(tool string) bool {
	if len(s.Allow) == 0 && len(s.Deny) == 0 {
		return true
	}
	tool = strings.ToLower(strings.TrimSpace(tool))
	return !named(s.Deny, tool) && (len(s.Allow) == 0 || named(s.Allow, tool))
}

// short returns the start and the end of a long text with a note between them. ok is false
// if the text is short enough.
func (t SoftTrim) short(content []firn.Part) (text string, ok bool) {
	if chars(content, 0)+len(content) <= t.MaxChars {
		return "", false // the common case, and cheap to detect
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

// named reports whether one of the patterns matches a lowercase name.
func named(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if matches(strings.ToLower(strings.TrimSpace(pattern)), name) {
			return true
		}
	}
	return false
}

// matches reports whether a pattern, in which * matches any characters, matches a name.
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
