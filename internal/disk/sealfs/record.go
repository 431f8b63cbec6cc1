package sealfs

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// KeySize is the size of the key of a home in bytes.
const KeySize = 32

// Key encrypts the files of a home.
type Key [KeySize]byte

// NewKey returns a random key.
func NewKey() (k Key, err error) {
	_, err = rand.Read(k[:])
	return k, err
}

const (
	magic     = "\x8bfirnsl1"
	idSize    = 16
	checkSize = 8
	headSize  = 8 + idSize + checkSize
	nonceSize = 12
	tagSize   = 16
	// recordHead is the size of a record before its ciphertext, overhead that of a record
	// with an empty one.
	recordHead = 4 + 8 + nonceSize
	overhead   = recordHead + tagSize
	slotSize   = 16 << 10
	// slotRoom is the largest number of plain bytes in a slot.
	slotRoom = slotSize - headSize - overhead
	// minPiece is the size below which a piece of a longer write is not put at the end of a
	// slot; the next slot begins with it instead.
	minPiece = 256
)

// fileID identifies a file independently of its path.
type fileID [idSize]byte

// codec seals and opens the records of one file.
type codec struct {
	id   fileID
	head [headSize]byte
	aead cipher.AEAD
}

// newCodec derives the key of a file.
func newCodec(key Key, id fileID) (*codec, error) {
	derived, err := hkdf.Key(sha256.New, key[:], id[:], "firn sealed file", KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive the key of a file: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("derive the key of a file: %w", err)
	}
	c := &codec{id: id}
	if c.aead, err = cipher.NewGCM(block); err != nil {
		return nil, fmt.Errorf("derive the key of a file: %w", err)
	}
	mac := hmac.New(sha256.New, derived)
	mac.Write([]byte("firn sealed head")) // a hash never fails
	n := copy(c.head[:], magic)
	n += copy(c.head[n:], id[:])
	copy(c.head[n:], mac.Sum(nil))
	return c, nil
}

// newFileCodec returns the codec of a new file.
func newFileCodec(key Key) (*codec, error) {
	var id fileID
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	return newCodec(key, id)
}

// headID returns the file ID in the header of a slot. It reports false if there is no header.
func headID(raw []byte) (id fileID, ok bool) {
	if len(raw) < headSize || string(raw[:len(magic)]) != magic {
		return id, false
	}
	copy(id[:], raw[len(magic):])
	return id, true
}

// isHead reports whether a slot begins with the header of this file.
func (c *codec) isHead(raw []byte) bool {
	return len(raw) >= headSize && bytes.Equal(raw[:headSize], c.head[:])
}

// hasCheck is isHead for a header whose first bytes may be damaged.
func (c *codec) hasCheck(head []byte) bool {
	return bytes.Equal(head[len(magic):headSize], c.head[len(magic):])
}

// appendRecord appends a sealed record with the plain bytes at an offset of the file.
func (c *codec) appendRecord(b, plain []byte, offset int64) ([]byte, error) {
	start := len(b)
	b = binary.BigEndian.AppendUint32(b, uint32(len(plain)))
	b = binary.BigEndian.AppendUint64(b, uint64(offset))
	b = append(b, make([]byte, nonceSize)...)
	nonce := b[start+12 : start+recordHead]
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return c.aead.Seal(b, nonce, plain, b[start:start+12]), nil
}

// slot is an opened slot.
type slot struct {
	// start is the offset of the first plain byte in the file.
	start int64
	plain []byte
	// ends are the ends of the records: in the slot, and in plain.
	ends []recordEnd
	// lost are the ranges of plain that could not be opened. They are zero.
	lost []span
}

type recordEnd struct{ raw, plain int }

type span struct{ from, to int }

func (s *slot) end() int64 { return s.start + int64(len(s.plain)) }

// used returns the number of bytes of the slot that hold records and their header.
func (s *slot) used() int {
	if len(s.ends) == 0 {
		return headSize
	}
	return s.ends[len(s.ends)-1].raw
}

// damagedIn reports whether bytes of a range of the file could not be opened.
func (s *slot) damagedIn(from, to int64) bool {
	for _, l := range s.lost {
		if s.start+int64(l.from) < to && from < s.start+int64(l.to) {
			return true
		}
	}
	return false
}

// openSlot opens the records of a slot. index is the number of the slot, which limits the
// offsets that it can contain. It returns nil if the slot has no usable record.
func (c *codec) openSlot(raw []byte, index int64) *slot {
	if !c.isHead(raw) {
		return nil
	}
	s := &slot{plain: make([]byte, 0, max(len(raw)-headSize-overhead, 0))}
	intact := false
	for at := headSize; len(raw)-at > overhead; {
		n := int64(binary.BigEndian.Uint32(raw[at:]))
		offset := binary.BigEndian.Uint64(raw[at+4:])
		if n == 0 || n > int64(len(raw)-at-overhead) || offset > uint64(index*slotRoom+int64(len(s.plain))) {
			break
		}
		if len(s.ends) == 0 {
			s.start = int64(offset)
		} else if int64(offset) != s.end() {
			break
		}
		from := len(s.plain)
		nonce, sealed := raw[at+12:at+recordHead], raw[at+recordHead:at+overhead+int(n)]
		plain, err := c.aead.Open(s.plain, nonce, sealed, raw[at:at+12])
		if err == nil {
			s.plain, intact = plain, true
		} else {
			s.plain = append(s.plain, make([]byte, n)...)
			s.lost = append(s.lost, span{from, len(s.plain)})
		}
		at += overhead + int(n)
		s.ends = append(s.ends, recordEnd{at, len(s.plain)})
	}
	if len(s.ends) == 0 || !intact && s.start == 0 && index > 0 {
		return nil
	}
	return s
}

// appendPieces seals plain bytes for the end of a file: raw is the size of the file and
// offset that of its plain content. It returns the bytes to append, and the end of each
// record in them with the number of plain bytes up to it.
func (c *codec) appendPieces(b, plain []byte, raw, offset int64) (_ []byte, ends []recordEnd, err error) {
	start := len(b)
	for done := 0; done < len(plain); {
		at := int((raw + int64(len(b)-start)) % slotSize)
		room := slotSize - at - overhead
		if at > 0 && room < min(len(plain)-done, minPiece) {
			b = append(b, make([]byte, slotSize-at)...)
			continue
		}
		if at == 0 {
			b = append(b, c.head[:]...)
			room -= headSize
		}
		n := min(room, len(plain)-done)
		if b, err = c.appendRecord(b, plain[done:done+n], offset+int64(done)); err != nil {
			return nil, nil, err
		}
		done += n
		ends = append(ends, recordEnd{len(b) - start, done})
	}
	return b, ends, nil
}

// slotWith returns a slot with plain bytes as one record. A full slot is padded with zeros to
// its size, so that the next one keeps its place.
func (c *codec) slotWith(plain []byte, offset int64, full bool) ([]byte, error) {
	b := append(make([]byte, 0, slotSize), c.head[:]...)
	if len(plain) > 0 {
		var err error
		if b, err = c.appendRecord(b, plain, offset); err != nil {
			return nil, err
		}
	}
	if full {
		b = append(b, make([]byte, slotSize-len(b))...)
	}
	return b, nil
}
