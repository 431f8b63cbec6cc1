package fulltext

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/search"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// childEnv holds the task of a child process: a kind of work, a home and a name.
const childEnv = "FIRN_FULLTEXT_CHILD"

func TestMain(m *testing.M) {
	if args := strings.Split(os.Getenv(childEnv), "\n"); len(args) == 3 {
		if err := childWork(args[0], args[1], args[2]); err != nil {
			fmt.Println("FAILED", err)
		}
		return
	}
	m.Run()
}

// childWork performs the task of a child. It prints a line for every step.
func childWork(kind, home, name string) error {
	files, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return err
	}
	index := New(vfs.OS{}, filepath.Join(home, "index"), printingSource{files}, Options{Patience: time.Minute, Report: func(m string) { fmt.Println("REPORT", m) }})
	s := Wrap(files, index)
	switch kind {
	case "talk":
		err = childTalk(index, s, name)
	case "embed":
		err = childEmbed(index)
	case "rebuild":
		for err == nil {
			err = index.Rebuild(context.Background())
		}
	case "append":
		for i := 0; err == nil; i++ {
			if err = childSay(s, name, i); err == nil {
				_, err = childSearch(index, "shared")
			}
		}
	}
	if err != nil {
		return err
	}
	return s.Close()
}

// printingSource is a source that prints a line when a session is read.
type printingSource struct{ *filestore.Store }

func (t printingSource) Read(ctx context.Context, id firn.ID, after store.Pos) iter.Seq2[store.Record, error] {
	fmt.Println("read", id)
	return t.Store.Read(ctx, id, after)
}

func childSay(s store.Store, name string, i int) error {
	_, err := s.Append(context.Background(), firn.ID(fmt.Sprintf("by-%s-%d", name, i%5)), store.Any, firn.UserText(fmt.Sprintf("shared word number%d of %s", i, name)))
	return err
}

func childSearch(index *Index, text string) ([]search.Hit, error) {
	q, err := search.Parse(text, time.Now())
	if err != nil {
		return nil, err
	}
	q.Limit = search.MaxLimit
	answer, err := index.Search(context.Background(), q)
	return answer.Hits, err
}

// childTalk appends messages and finds each immediately; now and then it rebuilds the
// index. When all children are done it prints what it finds.
func childTalk(index *Index, s store.Store, name string) error {
	for i := range 60 {
		if err := childSay(s, name, i); err != nil {
			return err
		}
		hits, err := childSearch(index, fmt.Sprintf("number%d AND %s", i, name))
		if err != nil {
			return err
		}
		if len(hits) != 1 {
			return fmt.Errorf("the message of %s in step %d is found %d times", name, i, len(hits))
		}
		if i%20 == 10 {
			if err := index.Rebuild(context.Background()); err != nil {
				return err
			}
		}
	}
	fmt.Println("done")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	index.request(func(d *due) { d.census = true }, true)
	hits, err := childSearch(index, "shared")
	fmt.Println("found", entries(hits))
	return err
}

// child is a child process.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startChild(t *testing.T, kind, home, name string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{kind, home, name}, "\n"))
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.kill() })
	c.lines = bufio.NewScanner(out)
	c.lines.Buffer(nil, 1<<20)
	return c
}

// until reads up to the nth line with a prefix, and returns it.
func (c *child) until(prefix string, n int) string {
	c.t.Helper()
	for c.lines.Scan() {
		line := c.lines.Text()
		if strings.HasPrefix(line, "FAILED") || strings.HasPrefix(line, "REPORT") {
			c.t.Fatal(line)
		}
		if strings.HasPrefix(line, prefix) {
			if n--; n <= 0 {
				return line
			}
		}
	}
	c.t.Fatalf("a child ended before it printed %s", prefix)
	return ""
}

// kill kills the child and waits for its end.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// TestTwoProcesses appends, searches and rebuilds in two processes on one index. Both find
// their messages immediately, and in the end the same ones.
func TestTwoProcesses(t *testing.T) {
	b := newTestIndex(t)
	b.fill(10, 20)
	kids := []*child{startChild(t, "talk", b.dir, "one"), startChild(t, "talk", b.dir, "two")}
	var found [2]string
	for _, c := range kids {
		c.until("done", 1)
	}
	for i, c := range kids {
		if _, err := io.WriteString(c.in, "go\n"); err != nil {
			t.Fatal(err)
		}
		found[i] = c.until("found", 1)
	}
	if n := strings.Count(found[0], " "); found[0] != found[1] || n != search.MaxLimit {
		t.Errorf("two processes find %d: %q and %q", n, found[0], found[1])
	}
	if d, err := b.index.Check(context.Background()); err != nil || len(d) > 0 {
		t.Errorf("afterwards the check returned %v, %v", d, err)
	}
	b.sound()
}

// TestKilled kills processes with SIGKILL while they update or rebuild the index:
// afterwards no row is missing and no temporary file is left.
func TestKilled(t *testing.T) {
	b := newTestIndex(t)
	b.fill(12, 30)
	b.search("flaky")
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		kind := []string{"append", "rebuild"}[round%2]
		c := startChild(t, kind, b.dir, fmt.Sprint("round", round))
		c.until("read", 3+7*round)
		c.kill()
		if got := b.search("flaky message session:sess-1"); len(got) != search.DefaultLimit {
			t.Errorf("after round %d there are %d hits", round, len(got))
		}
		if d, err := b.index.Check(context.Background()); err != nil || len(d) > 0 {
			t.Errorf("after round %d the check returned %v, %v", round, d, err)
		}
		if b.index.building() {
			t.Errorf("after round %d half an index lies about", round)
		}
	}
	b.sound()
}

// blind is a source that does not know a session yet.
type blind struct {
	*filestore.Store
	to firn.ID
}

func (b blind) Census(ctx context.Context) ([]store.Status, error) {
	all, err := b.Store.Census(ctx)
	return slices.DeleteFunc(all, func(s store.Status) bool { return s.ID == b.to }), err
}

// TestReplacedByAnother checks that the latest message is found although another process
// replaced the index by one built before it.
func TestReplacedByAnother(t *testing.T) {
	b := newTestIndex(t)
	b.fill(2, 5)
	b.append("late", firn.UserText("the latest news"))
	if len(b.search("news")) != 1 {
		t.Fatal("the news are not found")
	}
	other := New(vfs.OS{}, b.dir+"/index", blind{b.files, "late"}, Options{})
	if err := errors.Join(other.Rebuild(context.Background()), other.Close()); err != nil {
		t.Fatal(err)
	}
	if got := b.search("news"); len(got) != 1 {
		t.Errorf("after the index was replaced the news are found %d times", len(got))
	}
	b.sound()
}
