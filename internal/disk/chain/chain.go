// Package chain keeps a hash chain over the lines of a journal in a file beside it, so that
// a later change of a line is found.
//
// The sum after a line is the SHA-256 of the sum before it and the line; the first sum is
// that of the session's ID. The chain is a function of the journal's bytes: processes that
// extend it at the same time write the same records. It is extended after the lines are
// durable and is not synced itself, so it never covers more than the journal has; after a
// crash it may cover less, until it is extended again.
//
// The file starts with a line that names the session. Each record has 48 bytes: the position
// after a line, a checksum of the record, and the sum.
package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/journal"
	"firn.dev/internal/disk/vfs"
)

// Ext is the suffix of a chain file after the name of the journal's first part.
const Ext = ".chain"

// Path returns the path of the chain of the journal at base.
func Path(base string) string { return base + Ext }

// Sum is the sum of all lines up to a position.
type Sum [sha256.Size]byte

// Link is a record of a chain: the sum of all lines before End.
type Link struct {
	End firn.Pos
	Sum Sum
}

// Start returns the sum before the first line of a session.
func Start(id firn.ID) Sum { return sha256.Sum256([]byte("firn chain 1 " + string(id) + "\n")) }

// hasher computes the sums of a journal's lines.
type hasher struct {
	source journal.Source
	hash   hash.Hash
}

func newHasher(source journal.Source) *hasher { return &hasher{source: source, hash: sha256.New()} }

// after returns the sum after a line.
func (h *hasher) after(before Sum, line journal.Line) (sum Sum, err error) {
	h.hash.Reset()
	h.hash.Write(before[:]) // a hash never fails
	if line.Gap == "" {
		h.hash.Write(line.Data)
		if !line.Unfinished {
			h.hash.Write([]byte{'\n'})
		}
	} else if err := h.copyBytes(line); err != nil {
		return Sum{}, err
	}
	h.hash.Sum(sum[:0])
	return sum, nil
}

// copyBytes hashes the bytes of a line that was too long to be read.
func (h *hasher) copyBytes(line journal.Line) error {
	part, start := journal.Split(line.Start)
	_, end := journal.Split(line.Next)
	file, err := h.source.FS.Open(journal.PartPath(h.source.Path, part), vfs.Read)
	if err != nil {
		return err
	}
	defer file.Close() // read-only
	_, err = io.Copy(h.hash, io.NewSectionReader(file, start, end-start))
	return err
}

const (
	magic      = "firn chain 1 "
	recordSize = 48
	// maxHeader is the maximum length of the first line. A session ID has at most 128 bytes.
	maxHeader = 256
)

func header(id firn.ID) []byte { return []byte(magic + string(id) + "\n") }

func (l Link) encode() (b [recordSize]byte) {
	binary.LittleEndian.PutUint64(b[0:], uint64(l.End))
	copy(b[16:], l.Sum[:])
	binary.LittleEndian.PutUint32(b[8:], crc32.ChecksumIEEE(b[16:])^crc32.ChecksumIEEE(b[:8]))
	return b
}

// decode returns false if the record was not written completely.
func decode(b []byte) (l Link, ok bool) {
	l.End = firn.Pos(binary.LittleEndian.Uint64(b[0:]))
	copy(l.Sum[:], b[16:recordSize])
	return l, l.End > 0 && binary.LittleEndian.Uint32(b[8:]) == crc32.ChecksumIEEE(b[16:recordSize])^crc32.ChecksumIEEE(b[:8])
}

// file is an open chain file.
type file struct {
	file    vfs.File
	session firn.ID
	// start is the offset of the first record, count the number of complete records.
	start, count int64
}

// errNoChain means that a file is empty or too short for a header.
var errNoChain = errors.New("no chain")

// open reads the header of a chain and finds its last complete record.
func open(f vfs.File) (*file, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(maxHeader, info.Size))
	if n, err := f.ReadAt(buf, 0); err != nil && err != io.EOF || n < len(buf) {
		return nil, err
	}
	line, _, ok := strings.Cut(string(buf), "\n")
	id, named := strings.CutPrefix(line, magic)
	if !ok && len(buf) < maxHeader {
		return nil, errNoChain // a crash cut it
	}
	if !ok || !named || firn.ID(id).Check() != nil {
		return nil, fmt.Errorf("%w: it is not a chain file of firn", firn.ErrCorrupt)
	}
	c := &file{file: f, session: firn.ID(id), start: int64(len(line)) + 1}
	for c.count = (info.Size - c.start) / recordSize; c.count > 0; c.count-- {
		if _, ok, err := c.link(c.count - 1); ok || err != nil {
			return c, err
		}
	}
	return c, nil
}

// link returns a record by its number.
func (c *file) link(n int64) (Link, bool, error) {
	var b [recordSize]byte
	if _, err := c.file.ReadAt(b[:], c.start+n*recordSize); err != nil && err != io.EOF {
		return Link{}, false, err
	}
	l, ok := decode(b[:])
	return l, ok, nil
}

// last returns the last record; the start of the session if there is none.
func (c *file) last() (Link, error) {
	if c.count == 0 {
		return Link{Sum: Start(c.session)}, nil
	}
	l, _, err := c.link(c.count - 1)
	return l, err
}

// batch is the number of records that are written at once.
const batch = 1024

// maxGap is the number of bytes without records up to which lines are recorded with those
// after them.
const maxGap = 1 << 20

