//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// gateway is firn serve as a process that is restarted repeatedly.
type gateway struct {
	program, dir, home, socket string
	port                       int
	log                        *os.File

	mu    sync.Mutex
	life  *life
	shift time.Duration
	// descriptors is the open file limit of the next process; 0 means the default.
	descriptors uint64
	// lives is the number of processes so far.
	lives int
}

// life is one process.
type life struct {
	pid  int
	cmd  *exec.Cmd
	warp *warp
	// done is closed when the process has ended; err is its result then.
	done chan struct{}
	err  error
}

// newGateway writes the settings of a home: the addresses and the given settings. The
// socket is in a directory with a short path.
func newGateway(o options, home, settings string) (*gateway, error) {
	g := &gateway{program: o.Program, dir: o.Dir, home: home, socket: filepath.Join(o.Dir, "s")}
	var err error
	if g.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(home, "firn.toml"), []byte(g.listening()+settings), 0o600); err != nil {
		return nil, err
	}
	g.log, err = os.OpenFile(filepath.Join(o.Dir, "gateway.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return g, err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// listening returns the address settings.
func (g *gateway) listening() string {
	return fmt.Sprintf(`[gateway]
socket = %q
listen = "127.0.0.1:%d"
heartbeat = "1s"
drain = "5s"
resident = "16mb"
`, g.socket, g.port)
}

// address returns the TCP address.
func (g *gateway) address() string { return fmt.Sprintf("http://127.0.0.1:%d", g.port) }

// env returns the environment of firn processes. It does not inherit the environment of
// this process.
func (g *gateway) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "FIRN_HOME=" + g.home, "SOAK_KEY=none", "FIRN_GATEWAY=unix:" + g.socket}
}

// start starts the gateway, and returns when it is listening.
func (g *gateway) start() error {
	cmd := exec.Command(g.program, "serve", "--json")
	cmd.Env = g.env()[:4]
	cmd.Stderr = g.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Ptrace: canWarp == "", Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	l := &life{cmd: cmd, done: make(chan struct{})}
	begun := make(chan error, 1)
	g.mu.Lock()
	shift, descriptors := g.shift, g.descriptors
	g.mu.Unlock()
	go l.live(shift, descriptors, begun)
	if err := <-begun; err != nil {
		return fmt.Errorf("start the gateway: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, `"address"`) {
		_ = cmd.Process.Kill()
		return fmt.Errorf("the gateway does not listen: %w, %s", err, line)
	}
	go io.Copy(io.Discard, out)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.life = l
	g.lives++
	return nil
}

// live runs the process from start to end on one thread: the thread that traces a process
// must be the one that resumes it, and the process dies with its parent.
func (l *life) live(shift time.Duration, descriptors uint64, begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(l.done)
	if err := l.cmd.Start(); err != nil {
		begun <- err
		return
	}
	l.pid = l.cmd.Process.Pid
	if canWarp == "" {
		if err := l.prepare(shift, descriptors); err != nil {
			_ = l.cmd.Process.Kill()
			begun <- err
			return
		}
		defer l.warp.close()
	}
	begun <- nil
	l.err = l.cmd.Wait()
}

// prepare shifts the clock and lowers the limits of a stopped process, and lets it start.
func (l *life) prepare(shift time.Duration, descriptors uint64) (err error) {
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(l.pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	if err != nil || !status.Stopped() {
		return fmt.Errorf("wait for its beginning: %w", err)
	}
	if l.warp, err = newWarp(l.pid); err == nil {
		err = l.warp.set(shift)
	}
	return errors.Join(err, l.limit(descriptors), syscall.PtraceDetach(l.pid))
}

// setClock shifts the clock of the current and later processes.
func (g *gateway) setClock(shift time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shift = shift
	return g.life.warp.set(shift)
}

// now returns the current process and its number.
func (g *gateway) now() (*life, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.life, g.lives
}

// kill kills the process immediately.
func (g *gateway) kill() error {
	l, _ := g.now()
	if err := syscall.Kill(l.pid, syscall.SIGKILL); err != nil {
		return err
	}
	<-l.done
	return nil
}

// stop stops the process, and returns an error if it does not exit cleanly.
func (g *gateway) stop() error {
	l, _ := g.now()
	if err := syscall.Kill(l.pid, syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-l.done:
	case <-time.After(time.Minute):
		_ = syscall.Kill(l.pid, syscall.SIGABRT) // writes its goroutines to its log
		<-l.done
		return errors.New("the gateway did not end within a minute of being asked to")
	}
	if l.err != nil {
		return fmt.Errorf("stop the gateway: %w", l.err)
	}
	return nil
}

// command runs firn against the gateway, and returns its output.
func (g *gateway) command(args ...string) (string, error) { return g.run(g.env(), args) }

// commandAlone runs firn on the home, without naming a gateway.
func (g *gateway) commandAlone(args ...string) (string, error) { return g.run(g.env()[:4], args) }

func (g *gateway) run(env, args []string) (string, error) {
	cmd := exec.Command(g.program, args...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// end kills the process if it still runs.
func (g *gateway) end() {
	l, _ := g.now()
	if l == nil {
		return // it never started
	}
	select {
	case <-l.done:
	default:
		_ = g.kill()
	}
}
