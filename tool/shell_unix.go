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

// defaultShell runs commands.
var defaultShell = []string{"sh", "-c"}

// watch is the script of a process group's leader. It ignores signals to terminate. When
// its input is closed because this process has died, it kills the whole group and itself,
// so that a command does not outlive this process. Its name is the mark of the command,
// which it uses to find processes that left the group.
const watch = `trap "" HUP INT TERM; read line` + strays + `
kill -KILL 0`

// markName is the environment variable that marks the processes of a command.
const markName = "FIRN_COMMAND"

// processGroup is the process group of a command and all its children that do not leave it.
type processGroup struct {
	id int
	// mark is in the environment of all processes of the command, as name=value.
	mark string
	// watcher is the group leader. Line is its input, which is never written to.
	watcher *exec.Cmd
	line    *os.File
}

// startGroup starts the command in its own process group. Without a shell to run the
// watcher, the command itself is the group leader and survives if this process is killed.
func startGroup(cmd *exec.Cmd, _ []string, _ string) (*processGroup, error) {
	g := &processGroup{mark: markName + "=" + rand.Text()}
	g.startWatcher()
	cmd.Env = append(slices.Clip(cmd.Env), g.mark)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: g.id}
	if err := cmd.Start(); err != nil {
		g.kill()
		g.close()
		return nil, err
	}
	if g.id == 0 {
		g.id = cmd.Process.Pid
	}
	return g, nil
}

// startWatcher creates the group, if possible.
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

// terminate sends SIGTERM to the group.
func (g *processGroup) terminate() { g.signal(syscall.SIGTERM) }

// kill sends SIGKILL to the group.
func (g *processGroup) kill() { g.signal(syscall.SIGKILL) }

// sweepRounds limits the number of searches for strays. Each round may find processes that
// were started during the previous one.
const sweepRounds = 10

// endStrays kills the processes of the command that left the group.
func (g *processGroup) endStrays() {
	for range sweepRounds {
		if killStrays(g.mark) == 0 {
			return
		}
	}
}

// signal sends a signal to the group, whose ID remains valid while it has members. An empty
// group is not an error.
func (g *processGroup) signal(s syscall.Signal) {
	if g.id > 0 {
		_ = syscall.Kill(-g.id, s)
	}
}

// close releases the group after it was killed.
func (g *processGroup) close() {
	g.endStrays()
	if g.watcher != nil {
		g.line.Close()
		_ = g.watcher.Wait()
	}
}

// abandon makes reads from r fail immediately.
func abandon(r *os.File) { _ = r.SetReadDeadline(time.Unix(1, 0)) }

// waitCopied waits for the reader that abandon stopped.
func waitCopied(copied <-chan struct{}) { <-copied }
