package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/formats/adopt"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
)

const mirroredID = "aaaa1111-0000-4000-8000-000000000001"

// mirroring creates a home with a mirror of one session and returns the mirrored file.
func mirroring(t *testing.T) (home, file string) {
	t.Helper()
	home, theirs := t.TempDir(), t.TempDir()
	name := filepath.Join("sessions", "--x--", "2026-01-02T03-04-05-000Z_"+mirroredID+".jsonl")
	if err := os.MkdirAll(filepath.Join(theirs, filepath.Dir(name)), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"type":"session","version":3,"id":"` + mirroredID + `","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/x"}` + "\n" +
		`{"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"hello","timestamp":1}}` + "\n"
	if err := os.WriteFile(filepath.Join(theirs, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tool, _ := dialects.Find(string(dialect.Pi))
	dir := filepath.Join(home, sourcesDir, "pi-1")
	m := &adopt.Mirror{Tool: tool, Home: theirs, Dir: dir, FS: vfs.OS{}, Now: time.Now}
	if _, err := m.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	return home, filepath.Join(dir, name)
}

// TestMirrors checks that a home with a mirror has no findings, and that a mirrored session
// can be verified.
func TestMirrors(t *testing.T) {
	home, file := mirroring(t)
	look := func(faults, findings int) {
		t.Helper()
		target, err := OpenHome(nil, home)
		if err != nil {
			t.Fatal(err)
		}
		report, err := Examine(t.Context(), target, Options{Disk: func(string) (Disk, error) { return Disk{Free: 1 << 40, Total: 1 << 41}, nil }})
		if err != nil || report.Faults != faults || len(report.Findings) != findings || report.Sessions != 1 {
			t.Errorf("the home: %+v, %v", report, err)
		}
		one, err := Find(nil, home, mirroredID[:6])
		if err != nil {
			t.Fatal(err)
		}
		report, err = Verify(t.Context(), one, Options{})
		if err != nil || report.Faults != faults || report.Sessions != 1 || report.Bytes == 0 {
			t.Errorf("the session: %+v, %v", report, err)
		}
	}
	look(0, 0)
	taking := filepath.Join(home, sourcesDir, takingDir)
	if err := os.MkdirAll(taking, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(taking, mirroredID), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	look(0, 1)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	look(1, 2)
}
