package interop

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// workshop is the build directory of the command.
var workshop string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "firn-interop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	workshop = dir
	code := m.Run()
	os.RemoveAll(dir) // temporary files
	os.Exit(code)
}

// build builds the command once.
var build = sync.OnceValues(func() (string, error) {
	name := filepath.Join(workshop, "firn")
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := lookAtSources(); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", name, "firn.dev/cmd/firn").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build firn: %w\n%s", err, out)
	}
	return name, nil
})

// lookAtSources stats every source file of the command, so that Go's test cache notices
// changes.
func lookAtSources() error {
	return filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return fs.SkipDir
		case filepath.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			_, err = os.Stat(name)
		}
		return err
	})
}

// runFirn runs a firn command on a home and returns its output.
func runFirn(t *testing.T, home string, args ...string) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return run(t, t.TempDir(), plainEnv(t.TempDir()), program, append([]string{"--home", home}, args...)...)
}

// askFirn runs a firn command and decodes its JSON output.
func askFirn(t *testing.T, into any, home string, args ...string) {
	t.Helper()
	out := runFirn(t, home, append([]string{"--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("firn %q prints no JSON: %v\n%.2000s", args, err, out)
	}
}

// handed is the result of firn handoff.
type handed struct {
	File   string
	CWD    string
	Resume []string
}

// handoff hands the session to a tool with the given folder.
func (s *session) handoff(t *testing.T, tool, folder, cwd string) handed {
	t.Helper()
	var h handed
	askFirn(t, &h, s.home, "handoff", string(s.id), "--to", tool, "--folder", folder, "--cwd", cwd)
	return h
}

// imported is the result of firn import.
type imported struct {
	Session struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	} `json:"session"`
	Added    int `json:"added"`
	Fidelity struct {
		Entries int `json:"entries"`
		Damaged int `json:"damaged"`
	} `json:"fidelity"`
}

// importFile imports a transcript into a home.
func importFile(t *testing.T, home, file string) imported {
	t.Helper()
	var all []imported
	askFirn(t, &all, home, "import", file)
	if len(all) != 1 {
		t.Fatalf("firn imported %d sessions of %s, want one", len(all), file)
	}
	return all[0]
}
