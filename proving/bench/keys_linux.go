package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	// tokenPause makes 200 tokens per second, keyPause is the time between key presses, and
	// keyPresses their number.
	tokenPause = 5 * time.Millisecond
	keyPause   = 15 * time.Millisecond
	keyPresses = 600
	// keyWait is the longest time that a key may take before the measurement fails.
	keyWait = 30 * time.Second
)

// keys measures the chat in a pseudo-terminal: the time from a key press until the terminal
// has received the input line with it, while an answer streams at 200 tokens per second.
func (b *bench) keys() error {
	dir, err := os.MkdirTemp(b.dir, "keys-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := buildProgram(dir)
	if err != nil {
		return err
	}
	var tokens atomic.Int64
	server := httptest.NewServer(streamTokens(&tokens))
	defer server.Close()
	t, err := openChat(program, dir, server.URL)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.await("› "); err != nil {
		return err
	}
	if err := errors.Join(t.press("tell me\r"), t.await("snow")); err != nil {
		return err
	}
	begun, from := time.Now(), tokens.Load()
	took, err := t.typeKeys()
	if err != nil {
		return err
	}
	rate := float64(tokens.Load()-from) / time.Since(begun).Seconds()
	b.note("chat: key press to the terminal while an answer streams, p50 / p99", took.String())
	b.note("chat: tokens per second meanwhile", fmt.Sprintf("%.0f", rate))
	p99 := took.part(99)
	b.want("chat: key press to the terminal at 200 tokens per second, p99", ms(p99), "≤ 16 ms", p99 <= 16*time.Millisecond)
	return nil
}

// streamTokens returns a Chat Completions server whose answers do not end.
func streamTokens(sent *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the request does not matter
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(tokenPause)
		defer tick.Stop()
		for n := 1; ; n++ {
			token := "snow "
			switch {
			case n%60 == 0:
				token = "\n\n"
			case n%17 == 0:
				token = "**deep** "
			}
			fmt.Fprintf(w, "data: {\"id\":\"1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":%s}}]}\n\n", strconv.Quote(token))
			w.(http.Flusher).Flush()
			sent.Add(1)
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}

// terminal is a chat in a pseudo-terminal.
type terminal struct {
	cmd  *exec.Cmd
	user *os.File
	// output receives what the program sends, until it ends.
	output chan []byte
	// rest is the output after the last awaited text.
	rest []byte
}

// openChat starts a chat in a pseudo-terminal of 100 by 30.
func openChat(program, home, server string) (*terminal, error) {
	user, tty, err := openPseudoTerminal()
	if err != nil {
		return nil, err
	}
	defer tty.Close()
	t := &terminal{cmd: exec.Command(program, "chat", "-m", "openai/snow", "--no-tools"), user: user, output: make(chan []byte, 1024)}
	t.cmd.Dir, t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = home, tty, tty, tty
	t.cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=", "OPENAI_BASE_URL="+server, "OPENAI_API_KEY=k", "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := t.cmd.Start(); err != nil {
		return nil, errors.Join(err, user.Close())
	}
	go func() {
		defer close(t.output)
		for {
			chunk := make([]byte, 64<<10)
			n, err := user.Read(chunk)
			if err != nil {
				return
			}
			t.output <- chunk[:n]
		}
	}()
	return t, nil
}

// openPseudoTerminal opens both ends of a new pseudo-terminal.
func openPseudoTerminal() (user, tty *os.File, err error) {
	if user, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	var number, locked int32
	size := [4]uint16{30, 100, 0, 0}
	for _, set := range []struct {
		request uintptr
		value   unsafe.Pointer
	}{{syscall.TIOCSPTLCK, unsafe.Pointer(&locked)}, {syscall.TIOCGPTN, unsafe.Pointer(&number)}, {syscall.TIOCSWINSZ, unsafe.Pointer(&size)}} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, user.Fd(), set.request, uintptr(set.value)); errno != 0 {
			return nil, nil, errors.Join(errno, user.Close())
		}
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, errors.Join(err, user.Close())
	}
	return user, tty, nil
}

// close kills the chat.
func (t *terminal) close() {
	_ = t.cmd.Process.Kill() // it may have ended
	_ = t.cmd.Wait()
	for range t.output {
	}
	_ = t.user.Close()
}

func (t *terminal) press(keys string) error {
	_, err := io.WriteString(t.user, keys)
	return err
}

// await waits until the program sends a text.
func (t *terminal) await(text string) error {
	timeout := time.After(keyWait)
	for {
		if i := bytes.Index(t.rest, []byte(text)); i >= 0 {
			t.rest = t.rest[i+len(text):]
			return nil
		}
		select {
		case chunk, ok := <-t.output:
			if !ok {
				return fmt.Errorf("the chat ended; it sent %q", t.rest)
			}
			t.rest = append(t.rest, chunk...)
		case <-timeout:
			return fmt.Errorf("the chat did not send %q", text)
		}
	}
}

// typeKeys presses keys and returns how long each took. The input line is redrawn as a
// whole, so that its new content is awaited.
func (t *terminal) typeKeys() (*samples, error) {
	took := &samples{}
	typed := "› "
	for n := range keyPresses {
		if n%40 == 39 { // an empty line
			if err := t.press("\x15"); err != nil {
				return nil, err
			}
			typed = "› "
			time.Sleep(keyPause)
		}
		letter := string(rune('a' + n%26))
		typed += letter
		t.discard()
		begun := time.Now()
		if err := errors.Join(t.press(letter), t.await(typed)); err != nil {
			return nil, err
		}
		took.all = append(took.all, time.Since(begun))
		time.Sleep(keyPause)
	}
	return took, nil
}

// discard drops the output up to now.
func (t *terminal) discard() {
	t.rest = t.rest[:0]
	for {
		select {
		case _, ok := <-t.output:
			if !ok {
				return
			}
		default:
			return
		}
	}
}
