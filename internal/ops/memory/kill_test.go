package memory

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"firn.dev/provider"
	"firn.dev/provider/scripted"
)

// The tests in this file start this program again and kill it with SIGKILL at every step of a
// consolidation, of learning, and of other changes of several files. A reader then sees either
// all of the old notes or all of the new ones. After the next write, the same is true of the
// files themselves.

const (
	childRoot = "FIRN_MEMORY_CHILD"
	childTask = "FIRN_MEMORY_TASK"
	childMark = "step: "
)

// tasks are the operations to kill.
var tasks = map[string]func(t *testing.T, d *Dir){
	"dream": func(t *testing.T, d *Dir) {
		dream, err := (&Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks()), Owner: fmt.Sprint(os.Getpid())}).Dream(t.Context(), DreamOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("dreamt: %q\n", dream.Shut)
	},
	"advised": func(t *testing.T, d *Dir) { // a dream with a model
		model := scripted.New(provider.Info{}, scripted.Reply("MEMORY: preference | 9 | The user prefers tabs over spaces in Go code | 1"), scripted.Reply("NONE"), scripted.Reply("NONE"), scripted.Reply("NONE"), scripted.Reply("NONE"),
			scripted.Reply("MERGE: 3, 4 | MySQL is used for the shop, and the office has a blue door"))
		if _, err := (&Dreamer{Dir: d, Model: model, Sessions: sessionsOf(fiveTalks())}).Dream(t.Context(), DreamOptions{}); err != nil {
			t.Fatal(err)
		}
	},
	"learn": func(t *testing.T, d *Dir) {
		model := scripted.New(provider.Info{}, scripted.Reply("MEMORY: preference | 9 | The user prefers tabs over spaces in Go code | 1"))
		found, err := Extractor{Model: model}.Extract(t.Context(), Collect("s1", fiveTalks()["s1"], "", false))
		if err != nil || len(found.Facts) != 1 {
			t.Fatal(found, err)
		}
		d.step("extracted")
		if _, err := d.Learn(t.Context(), found.Facts, "s1", "e02"); err != nil {
			t.Fatal(err)
		}
	},
	"clear": func(t *testing.T, d *Dir) {
		if _, err := d.Clear(t.Context()); err != nil {
			t.Fatal(err)
		}
	},
	"add": func(t *testing.T, d *Dir) {
		if _, err := d.Remember(t.Context(), Draft{Name: "Fresh", Text: "Fresh text."}); err != nil {
			t.Fatal(err)
		}
	},
}

// TestKilledChild is the child process. It does nothing unless started as one.
func TestKilledChild(t *testing.T) {
	root := os.Getenv(childRoot)
	if root == "" {
		return
	}
	in := bufio.NewReader(os.Stdin)
	c := &clock{at: someDay}
	d := Open(root, Options{Clock: c.now})
	d.stepped = func(step string) {
		fmt.Println(childMark + step)
		if _, err := in.ReadByte(); err != nil {
			select {} // the parent kills us soon
		}
	}
	tasks[os.Getenv(childTask)](t, d)
}

// startChild starts a child at work in a folder.
func startChild(t *testing.T, root, task string) (*exec.Cmd, io.WriteCloser, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
	cmd.Env = append(os.Environ(), childRoot+"="+root, childTask+"="+task)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewScanner(out)
}

// killAt runs a task and kills it at its nth step; false if it had fewer.
func killAt(t *testing.T, root, task string, n int) (step string, killed bool) {
	t.Helper()
	cmd, in, out := startChild(t, root, task)
	defer cmd.Wait()
	for out.Scan() {
		name, ok := strings.CutPrefix(out.Text(), childMark)
		if !ok {
			continue
		}
		if n == 0 {
			cmd.Process.Kill()
			return name, true
		}
		n--
		fmt.Fprint(in, "x")
	}
	return "", false
}

// state is all notes of a folder, as a reader sees them.
func state(t *testing.T, d *Dir) string {
	t.Helper()
	files, err := d.read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return formatFiles(files)
}

func formatFiles(files version) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name].there {
			fmt.Fprintf(&b, "== %s\n%s", name, files[name].text)
		}
	}
	return b.String()
}

// onDisk is all notes of a folder as they lie there.
func onDisk(t *testing.T, d *Dir) string {
	t.Helper()
	files, err := Open(d.root, Options{}).readFiles(t.Context(), mark{Done: true})
	if err != nil {
		t.Fatal(err)
	}
	return formatFiles(files)
}

