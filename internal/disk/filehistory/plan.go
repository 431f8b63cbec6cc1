package filehistory

import "slices"

// Step is what a rewind does with one file.
type Step struct {
	Path string
	// Target is the state that the file gets, Current the state that it has now.
	Target, Current State
	// Problem is set if the file is left alone.
	Problem Problem
}

// Problem is the reason why a file is not restored.
type Problem string

// Problems of a step.
const (
	// Changed means that the file has a content that is not in the history, so that it
	// would be lost.
	Changed Problem = "changed since"
	// NotStored means that the content was too large to be stored.
	NotStored Problem = "not stored"
)

// Plan returns what has to be done so that the files have the state of another entry. The
// changes in back are taken back, those in forward are applied, both oldest first. All are
// the changes of the session, and current has the states of the files now. Files that
// already have their target state are left out.
func Plan(back, forward, all []Change, current map[string]State) []Step {
	target := make(map[string]State)
	var order []string
	set := func(path string, s State) {
		if _, ok := target[path]; !ok {
			order = append(order, path)
		}
		target[path] = s
	}
	for _, c := range slices.Backward(back) {
		set(c.Path, c.Before)
	}
	for _, c := range forward {
		if c.After != nil {
			set(c.Path, *c.After)
		}
	}
	slices.Sort(order)
	var steps []Step
	for _, path := range order {
		s := Step{Path: path, Target: target[path], Current: current[path]}
		if s.Target.Same(s.Current) {
			continue
		}
		switch {
		case s.Target.Omitted:
			s.Problem = NotStored
		case !stored(all, path, s.Current):
			s.Problem = Changed
		}
		steps = append(steps, s)
	}
	return steps
}

// stored reports whether the content of a file is in the history.
func stored(all []Change, path string, s State) bool {
	return !s.Exists || slices.ContainsFunc(all, func(c Change) bool {
		return c.Path == path && (sameContent(c.Before, s) || c.After != nil && sameContent(*c.After, s))
	})
}

func sameContent(stored, s State) bool {
	return stored.Exists && !stored.Omitted && stored.Hash == s.Hash
}
