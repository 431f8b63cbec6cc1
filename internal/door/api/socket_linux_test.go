package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"firn.dev/internal/door/api"
)

// intruder is the variable that makes this test program only connect to sockets as another
// user.
const intruder = "FIRN_TEST_INTRUDER"

var _ = childAs(intruder, connectAsOtherUser)

// connectAsOtherUser connects to each socket named on its input, repeatedly until the next is named,
// and prints the responses at the end of the input.
func connectAsOtherUser() {
	names := make(chan string)
	go func() {
		defer close(names)
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			names <- in.Text()
		}
	}()
	tries, answered := 0, ""
	name, ok := <-names
	fmt.Println("ready")
	for ok {
		select {
		case name, ok = <-names:
		default:
			if conn, err := net.Dial("unix", name); err == nil {
				conn.SetDeadline(time.Now().Add(5 * time.Second)) //nolint:errcheck // it can
				io.WriteString(conn, "GET /v1/sessions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				rest, _ := io.ReadAll(conn)
				answered += string(rest) + "\n"
				conn.Close()
			}
			tries++
		}
	}
	fmt.Println(tries, answered)
}

// asOtherUser runs intrude as the system user with the fewest rights.
func asOtherUser(t *testing.T) (in io.WriteCloser, out *bufio.Reader) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test must run as root: only root can become another user")
	}
	exe, err := os.Open("/proc/self/exe") // that user cannot reach it by its path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { exe.Close() })
	cmd := exec.Command("/proc/self/fd/3", "-test.run=^$")
	cmd.Env = []string{intruder + "=1"}
	cmd.Dir, cmd.Stderr, cmd.ExtraFiles = "/", os.Stderr, []*os.File{exe}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	in, err = cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() }) //nolint:errcheck // it has printed all
	return in, bufio.NewReader(stdout)
}

// TestSocketIsNeverAccessibleToOthers checks that with an empty umask and an accessible home,
// another user who connects continuously never succeeds while 25 gateways start.
func TestSocketIsNeverAccessibleToOthers(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	s := newFakeServer(t, api.Config{})
	home := shortDir(t)
	if err := os.Chmod(home, 0o777); err != nil {
		t.Fatal(err)
	}
	in, out := asOtherUser(t)
	fmt.Fprintln(in, api.SocketPath(home))
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	for range 25 {
		at := serve(t, api.ServeOptions{Handler: s.http, Home: home})
		if info, err := os.Stat(at.Socket); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the socket: %v %v", info, err)
		}
		at.end(t)
	}
	in.Close()
	reported, err := io.ReadAll(out)
	var tries int
	if _, scan := fmt.Sscan(string(reported), &tries); err != nil || scan != nil || tries == 0 {
		t.Fatalf("the intruder received %q, %v", reported, err)
	}
	if strings.Contains(string(reported), "HTTP/1.1") {
		t.Errorf("in %d tries it was answered: %s", tries, reported)
	}
}

// TestSocketOfAnotherUser checks that a socket with permissions for all still rejects other
// users, with an error that reveals nothing.
func TestSocketOfAnotherUser(t *testing.T) {
	h := openRealServer(t, shortDir(t))
	for path, mode := range map[string]os.FileMode{h.home: 0o755, h.Socket: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	in, out := asOtherUser(t)
	fmt.Fprintln(in, h.Socket)
	if line, err := out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	const peer = `firn_http_refused_total{reason="peer"}`
	for numberIn(t, string(h.set.Append(nil)), peer) < 3 {
		time.Sleep(time.Millisecond)
	}
	in.Close()
	reported, _ := io.ReadAll(out)
	if got := string(reported); !strings.Contains(got, "HTTP/1.1 403 ") || !strings.Contains(got, "belongs to another user") || strings.Contains(got, " 200 ") {
		t.Errorf("the intruder was answered %s", got)
	}
	if _, err := h.owner.Models(t.Context()); err != nil {
		t.Errorf("the owner: %v", err)
	}
}
