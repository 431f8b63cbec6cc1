package filestore

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

const (
	writers     = 8
	bindings    = 100 // per writer
	sharedNames = 3
)

// binding is a writer's report of one bind: its start and, if it was acknowledged, its end.
type binding struct {
	key        string
	id         firn.ID
	begun, end int64
}

// TestTableWriter is not a test but the writer process of TestTableKill. It alternately
// binds a key of its own and a shared one, and reports before and after each.
func TestTableWriter(t *testing.T) {
	args := flag.Args()
	if len(args) != 4 || args[0] != "table-writer" {
		return
	}
	name := args[2]
	first, err := strconv.Atoi(args[3])
	if err != nil {
		t.Fatal(err)
	}
	table := openTable(vfs.OS{}, args[1], tableOptions{})
	for i := first; i < bindings; i++ {
		key := "own-" + name
		if i%2 == 1 {
			key = fmt.Sprintf("shared-%d", i%sharedNames)
		}
		id := firn.ID(fmt.Sprintf("s-%s-%d", name, i))
		fmt.Printf("try %d %s %s %d\n", i, key, id, time.Now().UnixNano())
		if err := table.bind(key, id); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("done %d %s %s %d\n", i, key, id, time.Now().UnixNano())
		if err := table.touch(key, count("bindings")); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.close(); err != nil {
		t.Fatal(err)
	}
}

// writerProcesses runs writer processes and records their reports.
type writerProcesses struct {
	t     *testing.T
	dir   string
	kills atomic.Int64
	mu    sync.Mutex
	acked map[firn.ID]*binding
}

// TestTableKill lets eight processes bind keys and kills them at random. The file must
// always be valid, and in the end each key must point to the last acknowledged session, or
// to one that was being bound when its writer was killed. FIRN_KILLS sets the minimum
// number of kills.
func TestTableKill(t *testing.T) {
	want, _ := strconv.Atoi(os.Getenv("FIRN_KILLS"))
	for round, killed := 0, 0; round == 0 || killed < want; round++ {
		killed += killRound(t, uint64(round))
		if killed == 0 || t.Failed() {
			t.Fatalf("round %d, %d kills", round, killed)
		}
	}
}

// killRound lets all writers make their bindings once and returns the number of kills.
func killRound(t *testing.T, round uint64) int {
	c := &writerProcesses{t: t, dir: t.TempDir(), acked: make(map[firn.ID]*binding)}
	if err := os.WriteFile(filepath.Join(c.dir, tableName), []byte(sample(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { c.write(w, rand.New(rand.NewPCG(uint64(w), round))) })
	}
	wg.Wait()

	b := &bench{t: t, fs: vfs.OS{}, dir: c.dir}
	b.open(tableOptions{Rebuild: func() (map[string]firn.ID, error) { return nil, errors.New("the file was lost") }})
	b.points(mainKey, mainID)
	b.points(topicKey, topicID)
	all, err := b.keys()
	b.must(err)
	if len(all) != 2+writers+sharedNames {
		t.Errorf("%d keys", len(all))
	}
	for _, k := range all[2:] {
		c.check(k.key, k.row.id())
	}
	b.must(b.bind("last", "s"))
	b.same("the directory", b.names(), []string{tableName})
	return int(c.kills.Load())
}

// write runs one writer after the other until all its bindings are made.
func (c *writerProcesses) write(name int, chance *rand.Rand) {
	for next := 0; next < bindings; {
		killAfter := 1 + chance.IntN(2*bindings/3) // lines
		if next > bindings/2 {
			killAfter = -1
		}
		reached, err := c.run(name, next, killAfter)
		if err != nil {
			c.t.Errorf("writer %d: %v", name, err)
			return
		}
		next = reached
	}
}

// run runs a writer until it is done, or kills it after so many lines. It returns the
// number of the binding after the last one started.
func (c *writerProcesses) run(name, first, killAfter int) (next int, err error) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestTableWriter$", "table-writer", c.dir, strconv.Itoa(name), strconv.Itoa(first))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	killed := false
	var strange []string
	lines := bufio.NewScanner(out)
	for n := 1; lines.Scan(); n++ {
		i, ok := c.parseLine(lines.Text())
		if !ok {
			strange = append(strange, lines.Text())
			continue
		}
		next = i + 1
		c.whole()
		if n == killAfter {
			killed = true
			c.kills.Add(1)
			err = cmd.Process.Kill()
		}
	}
	waitErr := cmd.Wait()
	if !killed && waitErr != nil {
		return 0, fmt.Errorf("%w: %s", waitErr, strings.Join(strange, "\n"))
	}
	return next, errors.Join(err, lines.Err())
}

// parseLine records a line of a writer. An incomplete last line of a killed writer is ignored.
func (c *writerProcesses) parseLine(line string) (number int, ok bool) {
	var word, key, id string
	var when int64
	if n, err := fmt.Sscanf(line, "%s %d %s %s %d", &word, &number, &key, &id, &when); n != 5 || err != nil {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch reported := c.acked[firn.ID(id)]; {
	case word == "try" && reported == nil:
		c.acked[firn.ID(id)] = &binding{key: key, id: firn.ID(id), begun: when}
	case word == "done" && reported != nil:
		reported.end = when
	default:
		return 0, false
	}
	return number, true
}

// whole checks that the file is currently valid.
func (c *writerProcesses) whole() {
	data, err := os.ReadFile(filepath.Join(c.dir, tableName))
	if err == nil {
		_, err = parseObject(data)
	}
	if err != nil {
		c.t.Errorf("while writers were at work: %v", err)
	}
}

// check checks that a key may point to a session: no other binding that started after it
// was done was acknowledged.
func (c *writerProcesses) check(key string, id firn.ID) {
	now := c.acked[id]
	if now == nil || now.key != key {
		c.t.Errorf("key %s points to %s, which was never bound to it", key, id)
		return
	}
	for _, other := range c.acked {
		if other.key == key && other.end != 0 && now.end != 0 && other.begun > now.end {
			c.t.Errorf("key %s points at %s, though %s was bound and acknowledged after it", key, id, other.id)
		}
		if strings.HasPrefix(key, "own-") && other.key == key && other.end != 0 && now.begun < other.begun {
			c.t.Errorf("key %s points at %s, though its writer bound %s later", key, id, other.id)
		}
	}
}
