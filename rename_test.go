package firn_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// outside is a program of another module that uses the renamed library.
const outside = `package main

import (
	"context"
	"fmt"

	"example.org/firn"
	"example.org/firn/store"
	"example.org/firn/store/memstore"
)

func main() {
	ctx := context.Background()
	st := memstore.New(memstore.Options{})
	id, err := store.LoadOrCreate(ctx, st, "agent:main:main")
	if err == nil {
		_, err = st.Append(ctx, id, store.Any, firn.UserText("hello"))
	}
	fmt.Println(err)
}
`

// TestRenameModule renames a copy of the module with the script that CONTRIBUTING
// names, vets the public packages there, and builds a module that requires it.
func TestRenameModule(t *testing.T) {
	if _, err := exec.LookPath("perl"); err != nil {
		t.Fatalf("the script needs perl: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "firn")
	copyCheckout(t, dir)
	run := func(dir, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		// The other flags stay: with them the dependencies are compiled already.
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run(dir, "bash", "tools/rename-module.sh", "example.org/firn")
	if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err != nil || !strings.HasPrefix(string(mod), "module example.org/firn\n") {
		t.Fatalf("the module is %.40q, %v", mod, err)
	}
	run(dir, "go", "vet", ".", "./store", "./store/filestore", "./store/memstore", "./window", "./provider/...", "./tool", "./agent", "./compact", "./wire", "./client", "./examples/...")

	user := filepath.Join(t.TempDir(), "user")
	if err := os.MkdirAll(user, 0o755); err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":  "module example.org/user\n\ngo 1.26.0\n\nrequire example.org/firn v0.0.0\n\nreplace example.org/firn => " + dir + "\n",
		"go.sum":  string(sum),
		"main.go": outside,
	} {
		if err := os.WriteFile(filepath.Join(user, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run(user, "go", "vet", "./...")
	if out := run(user, "go", "run", "."); out != "<nil>\n" {
		t.Errorf("the outside program printed %q", out)
	}
}

// copyCheckout copies the sources of the module, without the files that only tests and npm
// need.
func copyCheckout(t *testing.T, to string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case ".git", "node_modules", "testdata", "bin", "dist":
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() || strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
}