// Extend adds the lines of a journal between two positions to its chain. The lines must be
// durable. An incomplete last line is left out. If many lines before them are not recorded,
// because the journal is older than its chain, nothing is added: that would cost as much as
// the whole journal. From zero on, everything is added.
func Extend(source journal.Source, id firn.ID, from, until firn.Pos) (err error) {
	f, err := openToExtend(source, id)
	if f == nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = fmt.Errorf("extend the hash chain of session %s: %w", id, err)
		}
	}()
	if err := f.Lock(); err != nil {
		return err
	}
	c, err := open(f)
	if errors.Is(err, errNoChain) {
		c, err = &file{file: f, session: id, start: int64(len(header(id)))}, nil
		if _, err := f.WriteAt(header(id), 0); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return c.extend(source, from, until)
}

// openToExtend opens or creates the chain of a journal. It returns nil if the journal does
// not exist.
func openToExtend(source journal.Source, id firn.ID) (vfs.File, error) {
	gone := func() bool {
		_, err := source.FS.Stat(source.Path)
		return errors.Is(err, fs.ErrNotExist)
	}
	if gone() {
		return nil, nil
	}
	path := Path(source.Path)
	f, err := source.FS.Open(path, vfs.Update)
	if err != nil {
		return nil, fmt.Errorf("extend the hash chain of session %s: %w", id, err)
	}
	if gone() { // it was moved or purged meanwhile
		return nil, errors.Join(f.Close(), source.FS.Remove(path))
	}
	return f, nil
}

func (c *file) extend(source journal.Source, from, until firn.Pos) error {
	last, err := c.last()
	if err != nil || last.End >= until || !isNear(source, last.End, from) {
		return err
	}
	h := newHasher(source)
	if same, err := c.matchesLast(h, last); !same {
		return err
	}
	var records []byte
	for line, err := range source.Lines(last.End) {
		if err != nil {
			return err
		}
		if line.Unfinished || line.Next > until {
			break
		}
		if last.Sum, err = h.after(last.Sum, line); err != nil {
			return err
		}
		last.End = line.Next
		b := last.encode()
		if records = append(records, b[:]...); len(records) >= batch*recordSize {
			if err := c.write(records); err != nil {
				return err
			}
			records = records[:0]
		}
	}
	return c.write(records)
}

// isNear reports whether there are few bytes between the last record and a position in the
// same part or the next one.
func isNear(source journal.Source, last, from firn.Pos) bool {
	if from <= last+maxGap {
		return true
	}
	part, offset := journal.Split(from)
	before, recorded := journal.Split(last)
	info, err := source.FS.Stat(journal.PartPath(source.Path, before))
	return err == nil && part == before+1 && info.Size-recorded+offset <= maxGap
}

// matchesLast reports whether the line of the last record is still in its place. If it is
// not, the journal was changed: the chain is left as evidence, and not extended.
func (c *file) matchesLast(h *hasher, last Link) (bool, error) {
	if c.count == 0 {
		return true, nil
	}
	before := Link{Sum: Start(c.session)}
	if c.count > 1 {
		var err error
		if before, _, err = c.link(c.count - 2); err != nil {
			return false, err
		}
	}
	for line, err := range h.source.Lines(before.End) {
		if err != nil {
			return false, err
		}
		sum, err := h.after(before.Sum, line)
		return line.Next == last.End && (sum == last.Sum || isErased(line)), err
	}
	return false, nil
}

// write adds records after the last complete one.
func (c *file) write(records []byte) error {
	if len(records) == 0 {
		return nil
	}
	_, err := c.file.WriteAt(records, c.start+c.count*recordSize)
	c.count += int64(len(records) / recordSize)
	return err
}

// SetAside renames the chain of a journal, so that a new one is made at the next append. It
// returns the new name; empty if there is no chain.
func SetAside(fsys vfs.FS, base string) (string, error) {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.%d", Path(base), n)
		if _, err := fsys.Stat(aside); err == nil {
			continue
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		err := fsys.Rename(Path(base), aside)
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return aside, err
	}
}

// IsFile reports whether a file is the chain of a journal, or one that was set aside, and
// returns the name of the journal.
func IsFile(name string) (base string, ok bool) {
	base, rest, ok := strings.Cut(name, Ext)
	return base, ok && (rest == "" || rest[0] == '.' && strings.Trim(rest[1:], "0123456789") == "")
}

// Last returns the last record of the chain of a journal. It returns false if there is no
// chain.
func Last(fsys vfs.FS, base string) (Link, bool, error) {
	return find(fsys, base, func(c *file) (Link, bool, error) {
		l, err := c.last()
		return l, c.count > 0, err
	})
}

// At returns the record whose line ends at a position. It returns false if there is none.
func At(fsys vfs.FS, base string, end firn.Pos) (Link, bool, error) {
	return find(fsys, base, func(c *file) (Link, bool, error) {
		low, high := int64(0), c.count
		for low < high {
			mid := (low + high) / 2
			l, _, err := c.link(mid)
			if err != nil || l.End == end {
				return l, err == nil, err
			}
			if l.End < end {
				low = mid + 1
			} else {
				high = mid
			}
		}
		return Link{}, false, nil
	})
}

// find finds a record in the chain of a journal, if it has one.
func find(fsys vfs.FS, base string, search func(*file) (Link, bool, error)) (Link, bool, error) {
	f, err := fsys.Open(Path(base), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return Link{}, false, nil
	}
	if err != nil {
		return Link{}, false, err
	}
	defer f.Close() // read-only
	c, err := open(f)
	if errors.Is(err, errNoChain) {
		return Link{}, false, nil
	}
	if err != nil {
		return Link{}, false, err
	}
	return search(c)
}
