package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// buildProgram builds firn in a directory and returns its path.
func buildProgram(dir string) (string, error) {
	program := filepath.Join(dir, "firn")
	if out, err := exec.Command("go", "build", "-o", program, "firn.dev/cmd/firn").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return program, nil
}

// cold measures the program itself: the time from the start of `firn serve` until it is
// ready, on a home with 10,000 sessions that were all used today, and the memory they take.
func (b *bench) cold() error {
	dir, err := os.MkdirTemp("", "firn-") // the path of a socket must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := buildProgram(dir)
	if err != nil {
		return err
	}
	const sessions = 10_000
	full, fresh := b.home("list")
	if fresh {
		if err := manySessions(full, sessions); err != nil {
			return err
		}
		if err := reindex(full); err != nil {
			return err
		}
	}
	many, err := coldStarts(program, full, filepath.Join(dir, "s"))
	if err != nil {
		return err
	}
	none, err := coldStarts(program, filepath.Join(dir, "empty"), filepath.Join(dir, "s"))
	if err != nil {
		return err
	}
	b.note("cold start of firn serve until it is ready, no sessions", ms(none.ready))
	b.want("cold start of firn serve until it is ready, 10,000 sessions", ms(many.ready), "≤ 300 ms", many.ready <= 300*time.Millisecond)
	if none.memory > 0 {
		b.note("firn serve, memory after the start, no sessions", fmt.Sprintf("%.0f MB", none.memory))
		b.want("firn serve, memory at rest with 10,000 known sessions", fmt.Sprintf("%.0f MB", many.memory), "≤ 60 MB", many.memory <= 60)
		b.note("firn serve, memory of a session that is only known", fmt.Sprintf("%.2f kB", max(many.memory-none.memory, 0)*1024/sessions))
	}
	return b.firstPrompt(program, full, filepath.Join(dir, "empty"), dir)
}

// firstPrompt measures the time from the start of `firn chat` in a project until it can be
// typed into, without a gateway.
func (b *bench) firstPrompt(program, full, empty, project string) error {
	const runs = 11
	var medians [3]time.Duration
	for i, home := range []string{full, empty, full} {
		// Without a key table, each lookup of a key checks the status of all sessions.
		if i == 0 {
			if err := os.Remove(filepath.Join(home, "agents", "main", "sessions", "sessions.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		} else if out, err := exec.Command(program, "chat", "--home", home, "-m", "firn/offline", "--main", "-p", "hello").CombinedOutput(); err != nil {
			return fmt.Errorf("use the home: %w\n%s", err, out)
		}
		var times []time.Duration
		for run := range runs + 1 {
			took, err := promptTime(program, home, project)
			if err != nil {
				return err
			}
			if run > 0 { // the first run warms the system's cache
				times = append(times, took)
			}
		}
		slices.Sort(times)
		medians[i] = times[runs/2]
	}
	b.note("firn chat until the first prompt, no sessions", ms(medians[1]))
	b.note("firn chat until the first prompt, 10,000 sessions, no key table", ms(medians[0]))
	b.want("firn chat until the first prompt, 10,000 sessions", ms(medians[2]), "≤ 150 ms", medians[2] <= 150*time.Millisecond)
	return nil
}

// promptTime starts a chat, waits for its greeting, after which it reads input, and ends it.
func promptTime(program, home, project string) (time.Duration, error) {
	cmd := exec.Command(program, "chat", "--home", home)
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=firn/offline")
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	talk, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	lines := bufio.NewReader(talk)
	greeting, err := lines.ReadString('\n')
	took := time.Since(start)
	rest, readErr := "", in.Close()
	if all, err := io.ReadAll(lines); err == nil {
		rest = string(all)
	}
	if err = errors.Join(err, readErr, cmd.Wait()); err != nil || !strings.Contains(greeting, "session") {
		return 0, fmt.Errorf("firn chat: %w\n%s%s", errors.Join(err, io.ErrUnexpectedEOF), greeting, rest)
	}
	return took, nil
}

// started is the result of a start: the duration, and the memory in MB after the initial
// scan.
type started struct {
	ready  time.Duration
	memory float64
}

// coldStarts starts a gateway several times and returns the medians.
func coldStarts(program, home, socket string) (started, error) {
	const runs = 7
	var times []time.Duration
	var memory []float64
	for i := range runs + 1 {
		s, err := coldStart(program, home, socket)
		if err != nil {
			return started{}, err
		}
		if i > 0 { // the first run warms the system's cache
			times, memory = append(times, s.ready), append(memory, s.memory)
		}
	}
	slices.Sort(times)
	slices.Sort(memory)
	return started{times[runs/2], memory[runs/2]}, nil
}

// coldStart starts a gateway, waits until it is ready, and stops it.
func coldStart(program, home, socket string) (s started, err error) {
	cmd := exec.Command(program, "serve", "--home", home, "--socket", socket)
	cmd.Env = append(os.Environ(), "FIRN_HOME="+home, "FIRN_MODEL=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for !isReady(client) {
		select {
		case err := <-ended:
			return s, fmt.Errorf("firn serve ended: %w\n%s", errors.Join(err, io.ErrUnexpectedEOF), stderr.String())
		case <-time.After(time.Millisecond):
		}
	}
	s.ready = time.Since(start)
	s.memory = resident(cmd.Process.Pid)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return s, err
	}
	<-ended // it returns an error because it was interrupted
	return s, nil
}

// isReady reports whether a gateway is ready.
func isReady(c *http.Client) bool {
	response, err := c.Get("http://localhost/readyz")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// resident returns the resident memory of a process in MB; zero if unknown.
func resident(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kb); err == nil {
			return kb / 1024
		}
	}
	return 0
}
