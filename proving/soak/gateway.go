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

// gateway is firn serve, as a process that is started again and again.
type gateway struct {
	program, dir, home, socket string
	port                       int
	log                        *os.File

	mu    sync.Mutex
	life  *life
	shift time.Duration
	// descriptors is the limit of open files of the next process; 0: the usual one.
	descriptors uint64
	// lives is how many there were.
	lives int
}

// life is one process.
type life struct {
	pid  int
	cmd  *exec.Cmd
	warp *warp
	// done is closed when it ended, and then err says how.
	done chan struct{}
	err  error
}

// newGateway writes the settings of a home: where it listens, and what is given. The
// socket is where paths are short.
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

// listening is where it does.
func (g *gateway) listening() string {
	return fmt.Sprintf(`[gateway]
socket = %q
listen = "127.0.0.1:%d"
heartbeat = "1s"
drain = "5s"
resident = "16mb"
`, g.socket, g.port)
}

// address is where it is over TCP.
func (g *gateway) address() string { return fmt.Sprintf("http://127.0.0.1:%d", g.port) }

// env is the environment of our programs: nothing of ours.
func (g *gateway) env() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "FIRN_HOME=" + g.home, "SOAK_KEY=none", "FIRN_GATEWAY=unix:" + g.socket}
}

// start starts it, and returns when it listens.
func (g *gateway) start() error {
	cmd := exec.Command(g.program, "serve", "--json")
	cmd.Env = g.env()[:4]
	cmd.Stderr = g.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Ptrace: canWarp == ""}
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

// live runs the process from its beginning to its end, on one thread: who stops a
// process at its beginning must be who lets it go, and it dies with its parent.
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

// prepare moves the clock and lowers the limits of a process that has not begun, and lets it begin.
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

// setClock moves its clock, now and in later lives.
func (g *gateway) setClock(shift time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shift = shift
	return g.life.warp.set(shift)
}

// now is the life there is, and which it is.
func (g *gateway) now() (*life, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.life, g.lives
}

// kill ends it at once.
func (g *gateway) kill() error {
	l, _ := g.now()
	if err := syscall.Kill(l.pid, syscall.SIGKILL); err != nil {
		return err
	}
	<-l.done
	return nil
}

// stop asks it to end, and says what is wrong if it does not do so in peace.
func (g *gateway) stop() error {
	l, _ := g.now()
	if err := syscall.Kill(l.pid, syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-l.done:
	case <-time.After(time.Minute):
		_ = syscall.Kill(l.pid, syscall.SIGABRT) // its goroutines go to its log
		<-l.done
		return errors.New("the gateway did not end within a minute of being asked to")
	}
	if l.err != nil {
		return fmt.Errorf("the gateway was asked to end: %w", l.err)
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

// end ends whatever still runs.
func (g *gateway) end() {
	l, _ := g.now()
	if l == nil {
		return // it never began
	}
	select {
	case <-l.done:
	default:
		_ = g.kill()
	}
}
