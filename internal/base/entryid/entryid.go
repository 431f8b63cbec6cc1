// Package entryid reads the numbers in native entry IDs.
package entryid

import (
	"strings"

	"firn.dev"
)

// Digits is the alphabet of native IDs, see [firn.NewEntryID].
const Digits = "0123456789abcdefghjkmnpqrstvwxyz"

// Number returns the numeric value of a native ID, or false for other IDs. Unlike
// [firn.EntryID.Time] it does not depend on the clock.
func Number(id firn.EntryID) (uint64, bool) {
	if len(id) != 13 || id[0] > 'f' {
		return 0, false
	}
	var n uint64
	for i := range len(id) {
		d := strings.IndexByte(Digits, id[i])
		if d < 0 {
			return 0, false
		}
		n = n<<5 | uint64(d)
	}
	return n, true
}
