package index_test

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/internal/find/index"
	"firn.dev/store"
)

// inMemory returns a fixture with an in-memory file system.
func inMemory(t *testing.T) (*fixture, *faultfs.FS) {
	mem := faultfs.New()
	f := &fixture{T: t, ctx: t.Context(), home: "/home", fs: mem}
	f.open()
	return f, mem
}

// damaged installs a damaged catalog and checks that all lists are right and that it is
// rebuilt.
func (f *fixture) damaged(mem *faultfs.FS, what string, content []byte, whole string) {
	f.Helper()
	for _, limit := range []int{0, 3} {
		f.ok(mem.Put(f.path(), content))
		got := f.list(f.catalog(index.Options{Report: f.report}), store.Query{Limit: limit})
		if want := f.list(f.store, store.Query{Limit: limit}); ids(got) != ids(want) {
			f.Fatalf("%s: with limit %d listed are %q, want %q", what, limit, ids(got), ids(want))
		}
	}
	f.refresh()
	b, err := mem.Get(f.path())
	f.ok(err)
	if string(b) != whole {
		f.Fatalf("%s: after a refresh the catalog is not as before", what)
	}
}

func TestCutAtEveryByte(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(4)
	f.refresh()
	whole, err := mem.Get(f.path())
	f.ok(err)
	for n := 0; n < len(whole); n += step() {
		f.damaged(mem, fmt.Sprintf("cut to %d of %d bytes", n, len(whole)), whole[:n], string(whole))
	}
	if len(f.reports) == 0 {
		t.Error("the damage was not reported")
	}
}

func TestChangedBytes(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(4)
	f.refresh()
	whole, err := mem.Get(f.path())
	f.ok(err)
	for n := 0; n < len(whole); n += step() {
		bent := []byte(string(whole))
		bent[n] ^= 0x15
		f.damaged(mem, fmt.Sprintf("byte %d changed", n), bent, string(whole))
	}
	random := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		junk := make([]byte, random.IntN(2000))
		for i := range junk {
			junk[i] = byte(random.Uint32())
		}
		f.damaged(mem, "random bytes", junk, string(whole))
		mixed := []byte(string(whole))
		copy(mixed[random.IntN(len(mixed)):], junk)
		f.damaged(mem, "random bytes over some", mixed, string(whole))
	}
}

// TestMissingLines tests valid lines that are not the ones in the header.
func TestMissingLines(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(4)
	f.refresh()
	b, err := mem.Get(f.path())
	f.ok(err)
	whole := string(b)
	lines := strings.SplitAfter(whole, "\n")
	for i := range 5 {
		without := strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "")
		f.damaged(mem, fmt.Sprintf("without line %d", i), []byte(without), whole)
	}
}

func TestOtherVersion(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(2)
	f.refresh()
	b, err := mem.Get(f.path())
	f.ok(err)
	other := regexp.MustCompile(`"catalogue":[0-9]`).ReplaceAllString(string(b[:255]), `"catalogue":9`)
	sum := crc32.Checksum([]byte(other[18:]), crc32.MakeTable(crc32.Castagnoli))
	other = fmt.Sprintf(`{"crc":"%08x",%s`, sum, other[18:])
	f.damaged(mem, "another version", []byte(other+"\n"+string(b[256:])), string(b))
	if !strings.Contains(strings.Join(f.reports, ""), "version 9") {
		t.Errorf("reported was %q", f.reports)
	}
}

// TestCatalogueIsADirectory checks that a file that cannot be opened is treated as missing.
func TestCatalogueIsADirectory(t *testing.T) {
	f, mem := inMemory(t)
	f.fill(3)
	f.ok(mem.MkdirAll(f.path()))
	for _, limit := range []int{0, 2} {
		want := f.list(f.store, store.Query{Limit: limit})
		if got := f.list(f.cat, store.Query{Limit: limit}); ids(got) != ids(want) {
			t.Errorf("listed: %q, want %q", ids(got), ids(want))
		}
	}
	if _, err := f.cat.Refresh(f.ctx, nil); err == nil {
		t.Error("a refresh that could not write did not report it")
	}
}
