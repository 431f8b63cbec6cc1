package store

import (
	"cmp"
	"iter"
	"slices"
)

// SortByUpdate sorts infos in the order of [CompareInfos].
func SortByUpdate(infos []Info) {
	slices.SortFunc(infos, func(a, b Info) int { return CompareInfos(&a, &b) })
}

// CompareInfos orders by Updated, newest first, then by ID.
func CompareInfos(a, b *Info) int {
	if c := b.Updated.Compare(a.Updated); c != 0 {
		return c
	}
	return cmp.Compare(a.ID, b.ID)
}

// Infos returns the sequence for List from a function that returns all infos. The function
// is called each time the sequence is ranged over.
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
