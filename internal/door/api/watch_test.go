package api_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/door/api"
)

// lockOf returns the lock file of a home.
func lockOf(home string) string { return filepath.Join(home, "gateway", "lock") }

// TestLostLock checks that a gateway whose lock file or gateway directory was deleted still
// blocks a second one and recreates the file.
func TestLostLock(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	at := serve(t, api.ServeOptions{Handler: s.http, WatchEvery: time.Millisecond})
	for name, lose := range map[string]func() error{
		"deleted": func() error { return os.Remove(lockOf(at.home)) },
		"with its directory": func() error {
			for os.RemoveAll(filepath.Dir(lockOf(at.home))) != nil { // it may be recreated meanwhile
			}
			return nil
		},
		"replaced": func() error {
			other := filepath.Join(at.home, "other")
			return errors.Join(os.WriteFile(other, nil, 0o600), os.Rename(other, lockOf(at.home)))
		},
	} {
		if err := lose(); err != nil {
			t.Fatal(err)
		}
		if _, err := api.LockHome(vfs.OS{}, at.home, "second"); !errors.Is(err, firn.ErrLocked) {
			t.Errorf("%s: a second one got %v", name, err)
		}
		for { // until it is recreated
			if data, _ := os.ReadFile(lockOf(at.home)); strings.Contains(string(data), `"what":"gateway"`) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// TestLostHome checks that a gateway shuts down if another process takes its lock, which is
// possible where a home directory cannot be locked.
func TestLostHome(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	home := shortDir(t)
	hold, err := api.LockHome(onlyFiles{vfs.OS{}}, home, "gateway")
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Release()
	if err := os.Remove(lockOf(home)); err != nil {
		t.Fatal(err)
	}
	second, err := api.LockHome(onlyFiles{vfs.OS{}}, home, "second")
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	o := api.ServeOptions{Handler: s.http, Home: home, Lock: hold, Socket: api.SocketPath(home), WatchEvery: time.Millisecond}
	if err := api.Serve(t.Context(), o); !errors.Is(err, firn.ErrLocked) {
		t.Errorf("it ended with %v", err)
	}
}

// onlyFiles is a file system that cannot lock directories.
type onlyFiles struct{ vfs.FS }

// TestLostSocket checks that a deleted socket is recreated. A socket of another process in
// its place is not touched, even at the end, and the gateway is not ready meanwhile.
func TestLostSocket(t *testing.T) {
	s := newFakeServer(t, api.Config{})
	at := serve(t, api.ServeOptions{Handler: s.http, WatchEvery: time.Millisecond})
	healthy := func() bool {
		conn, err := net.Dial("unix", at.Socket)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
	for range 3 {
		if err := os.Remove(at.Socket); err != nil {
			t.Fatal(err)
		}
		for !healthy() {
			time.Sleep(time.Millisecond)
		}
		if line, err := dial(t, at.Socket, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Errorf("%q %v", line, err)
		}
	}
	side := at.Socket + "2"
	other, err := net.Listen("unix", side)
	if err == nil {
		err = os.Rename(side, at.Socket)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for s.owner("GET", "/readyz").status != 503 {
		time.Sleep(time.Millisecond)
	}
	if got := s.owner("GET", "/readyz"); !strings.Contains(got.body, "another process listens") {
		t.Errorf("got %s", got.body)
	}
	at.end(t)
	if _, err := os.Stat(at.Socket); err != nil {
		t.Errorf("the socket of another process was removed: %v", err)
	}
}
