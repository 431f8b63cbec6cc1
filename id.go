package firn

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"
)

// ID names a session for ever: it is also the stem of its file name. New ones
// are UUIDs of version 7; any name that [ID.Check] accepts can be read.
type ID string

// NewID makes a session id that sorts by the time it was made.
func NewID() ID {
	var b [16]byte
	randomBytes(b[6:])
	ms := uint64(time.Now().UnixMilli())
	binary.BigEndian.PutUint16(b[0:], uint16(ms>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(ms))
	b[6] = b[6]&0x0f | 0x70
	b[8] = b[8]&0x3f | 0x80
	var s [36]byte
	for i, group := range [][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		at := 2*group[0] + i
		hex.Encode(s[at:], b[group[0]:group[1]])
		if i > 0 {
			s[at-1] = '-'
		}
	}
	return ID(s[:])
}

// Check says whether the id can safely be part of a file name on every system,
// and cannot be mistaken for a part file of another session.
func (id ID) Check() error {
	s := string(id)
	if s == "" || len(s) > 128 {
		return fmt.Errorf("%w session id %q: want 1 to 128 characters", ErrInvalid, s)
	}
	for i := range len(s) {
		c := s[i]
		word := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !word && (i == 0 || !strings.ContainsRune("-_.", rune(c))) {
			return fmt.Errorf("%w session id %q: want letters, digits, dashes, underscores and dots, and a letter or digit first", ErrInvalid, s)
		}
	}
	if isPartName(s) {
		return fmt.Errorf("%w session id %q: the ending is that of a part file", ErrInvalid, s)
	}
	if isDeviceName(s) {
		return fmt.Errorf("%w session id %q: Windows keeps that name for a device", ErrInvalid, s)
	}
	return nil
}

// isPartName reports whether s ends in _part and a number, in the eyes of a
// file system that does not tell cases apart.
func isPartName(s string) bool {
	i := strings.LastIndex(strings.ToLower(s), "_part")
	if i < 0 {
		return false
	}
	digits := s[i+len("_part"):]
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// isDeviceName reports whether a file of that stem is a device on Windows,
// whatever its extension.
func isDeviceName(s string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(s), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && stem[3] >= '0' && stem[3] <= '9'
}

// EntryID names an entry within its session. New ones are 13 characters that
// sort by the time they were made; any non-empty string can be read.
type EntryID string

// Root is the parent of an entry that shall begin a new tree. An entry with no
// parent at all is put after the head by the store that appends it.
const Root EntryID = "-"

// entryIDs hands out entry ids that are unique and rising within this process.
var entryIDs struct {
	sync.Mutex
	last uint64
}

// NewEntryID makes an entry id greater than every one made before it in this
// process: 44 bits of milliseconds, 20 random bits. They need not be hard to
// guess, only hard to meet by chance.
func NewEntryID() EntryID {
	now := uint64(time.Now().UnixMilli())<<20 | uint64(mathrand.Uint32()&0xfffff)
	entryIDs.Lock()
	defer entryIDs.Unlock()
	entryIDs.last = max(now, entryIDs.last+1)
	return formatEntryID(entryIDs.last)
}

// NewEntryIDAfter makes an entry id that is also greater than last. A store
// calls it with the id at its end, so that ids stay unique within a session
// when clocks step back or several processes write.
//
// If last is of a time to come, whoever made it was ahead of our clock, or our
// clock was set back, and it may have made more of them right behind it, for other
// sessions or for this one further up. So we do not count on from there, but leap
// to a place by chance.
func NewEntryIDAfter(last EntryID) EntryID {
	if n, ok := parseEntryID(last); ok {
		ahead := n>>20 > uint64(time.Now().UnixMilli())
		entryIDs.Lock()
		if n > entryIDs.last && ahead {
			n += 1<<20 + uint64(mathrand.Uint32()&0xffffff) // 1 to 17 ms
		}
		entryIDs.last = max(entryIDs.last, n)
		entryIDs.Unlock()
	}
	return NewEntryID()
}

// Made tells when an entry id was made, to the millisecond; false if it is not
// one that [NewEntryID] makes.
func (id EntryID) Made() (time.Time, bool) {
	n, ok := parseEntryID(id)
	return time.UnixMilli(int64(n >> 20)).UTC(), ok
}

// crockford is the alphabet of base 32 without i, l, o and u; it sorts as ASCII does.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

const entryIDLen = 13

func formatEntryID(n uint64) EntryID {
	var b [entryIDLen]byte
	for i := entryIDLen - 1; i >= 0; i-- {
		b[i] = crockford[n&31]
		n >>= 5
	}
	return EntryID(b[:])
}

// parseEntryID is the inverse of formatEntryID. Ids that lie more than a day in
// the future, and of those this process made, are not ours, or come from a
// broken clock: following them would push every later id out of reach of the
// true time.
func parseEntryID(id EntryID) (uint64, bool) {
	if len(id) != entryIDLen {
		return 0, false
	}
	var n uint64
	for i := range entryIDLen {
		d := strings.IndexByte(crockford, id[i])
		if d < 0 || i == 0 && d > 15 {
			return 0, false
		}
		n = n<<5 | uint64(d)
	}
	limit := uint64(time.Now().Add(24*time.Hour).UnixMilli()) << 20
	return n, n < limit || n <= lastEntryID()
}

// lastEntryID is the greatest that this process has made.
func lastEntryID() uint64 {
	entryIDs.Lock()
	defer entryIDs.Unlock()
	return entryIDs.last
}

func randomBytes(b []byte) {
	if _, err := rand.Read(b); err != nil {
		panic("firn: the system has no randomness: " + err.Error()) // crypto/rand documents that this cannot happen
	}
}
