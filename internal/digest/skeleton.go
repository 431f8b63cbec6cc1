package digest

// Write spells lines for a summariser: a paragraph each, which begins with who
// speaks ([User]:, [Assistant]:, [Assistant thinking]:, [Assistant tool
// calls]:, [Tool result read_file]:, [Tool error bash]:). Results, and values
// in the arguments of calls, are cut to resultChars characters (zero means
// 2000), with a notice of how much was cut. Text that would begin a line like
// a speaker does gets a backslash, so that nobody can pose as somebody else
// and [Parse] finds what was written.
func Write(lines []Line, resultChars int) string { return "" }

// Parse reads what [Write] wrote: the same lines, but for what was cut. Text
// before the first speaker is the user's.
func Parse(text string) []Line { return nil }

// Extract makes a summary of a conversation without a model. It has the
// sections that a model is asked for: Goal, Constraints & Preferences,
// Progress, Key Decisions, Next Steps and Critical Context, those that have
// something in them. Facts of the previous summary stand first, nothing stands
// twice, and what does not fit goes by age, the oldest first; the goal and the
// constraints stay longest.
//
// The summary is never longer than maxChars characters, and valid UTF-8.
func Extract(previous string, lines []Line, maxChars int) string { return "" }

// Files tells which files the calls among lines read and which they changed,
// sorted. One that was changed is not among those read.
func Files(lines []Line) (read, modified []string) { return nil, nil }
