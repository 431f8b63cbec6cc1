package window

// Pruning says which tool results are old enough to be shortened. Its zero
// value is OpenClaw's default.
type Pruning struct {
	// KeepLastAssistants is how many of the assistant's last messages are
	// protected, with all that comes after the first of them; zero means 3.
	KeepLastAssistants int
	// SoftTrimRatio and HardClearRatio are how much of the window must be in use
	// for results to be shortened and cleared; zero means 0.3 and 0.5.
	SoftTrimRatio, HardClearRatio float64
	// MinPrunableChars is how much there must be in results that may be cleared
	// for any to be; zero means 50,000.
	MinPrunableChars int
	SoftTrim         SoftTrim
	HardClear        HardClear
	// Allow and Deny name the tools whose results may be touched; * stands for
	// any letters, case does not count. Deny wins; no Allow allows all.
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
	Disabled bool
	// Placeholder is what is left of it; empty means
	// "[Old tool result content cleared]".
	Placeholder string
}

// Prune shortens old tool results, and clears the oldest of them if that is
// not enough, as OpenClaw's context pruning does. windowTokens is the size of
// the model's window. Whether the provider's cache has run out, so that
// changing what it holds costs nothing, is for the caller to know.
// [Path.Out] names what was changed as [Pruned]; it is still sent.
func (p Path) Prune(pr Pruning, windowTokens int64) Path {
	return p // skeleton
}

// BoundResults replaces the oldest tool results by a short notice until all of
// them together are at most chars characters. Those in the last six messages
// and those of 200 characters or less stay. With chars <= 0 nothing is changed.
// [Path.Out] names what was changed as [Pruned]; it is still sent.
func (p Path) BoundResults(chars int) Path {
	return p // skeleton
}
