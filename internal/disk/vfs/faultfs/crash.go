package faultfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
)

// choice selects the data that survives a crash although it was not durable.
type choice struct {
	// name reports whether a change of names is on the disk.
	name func(c *nameChange) bool
	// size returns the size of a file.
	size func(n *node) int64
	// sector returns the version of a sector on the disk: 0 for the last synced one, i for
	// the ith after it.
	sector func(n *node, s int64) int
}

// Crash returns the file system after a power cut now, if the disk holds only durable data.
// Otherwise it is like [FS.CrashRandom].
func (f *FS) Crash() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.crash(choice{noNames, oldSize, oldSector})
}

// CrashRandom returns a random possible state of the file system after a power cut now:
// every unsynced sector, size and change of names is independently kept or lost. In the
// result no locks are held, everything is durable, there is no limit, there are no faults,
// and the log is empty. The original file system is not changed.
func (f *FS) CrashRandom(chance *rand.Rand) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Even odds for each change would make "nearly all lost" and "nearly all kept" too
	// rare, so the odds themselves are random.
	names := odds(chance)
	sectors := map[*node]float64{}
	return f.crash(choice{
		name: func(*nameChange) bool { return chance.Float64() < names },
		size: func(n *node) int64 {
			sectors[n] = odds(chance)
			return randomSize(chance, n)
		},
		sector: func(n *node, s int64) int {
			versions := len(n.dirty[s])
			switch {
			case chance.Float64() >= sectors[n]:
				return 0
			case chance.IntN(2) == 0:
				return versions
			}
			return 1 + chance.IntN(versions)
		},
	})
}

func odds(chance *rand.Rand) float64 { return float64(chance.IntN(5)) / 4 }

// randomSize returns the old size, the new one, or one in between.
func randomSize(chance *rand.Rand, n *node) int64 {
	sizes := n.possibleSizes()
	switch chance.IntN(4) {
	case 0:
		return n.diskSize
	case 1:
		return n.lastSize()
	}
	return sizes[chance.IntN(len(sizes))]
}

// lastSize returns the size if nothing is lost.
func (n *node) lastSize() int64 {
	if len(n.sizes) == 0 {
		return n.diskSize
	}
	return n.sizes[len(n.sizes)-1].size
}

// possibleSizes returns, in order, the sizes of the file since the last sync and all sector
// boundaries between the smallest and the largest of them.
func (n *node) possibleSizes() []int64 {
	sizes := []int64{n.diskSize}
	for _, v := range n.sizes {
		sizes = append(sizes, v.size)
	}
	least, most := slices.Min(sizes), slices.Max(sizes)
	for border := (least/sector + 1) * sector; border < most; border += sector {
		sizes = append(sizes, border)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// crash builds the file system that results from a choice.
func (f *FS) crash(c choice) *FS {
	b := &builder{choice: c, names: map[*node]map[string]*node{}, made: map[*node]*node{}}
	for _, change := range f.changes {
		if c.name(change) {
			for _, e := range change.effects {
				e.apply(b.namesOf(e.dir))
			}
		}
	}
	left := &FS{inodes: f.inodes, seq: f.seq, limit: noLimit, rng: seeded(f.seq)}
	left.freed = sync.NewCond(&left.mu)
	left.root = b.build(f.root)
	left.used = b.bytes
	return left
}

// builder creates the nodes of the file system after a crash. A file may have two names in
// it if only one end of a rename was synced.
type builder struct {
	choice
	names map[*node]map[string]*node
	made  map[*node]*node
	bytes int64
}

// namesOf returns the names in a directory after the crash.
func (b *builder) namesOf(dir *node) map[string]*node {
	if b.names[dir] == nil {
		b.names[dir] = maps.Clone(dir.kept)
	}
	return b.names[dir]
}

func (b *builder) build(n *node) *node {
	if m := b.made[n]; m != nil {
		m.links++
		return m
	}
	m := &node{inode: n.inode, dir: n.dir, links: 1, mtime: n.mtime}
	b.made[n] = m
	if !n.dir {
		m.disk = b.content(n)
		m.diskSize = int64(len(m.disk))
		m.data = slices.Clone(m.disk)
		m.dirty = map[int64][]version{}
		b.bytes += m.diskSize
		return m
	}
	names := b.namesOf(n)
	m.names = make(map[string]*node, len(names))
	for _, name := range sortedKeys(names) {
		below := names[name]
		if below.dir && b.made[below] != nil {
			continue // a directory has only one name
		}
		m.names[name] = b.build(below)
	}
	m.kept = maps.Clone(m.names)
	return m
}

// content returns the content of a file after the crash.
func (b *builder) content(n *node) []byte {
	size := b.size(n)
	content := make([]byte, size)
	copy(content, n.disk)
	for _, s := range sortedKeys(n.dirty) {
		if i := b.sector(n, s); i > 0 && s*sector < size {
			kept := sectorOf(content, s)
			clear(kept[copy(kept, n.dirty[s][i-1].data):])
		}
	}
	return content
}

func sortedKeys[K int64 | string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
