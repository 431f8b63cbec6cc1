package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdoptInstall installs the service that keeps mirroring, with a manager that records its
// commands, and removes it again.
func TestAdoptInstall(t *testing.T) {
	home, user, bin := t.TempDir(), t.TempDir(), t.TempDir()
	script := "#!/bin/sh\necho \"$@\" >> " + filepath.Join(user, "asked") + "\n[ ! -e " + filepath.Join(user, "broken") + " ] || { echo Failed to connect to bus >&2; exit 1; }\n"
	if err := os.WriteFile(filepath.Join(bin, "systemctl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(code int, args ...string) string {
		t.Helper()
		cmd := program(home, append([]string{"adopt"}, args...)...)
		cmd.Env = append(cmd.Env, "HOME="+user, "XDG_CONFIG_HOME=", "CODEX_HOME=/else where", "PATH="+bin+":"+os.Getenv("PATH"))
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("firn adopt %v exits with %d: %s", args, got, out)
		}
		return string(out)
	}
	file := filepath.Join(user, ".config/systemd/user/firn-adopt.service")
	out := run(0, "--install", "claude", "--link")
	unit, err := os.ReadFile(file)
	if err != nil || !strings.Contains(out, "wrote "+file+"\nit runs now") || !strings.Contains(string(unit), " adopt --yes --watch --link claude\n") || !strings.Contains(string(unit), home) || !strings.Contains(string(unit), "\nEnvironment=\"CODEX_HOME=/else where\"\n") {
		t.Fatalf("it prints %s\n%v, and the unit is\n%s", out, err, unit)
	}
	run(0, "--install", "claude", "--link") // again changes nothing
	if same, _ := os.ReadFile(file); string(same) != string(unit) {
		t.Errorf("the unit became\n%s", same)
	}
	out = run(0, "--uninstall")
	if _, err := os.Stat(file); !os.IsNotExist(err) || !strings.Contains(out, "undo: firn adopt --install --link claude\n") {
		t.Errorf("after --uninstall: %v, %s", err, out)
	}
	run(0, "--install", "--link", "claude") // the printed undo
	if same, _ := os.ReadFile(file); string(same) != string(unit) {
		t.Errorf("the undo makes the unit\n%s", same)
	}
	if out := run(0, "--install", "claude"); !strings.Contains(out, "it replaces a service with other arguments\n") || !strings.Contains(out, "undo: firn adopt --install --link claude\n") {
		t.Errorf("with other arguments it prints %s", out)
	}
	if err := os.WriteFile(filepath.Join(user, "broken"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(0, "--install"); !strings.Contains(out, "it was not started: Failed to connect to bus\nto start it, run systemctl --user daemon-reload; systemctl --user enable firn-adopt.service; systemctl --user restart firn-adopt.service\n") {
		t.Errorf("without a bus it prints %s", out)
	}
	run(0, "--uninstall")
	if out := run(1, "--uninstall"); !strings.Contains(out, "not installed") {
		t.Errorf("the second time it prints %s", out)
	}
	run(2, "--install", "/no/such/dir")
	run(2, "--install", "--yes")
	if err := os.WriteFile(file, []byte("[Service]\nExecStart=/bin/true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(1, "--install"); !strings.Contains(out, "firn did not write it") {
		t.Errorf("over another unit it prints %s", out)
	}
	asked, _ := os.ReadFile(filepath.Join(user, "asked"))
	if got := strings.Count(string(asked), "restart firn-adopt.service"); got != 5 {
		t.Errorf("the manager was asked %d times to start it:\n%s", got, asked)
	}
}
