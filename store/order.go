package store

import (
	"cmp"
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
