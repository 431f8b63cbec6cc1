package faultfs

import (
	"io/fs"
	"math/rand/v2"
	"time"

	"firn/internal/vfs"
)

// sector is how much a disk writes or does not write, never half of it.
const sector = 512

// node is a file or a directory, whatever its names.
type node struct {
	inode        uint64
	dir          bool
	links, opens int
	mtime        time.Time
	owner        *handle // who holds the lock

	// names are those in a directory; kept are the durable ones.
	names, kept map[string]*node

	// data is what readers see. disk is what is on the disk for certain, and
	// diskSize how much of it belongs to the file.
	data     []byte
	disk     []byte
	diskSize int64
	// dirty holds, for every sector changed since the last sync, all that it
	// was since then, oldest first; sizes the sizes that the file had. Any of
	// them, or what is on the disk, may be found after a crash.
	dirty map[int64][]version
	sizes []sizeVersion
}

// version is what a sector was after some change. It may be shorter than a
// sector; zeros follow.
type version struct {
	seq  uint64
	data []byte
}

type sizeVersion struct {
	seq  uint64
	size int64
}

func (f *FS) newNode(dir bool) *node {
	f.inodes++
	n := &node{inode: f.inodes, dir: dir, mtime: time.Now()}
	if dir {
		n.names, n.kept = map[string]*node{}, map[string]*node{}
	} else {
		n.dirty = map[int64][]version{}
	}
	return n
}

func (n *node) info() vfs.Info {
	info := vfs.Info{
		Size: int64(len(n.data)), ModTime: n.mtime, Mode: 0o600,
		Device: 1, Inode: n.inode, Links: uint64(n.links),
	}
	if n.dir {
		info.Mode = fs.ModeDir | 0o700
	}
	return info
}

// write puts bytes into the file; a hole before them is zeros.
func (n *node) write(seq uint64, p []byte, off int64) {
	end := off + int64(len(p))
	if end > int64(len(n.data)) {
		n.data = resize(n.data, end)
	}
	if end > n.lastSize() { // it grows, or did and a failed sync has lost that
		n.sizes = append(n.sizes, sizeVersion{seq, end})
	}
	copy(n.data[off:], p)
	n.mtime = time.Now()
	n.remember(seq, off, end)
}

// truncate sets the size; what it adds is zeros.
func (n *node) truncate(seq uint64, size int64) {
	old := int64(len(n.data))
	n.data = resize(n.data, size)
	n.sizes = append(n.sizes, sizeVersion{seq, size})
	n.mtime = time.Now()
	n.remember(seq, size, max(old, size))
}

// remember notes what the sectors between two offsets are now.
func (n *node) remember(seq uint64, from, to int64) {
	first := from / sector
	start := min(first*sector, int64(len(n.data)))
	stop := min((to+sector-1)/sector*sector, int64(len(n.data)))
	now := append([]byte(nil), n.data[start:max(start, stop)]...)
	for s := first; s*sector < to; s++ {
		n.dirty[s] = append(n.dirty[s], version{seq, sectorOf(now, s-first)})
	}
}

// sectorOf cuts a sector out of some bytes; it is short or empty at their end.
func sectorOf(p []byte, s int64) []byte {
	size := int64(len(p))
	return p[min(s*sector, size):min((s+1)*sector, size)]
}

// putSector replaces a sector, with zeros behind what is given.
func putSector(p []byte, s int64, data []byte) []byte {
	if need := s*sector + int64(len(data)); int64(len(p)) < need {
		p = resize(p, need)
	}
	rest := sectorOf(p, s)
	clear(rest[copy(rest, data):])
	return p
}

// resize cuts or lengthens with zeros.
func resize(p []byte, size int64) []byte {
	if size <= int64(len(p)) {
		return p[:size]
	}
	return append(p, make([]byte, size-int64(len(p)))...)
}

// sync writes all that is dirty to the disk. What an earlier sync failed to
// write is not dirty any more, and stays lost until it is written again.
func (n *node) sync() {
	if n.dir {
		return
	}
	for s := range n.dirty {
		n.disk = putSector(n.disk, s, sectorOf(n.data, s))
	}
	if len(n.sizes) > 0 {
		n.diskSize = n.lastSize()
		n.disk = resize(n.disk, n.diskSize)
	}
	n.settled()
}

// settled says that nothing is dirty any more.
func (n *node) settled() {
	clear(n.dirty)
	n.sizes = nil
}

// failSync writes some of what is dirty to the disk and forgets the rest. With
// evict, what was forgotten cannot be read any more either.
func (n *node) failSync(chance *rand.Rand, evict bool) {
	for _, s := range sortedKeys(n.dirty) {
		if chance.IntN(2) == 0 {
			n.disk = putSector(n.disk, s, sectorOf(n.data, s))
		} else if evict && s*sector < int64(len(n.data)) {
			old := append([]byte(nil), sectorOf(n.disk, s)...)
			rest := sectorOf(n.data, s)
			clear(rest[copy(rest, old):])
		}
	}
	if len(n.sizes) > 0 && chance.IntN(2) == 0 {
		n.diskSize = int64(len(n.data))
	}
	n.settled()
}
