package store

import (
	"cmp"
	"iter"
	"slices"
)

// SortByUpdate puts infos in the order of a list: the latest entry first, and
// by id where two are equal.
func SortByUpdate(infos []Info) {
	slices.SortFunc(infos, func(a, b Info) int { return CompareInfos(&a, &b) })
}

// CompareInfos is that order.
func CompareInfos(a, b *Info) int {
	if c := b.Updated.Compare(a.Updated); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}

// Infos makes the sequence that List returns out of a function that gathers
// all of it. It gathers anew each time it is ranged over.
func Infos(gather func() ([]Info, error)) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		infos, err := gather()
		if err != nil {
			yield(Info{}, err)
			return
		}
		for _, info := range infos {
			if !yield(info, nil) {
				return
			}
		}
	}
}
