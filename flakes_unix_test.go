//go:build unix

package firn_test

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// flaky is a test command whose second run fails in one test of one package and whose third
// run times out in another.
const flaky = `
n=$(cat "$1" 2>/dev/null || echo 0); n=$((n + 1)); echo $n >"$1"
printf 'ok  \tfirn/quiet\t%s.5s\n' $n
case $n in
2) printf -- '--- FAIL: TestRace (0.01s)\n    --- FAIL: TestRace/inner (0.00s)\n        race_test.go:7: lost\nFAIL\nFAIL\tfirn/noisy\t1.250s\n'; exit 1 ;;
3) printf 'panic: test timed out after 1s\n\trunning tests:\n\t\tTestSlow (1s)\n\ngoroutine 7 [running]:\nFAIL\tfirn/slow\t31.017s\n'; exit 1 ;;
esac
printf 'ok  \tfirn/noisy\t0.100s\n'
`

// TestFlakesNamesWhatFailed runs a test command that fails in two of four runs.
func TestFlakesNamesWhatFailed(t *testing.T) {
	out := t.TempDir()
	cmd := exec.Command("tools/flakes.sh", "4", "--load", "1", "--out", out, "--", "bash", "-c", flaky, "flaky", filepath.Join(t.TempDir(), "runs"))
	printed, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v, want exit status 1", err)
	}
	for _, want := range []string{
		"run 1 of 4: passed", "run 2 of 4: FAILED", "run 3 of 4: FAILED", "run 4 of 4: passed",
		"2 of 4 runs failed",
		"  1 of 4  firn/noisy TestRace  " + out + "/run-2.log\n",
		"  1 of 4  firn/noisy TestRace/inner  " + out + "/run-2.log\n",
		"  1 of 4  firn/slow TestSlow  " + out + "/run-3.log\n",
		"      4.5  firn/quiet\n", "     31.0  firn/slow\n", "      1.2  firn/noisy\n",
	} {
		if !strings.Contains(string(printed), want) {
			t.Errorf("it did not print %q:\n%s", want, printed)
		}
	}
	if log := readFile(t, filepath.Join(out, "run-2.log")); !strings.Contains(log, "race_test.go:7: lost") {
		t.Errorf("the log of run 2 is %q", log)
	}
}

// TestFlakesExitCodes runs commands that pass or fail in all runs, and calls the script with
// invalid arguments.
func TestFlakesExitCodes(t *testing.T) {
	for _, c := range []struct {
		code    int
		printed string
		args    []string
	}{
		{0, "all 2 runs passed", []string{"2", "--", "true"}},
		{1, "2 of 2  false (no package named)", []string{"2", "--", "false"}},
		{1, "1 of 1  firn/x (no test named)", []string{"1", "--", "bash", "-c", `printf 'FAIL\tfirn/x [build failed]\n'; exit 1`}},
		{2, "N [--load K]", nil},
		{2, "N [--load K]", []string{"0"}},
		{2, "N [--load K]", []string{"1", "--load", "many"}},
	} {
		cmd := exec.Command("tools/flakes.sh", c.args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
		printed, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(printed), c.printed) {
			t.Errorf("%q ended with %d, want %d and %q:\n%s", c.args, code, c.code, c.printed, printed)
		}
	}
}

// TestFlakesLeavesNothingRunning interrupts a run whose test has started a process in a session
// of its own, while the processes of --load are running.
func TestFlakesLeavesNothingRunning(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("tools/flakes.sh", "1", "--load", "2", "--out", t.TempDir(), "--",
		"bash", "-c", `setsid sleep 1000 & echo $$ $! >"$0"; wait`, started)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(started) // blocks until the test writes to it
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, _ := bufio.NewReader(f).ReadString('\n')
	pids := strings.Fields(line)
	if len(pids) != 2 {
		t.Fatalf("the test wrote %q, want two process IDs", line)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // the exit code is checked below
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it ended with %d, want 130", code)
	}
	for _, pid := range pids {
		awaitDeath(t, pid)
	}
}

// awaitDeath waits until a killed process has exited. A zombie counts as exited.
func awaitDeath(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); syscall.Kill(n, 0) == nil; time.Sleep(10 * time.Millisecond) {
		state, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
		if err != nil || strings.HasPrefix(string(state), "Z") {
			return
		}
		if time.Now().After(deadline) {
			syscall.Kill(n, syscall.SIGKILL)
			t.Fatalf("process %s is still running", pid)
		}
	}
}