func TestKilledAtEveryStep(t *testing.T) {
	for task := range tasks {
		t.Run(task, func(t *testing.T) {
			t.Parallel()
			d, _ := folderOf(t, dreamHome)
			old := state(t, d)
			whole, _ := folderOf(t, dreamHome)
			if _, killed := killAt(t, whole.root, task, 1<<30); killed {
				t.Fatal("it was killed")
			}
			fresh := state(t, whole)
			if old == fresh {
				t.Fatal("it changes nothing")
			}
			seen := make(map[string]bool)
			for n := 0; ; n++ {
				d, _ := folderOf(t, dreamHome)
				step, killed := killAt(t, d.root, task, n)
				if !killed {
					break
				}
				want := old
				if step == "committed" || step == "applying" || step == "applied" {
					want = fresh
				}
				if got := state(t, d); got != want {
					t.Errorf("killed at %s a reader sees\n%s\nwant\n%s", step, got, want)
				}
				if err := d.locked(t.Context(), func() error { return nil }); err != nil {
					t.Errorf("killed at %s: %v", step, err)
				}
				if got := onDisk(t, d); got != want {
					t.Errorf("killed at %s the next one leaves\n%s\nwant\n%s", step, got, want)
				}
				seen[step] = true
			}
			for _, step := range []string{"written", "committed", "applying", "applied"} {
				if !seen[step] {
					t.Errorf("it was not killed at %s", step)
				}
			}
			if most := map[string]int{"dream": 8, "advised": 8, "learn": 5}[task]; most > 0 && len(seen) != most {
				t.Errorf("it was killed at %v", seen)
			}
		})
	}
}

// TestConcurrentDreams starts two consolidations concurrently: one runs, the other reports the
// lock.
func TestConcurrentDreams(t *testing.T) {
	d, _ := folderOf(t, dreamHome)
	var work sync.WaitGroup
	outputs := make([]string, 2)
	for i := range outputs {
		work.Go(func() {
			cmd, in, out := startChild(t, d.root, "dream")
			defer cmd.Wait()
			for out.Scan() {
				outputs[i] += out.Text() + "\n"
				if strings.HasPrefix(out.Text(), childMark) {
					fmt.Fprint(in, "x")
				}
			}
		})
	}
	work.Wait()
	all := outputs[0] + outputs[1]
	won := strings.Count(all, `dreamt: ""`)
	lost := strings.Count(all, `dreamt: "lock"`) + strings.Count(all, `dreamt: "time"`) // the second started after the first was done
	if won != 1 || lost != 1 {
		t.Errorf("the notes are\n%s", all)
	}
	if changes, err := d.Changes(); err != nil || len(changes) != 1 {
		t.Errorf("there are %d changes, %v", len(changes), err)
	}
}

// TestStaleDreamLockExpires keeps the lock of one that was killed for an
// hour, and no longer.
func TestStaleDreamLockExpires(t *testing.T) {
	d, c := folderOf(t, dreamHome)
	if step, _ := killAt(t, d.root, "dream", 1); step != PhaseGather {
		t.Fatalf("killed at %s", step)
	}
	dreamer := &Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}
	dream, err := dreamer.Dream(t.Context(), DreamOptions{})
	if err != nil || dream.Shut != GateLock || !strings.Contains(dream.Why, "since 2026-08-05T10:00:00Z") {
		t.Errorf("immediately: %+v, %v", dream, err)
	}
	c.pass(time.Hour)
	if dream, err = dreamer.Dream(t.Context(), DreamOptions{}); err != nil || dream.Shut != "" {
		t.Errorf("an hour later: %+v, %v", dream, err)
	}
}

// TestManyWriters has goroutines and a person write concurrently: no acknowledged note is
// lost, and none that the person wrote.
func TestManyWriters(t *testing.T) {
	d, _ := folderOf(t, nil)
	other := Open(d.root, Options{Clock: d.clock})
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for j := range 5 {
				dir := d
				if i%2 == 0 {
					dir = other
				}
				if _, err := dir.Remember(t.Context(), Draft{Text: fmt.Sprintf("fact number %d of writer %d", j, i)}); err != nil {
					t.Error(err)
				}
				if _, err := dir.Remember(t.Context(), Draft{Name: fmt.Sprintf("Note %d %d", i, j), Text: "Text."}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	notes, err := d.Notes(t.Context())
	if err != nil || len(notes) != 41 {
		t.Errorf("there are %d notes, %v", len(notes), err)
	}
	if day, err := d.Note(t.Context(), someDay.Format(dayFormat)); err != nil || len(day.Facts()) != 40 {
		t.Errorf("there are %d facts, %v", len(day.Facts()), err)
	}
	index, err := d.Index(t.Context())
	if err != nil || strings.Count(index, "](memory/") != 40 {
		t.Errorf("the index has %d lines, %v", strings.Count(index, "\n"), err)
	}
}

// TestEditWhileApplying keeps an edit made between the commit and the replacement of a
// file.
func TestEditWhileApplying(t *testing.T) {
	d, _ := folderOf(t, dreamHome)
	d.stepped = func(step string) {
		if step == "committed" {
			writeFile(t, d.root, "memory/extracted.md", "- by hand, in the last moment\n")
		}
	}
	if _, err := (&Dreamer{Dir: d, Sessions: sessionsOf(fiveTalks())}).Dream(t.Context(), DreamOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := fileText(t, d, "memory/extracted.md"); got != "- by hand, in the last moment\n" {
		t.Errorf("it is %q", got)
	}
}
