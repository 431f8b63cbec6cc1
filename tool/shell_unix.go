//go:build unix

package tool

import (
	"crypto/rand"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// defaultShell is what runs commands.
var defaultShell = []string{"sh", "-c"}

// watch is what the first of a process group does: it hears no request to end, and
// when its input ends, because we are gone, it ends the whole group and itself. So a
// command does not go on behind our back when we are killed in the middle of it. Its
// name is the mark of the command, by which it finds what left the group.
const watch = `trap "" HUP INT TERM; read line` + strays + `
kill -KILL 0`

// markName is the variable in the environment of a command that marks what belongs
// to it.
const markName = "FIRN_COMMAND"

// processGroup is the process group of a command: of all that the command starts and that
// does not leave it on purpose.
type processGroup struct {
	id int
	// mark is in the environment of all that the command starts, as name=value.
	mark string
	// watcher is the first of the group, and line its input, which nobody writes to.
	watcher *exec.Cmd
	line    *os.File
}

// startGroup starts the command in a group of its own. Without a shell that can watch
// over the group the command is the first of it, and outlives us if we are killed.
func startGroup(cmd *exec.Cmd, _ []string, _ string) (*processGroup, error) {
	g := &processGroup{mark: markName + "=" + rand.Text()}
	g.startWatcher()
	cmd.Env = append(slices.Clip(cmd.Env), g.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	if err := cmd.Start(); err != nil {
		g.end()
		g.close()
		return nil, err
	}
	if g.id == 0 {
		g.id = cmd.Process.Pid
	}
	return g, nil
}

// startWatcher makes the group, unless that cannot be.
func (g *processGroup) startWatcher() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	watcher := exec.Command("sh", "-c", watch, g.mark)
	watcher.Dir, watcher.Env, watcher.Stdin = "/", []string{}, r
	watcher.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if watcher.Start() != nil {
		w.Close()
		return
	}
	g.id, g.watcher, g.line = watcher.Process.Pid, watcher, w
}

// ask asks all of the group to end.
func (g *processGroup) ask() { g.signal(syscall.SIGTERM) }

// end makes all of the group end.
func (g *processGroup) end() { g.signal(syscall.SIGKILL) }

// sweepRounds bounds how often strays are looked for: each round may find what one
// of the round before has just started.
const sweepRounds = 10

// endStrays makes end what the command started and what left the group.
func (g *processGroup) endStrays() {
	for range sweepRounds {
		if killStrays(g.mark) == 0 {
			return
		}
	}
}

// signal sends to the group, which keeps its number for as long as anyone is in it.
// That nobody is, is no failure.
func (g *processGroup) signal(s syscall.Signal) {
	if g.id > 0 {
		_ = syscall.Kill(-g.id, s)
	}
}

// close is called when the group was made to end, and lets go of its number.
func (g *processGroup) close() {
	g.endStrays()
	if g.watcher != nil {
		g.line.Close()
		_ = g.watcher.Wait()
	}
}

// abandon makes who reads from r stop at once.
func abandon(r *os.File) { _ = r.SetReadDeadline(time.Unix(1, 0)) }

// awaitAbandoned waits for who was made to stop.
func awaitAbandoned(copied <-chan struct{}) { <-copied }
