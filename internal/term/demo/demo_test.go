package demo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/serve"
	"firn.dev/internal/term/demo"
)

// open starts a gateway in this process.
func open(_ context.Context, home string, report func(string)) (*client.Client, func() error, error) {
	settings, err := config.Open("", nil, map[string]string{"home": home})
	if err != nil {
		return nil, nil, err
	}
	house, err := serve.Open(serve.Options{Settings: settings, Env: func(string) string { return "" }, Report: report})
	if err != nil {
		return nil, nil, err
	}
	local := client.InProcess(house.Own())
	c, err := client.New(client.Options{Transport: local})
	return c, func() error { return errors.Join(local.Close(), house.Close(context.Background())) }, err
}

// The complete demo is tested by testdata/script/demo.txtar with the real program.

// TestFailedStep checks that a failing step is reported, ends the demo, and that everything
// is cleaned up.
func TestFailedStep(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for want, program := range map[string][]string{
		"start the writer":               {filepath.Join(t.TempDir(), "no-such-program")},
		"the writer exited":              {self, "-test.run=^$"},
		"killed with SIGKILL mid-turn: ": {filepath.Join(t.TempDir(), "no-such-program")},
	} {
		temp := t.TempDir()
		t.Setenv("TMPDIR", temp)
		var lines []demo.Line
		report := func(l demo.Line) error {
			lines = append(lines, l)
			return nil
		}
		_, err := demo.Run(t.Context(), demo.Options{Open: open, OnLine: report, Program: program})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
		if n := len(lines); n != 3 || !lines[1].OK || lines[2].OK {
			t.Errorf("the story was %v", lines)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
	}
}

// TestOutputFails checks that the demo ends if its output fails.
func TestOutputFails(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	deaf := errors.New("no listener")
	_, err := demo.Run(t.Context(), demo.Options{Open: open, OnLine: func(demo.Line) error { return deaf }})
	if !errors.Is(err, deaf) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestKeepIsNotOverwritten checks that a directory that is not empty is rejected.
func TestKeepIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := demo.Run(t.Context(), demo.Options{Open: open, Keep: dir}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("there is now %v, %v", left, err)
	}
}

// TestNoGateway checks the error if no gateway can be started.
func TestNoGateway(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	no := errors.New("there is none")
	fail := func(context.Context, string, func(string)) (*client.Client, func() error, error) { return nil, nil, no }
	if _, err := demo.Run(t.Context(), demo.Options{Open: fail}); !errors.Is(err, no) {
		t.Errorf("the error is %v", err)
	}
	if _, err := demo.Run(t.Context(), demo.Options{}); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
