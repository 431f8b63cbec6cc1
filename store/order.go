package store

import (
	"cmp"
	"slices"
)

// SortByUpdate puts infos in the order of a list: the latest entry first, and
// by id where two are equal.
func SortByUpdate(infos []Info) {
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID))
	})
}
