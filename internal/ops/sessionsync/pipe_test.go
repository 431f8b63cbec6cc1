package sessionsync

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// openTestPipe returns a pipe to a folder of this process.
func openTestPipe(t *testing.T, folder Folder) *Pipe {
	t.Helper()
	questions, ask := io.Pipe()
	answers, reply := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := ServePipe(context.Background(), folder, questions, reply)
		reply.CloseWithError(err)
		done <- err
	}()
	t.Cleanup(func() {
		ask.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	p, err := OpenPipe(io.MultiReader(strings.NewReader("Welcome to nas\r\n"), answers), ask, nil)
	check(t, err)
	return p
}

// TestPipe uses a folder through a pipe: names outside of it are refused, and errors have their
// kinds.
func TestPipe(t *testing.T) {
	ctx := context.Background()
	folder := Folder{FS: vfs.OS{}, Dir: filepath.Join(t.TempDir(), "folder")}
	check(t, os.Mkdir(folder.Dir, 0o700))
	check(t, os.WriteFile(filepath.Join(folder.Dir, "..", "secret"), []byte("x"), 0o600))
	p := openTestPipe(t, folder)
	large := bytes.Repeat([]byte("data\n"), 100_000)
	for name, data := range map[string][]byte{markFile: []byte(mark), "manifests/m/1": large, "pieces/aa/b": nil} {
		check(t, p.Put(ctx, name, data))
		check(t, p.Put(ctx, name, []byte("other"))) // it exists
		if got, err := p.Get(ctx, name); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s has %d bytes, %v", name, len(got), err)
		}
	}
	check(t, os.WriteFile(filepath.Join(folder.Dir, "manifests", "file"), nil, 0o600))
	names, err := p.All(ctx)
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"manifests/file", "manifests/m/1", "pieces/aa/b"}) {
		t.Errorf("the names are %q, %v", names, err)
	}
	if _, err := p.Get(ctx, "pieces/aa/none"); !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := p.Get(ctx, "manifests/file/x"); err == nil {
		t.Error("a file below a file was read")
	}
	for _, name := range []string{"../secret", "/etc/passwd", "secret", "pieces/../../secret", "pieces/aa/.tmp-1", "pieces/.aa/x", "pieces/aa/b/c", "pieces/aa/b\\c", "manifests//x", ""} {
		if _, err := p.Get(ctx, name); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("read %q: %v", name, err)
		}
		if err := p.Put(ctx, name, []byte("x")); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("wrote %q: %v", name, err)
		}
	}
	if _, err := p.ask(ctx, question{Op: "delete", Name: markFile}, nil); !errors.Is(err, firn.ErrInvalid) || !strings.Contains(err.Error(), "too old") {
		t.Errorf("an unknown operation: %v", err)
	}
}

// TestPipeEnds cuts the answers of the other side after every byte: each call ends with
// ErrUnavailable, or with the whole answer.
func TestPipeEnds(t *testing.T) {
	const whole = greeting + "\n" + `{"size":5}` + "\nhello"
	for n := range len(whole) + 1 {
		p, err := OpenPipe(strings.NewReader(whole[:n]), io.Discard, nil)
		var data []byte
		if err == nil {
			data, err = p.Get(context.Background(), "x")
		}
		if n < len(whole) && !errors.Is(err, firn.ErrUnavailable) || n == len(whole) && (err != nil || string(data) != "hello") {
			t.Errorf("cut after %d bytes: %q, %v", n, data, err)
		}
	}
	for _, noise := range []string{strings.Repeat("x\n", 1000), strings.Repeat("x", maxLine+1)} {
		if _, err := OpenPipe(strings.NewReader(noise), io.Discard, nil); !errors.Is(err, firn.ErrUnavailable) {
			t.Errorf("something else answered: %v", err)
		}
	}
}

// FuzzPipe sends any bytes as questions, and reads any bytes as answers. Nothing is written
// outside of the folder.
func FuzzPipe(f *testing.F) {
	f.Add([]byte(`{"op":"list"}` + "\n" + `{"op":"put","name":"pieces/aa/b","size":3}` + "\nabc" + `{"op":"get","name":"pieces/aa/b"}` + "\n"))
	f.Add([]byte(`{"size":-1}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		root := t.TempDir()
		folder := Folder{FS: vfs.OS{}, Dir: filepath.Join(root, "folder")}
		check(t, os.Mkdir(folder.Dir, 0o700))
		_ = ServePipe(context.Background(), folder, bytes.NewReader(data), io.Discard) // any error will do
		if all, err := os.ReadDir(root); err != nil || len(all) != 1 {
			t.Errorf("%q wrote %v, %v", data, all, err)
		}
		p := &Pipe{in: bufio.NewReaderSize(bytes.NewReader(data), maxLine), out: io.Discard}
		for range 3 {
			_, _ = p.All(context.Background()) // any error will do
		}
	})
}
