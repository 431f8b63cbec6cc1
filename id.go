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

// ID identifies a session permanently. It is also the stem of its file name. New IDs are
// UUIDs of version 7; any name that [ID.Check] accepts can be read.
type ID string

// NewID returns a new session ID. IDs sort by creation time.
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

// Check returns an error unless the ID can safely be part of a file name on every system
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

// isPartName reports whether s ends in _part and a number on a case-insensitive file
// system.
func isPartName(s string) bool {
	i := strings.LastIndex(strings.ToLower(s), "_part")
	if i < 0 {
		return false
	}
	digits := s[i+len("_part"):]
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

// isDeviceName reports whether a file with that stem is a device on Windows, regardless of
// its extension.
func isDeviceName(s string) bool {
	stem, _, _ := strings.Cut(strings.ToLower(s), ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && stem[3] >= '0' && stem[3] <= '9'
}

// EntryID identifies an entry within its session. New IDs have 13 characters and sort by
// creation time; any non-empty string can be read.
type EntryID string

// Root is the parent of an entry that starts a new tree. The store appends an entry without
// a parent after the head.
const Root EntryID = "-"

// entryIDs generates entry IDs that are unique and increasing within this process.
var entryIDs struct {
	sync.Mutex
	last uint64
}

// NewEntryID returns an entry ID greater than all that this process made before: 44 bits of
// milliseconds, 20 random bits. The IDs are not secrets; the random bits only avoid
// collisions.
func NewEntryID() EntryID {
	now := uint64(time.Now().UnixMilli())<<20 | uint64(mathrand.Uint32()&0xfffff)
	entryIDs.Lock()
	defer entryIDs.Unlock()
	entryIDs.last = max(now, entryIDs.last+1)
	return formatEntryID(entryIDs.last)
}

// NewEntryIDAfter returns an entry ID that is also greater than last. A store passes the
// last ID of the session, so that IDs stay unique within a session when clocks step back or
// several processes write.
//
// If last lies in the future, its writer's clock was ahead of ours or ours was set back.
// That writer may have made more IDs directly after last, for this or other sessions.
// NewEntryIDAfter therefore does not count on from last but adds a random distance.
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

// Time returns the time at which the entry ID was made, with millisecond precision. It
// returns false if the ID does not have the format of [NewEntryID].
func (id EntryID) Time() (time.Time, bool) {
	n, ok := parseEntryID(id)
	return time.UnixMilli(int64(n >> 20)).UTC(), ok
}

// crockford is the base 32 alphabet without i, l, o and u; it sorts like ASCII.
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

// parseEntryID is the inverse of formatEntryID. It rejects IDs more than a day ahead of
// both the clock and the last ID of this process: they are foreign or come from a broken
// clock, and following them would push all later IDs far into the future.
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

// lastEntryID returns the greatest ID this process has made.
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
