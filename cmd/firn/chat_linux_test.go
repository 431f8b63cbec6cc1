package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"firn.dev/internal/term/line/linetest"
)

// TestChatAtATerminal sits at a real terminal and presses real keys.
func TestChatAtATerminal(t *testing.T) {
	home, server := t.TempDir(), newSlowServer(t)
	c := terminalChat(t, home, server, "-m", "openai/slow")
	c.out.Await("new session")
	c.out.Await("› ")
	c.types("hello")
	c.out.Await("one two ")
	c.types("and what is 6*7?")
	c.out.Await("(queued")
	c.types("/status")
	c.out.Await("(queued") // Ctrl-C does not discard input that was already read
	c.press(0x03)
	c.out.Await("stopped by the user")
	c.out.Await("one two ") // the next question
	c.press(0x03)
	c.out.Await("stopped by the user")
	c.out.Await("turns    2")
	c.out.Await("› ")
	c.types("/model firn/offline")
	c.out.Await("› ")
	c.types("and what is 6*7?")
	c.out.Await("· calc 6*7 …")
	c.out.Await("= 42")
	c.out.Await("on disk")
	c.out.Await("› ")
	c.press(0x03)
	c.out.Await("(Ctrl-C again exits")
	c.out.Await("› ")
	c.press(0x03)
	c.out.Await("everything is saved")
	if code := c.wait(); code != 130 {
		t.Errorf("it ended with %d: %s", code, c.out)
	}
	verify(t, home)

	c = terminalChat(t, home, server)
	c.out.Await("3 turns")
	c.out.Await("you: and what is 6*7?")
	c.out.Await("› ")
	c.press(0x04)
	if code := c.wait(); code != 0 {
		t.Errorf("Ctrl-D ended it with %d: %s", code, c.out)
	}
	if strings.Contains(c.out.String(), "\x1b[2m") {
		t.Error("a dumb terminal was shown dim text")
	}
}

// terminalChat starts a chat at its own terminal and records its output.
func terminalChat(t *testing.T, home string, server *slowServer, args ...string) *running {
	t.Helper()
	keys, tty := openTerminal(t)
	c := &running{t: t, home: home, out: linetest.NewRecorder(t), in: keys}
	c.cmd = c.command(args)
	c.cmd.Env = append(c.cmd.Env, "OPENAI_BASE_URL="+server.URL, "TERM=dumb")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = tty, tty, tty
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	seen := make(chan struct{})
	go func() {
		io.Copy(c.out, keys) // until the other side is closed
		close(seen)
	}()
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		<-seen
		keys.Close()
	})
	return c
}

// press presses a key.
func (c *running) press(key byte) {
	c.t.Helper()
	if _, err := c.in.Write([]byte{key}); err != nil {
		c.t.Fatal(err)
	}
}

// openTerminal makes a terminal: the side of the user, and that of the program.
func openTerminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	var number, locked int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, user.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return user, program
}
