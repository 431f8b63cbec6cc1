package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// hook measures firn recall, which other tools run before each prompt and file change, in a
// home of 10,000 messages: wall time and processor time, with and without a gateway.
func (b *bench) hook() error {
	dir, err := os.MkdirTemp("", "firn-") // the path of a socket must be short
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := buildProgram(dir)
	if err != nil {
		return err
	}
	const messages = 10_000
	home, fresh := b.home("hook")
	if fresh {
		if err := manyMessages(home, messages); err != nil {
			return err
		}
	}
	if err := reindexWords(program, home); err != nil {
		return err
	}
	words := newLexicon(3)
	prompt := "What did we say about " + strings.Join(words.all[200:206], " ") + "?"
	for _, with := range []string{"without a gateway", "with a gateway"} {
		stop := func() {}
		if with == "with a gateway" {
			if stop, err = startGateway(program, home); err != nil {
				return err
			}
		}
		for _, ask := range []struct{ name, stdin, flag, value string }{
			{"a prompt", prompt, "--for-prompt", ""}, {"a file", "/w/shop/main.go", "--for-file", "-"},
		} {
			wall, cpu, err := hookTimes(program, home, ask.stdin, ask.flag, ask.value)
			if err != nil {
				stop()
				return err
			}
			b.want(fmt.Sprintf("firn recall for %s, 10,000 messages, %s: wall, processor", ask.name, with), ms(wall)+", "+ms(cpu), "≤ 50 ms", wall <= 50*time.Millisecond)
		}
		stop()
	}
	return nil
}

// reindexWords builds the full-text index of a home.
func reindexWords(program, home string) error {
	if out, err := exec.Command(program, "--home", home, "search", "something").CombinedOutput(); err != nil {
		return fmt.Errorf("index the home: %w\n%s", err, out)
	}
	return nil
}

// startGateway starts firn serve and returns a function that stops it.
func startGateway(program, home string) (func(), error) {
	cmd := exec.Command(program, "--home", home, "serve", "--no-web")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = cmd.Process.Kill() // the home is discarded
		_ = cmd.Wait()
	}
	for range 200 {
		if exec.Command(program, "--home", home, "keys").Run() == nil {
			if _, err := os.Stat(filepath.Join(home, "gateway.sock")); err == nil {
				return stop, nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	stop()
	return nil, fmt.Errorf("firn serve was not ready")
}

// hookTimes returns the median wall and processor time of firn recall.
func hookTimes(program, home, stdin, flag, value string) (wall, cpu time.Duration, err error) {
	const runs = 21
	var walls, cpus []time.Duration
	args := []string{"--home", home, "recall", flag}
	if value != "" {
		args = append(args, value)
	}
	for range runs {
		cmd := exec.Command(program, args...)
		cmd.Stdin = strings.NewReader(stdin)
		begin := time.Now()
		if out, err := cmd.Output(); err != nil {
			return 0, 0, fmt.Errorf("firn recall: %w\n%s", err, out)
		}
		walls = append(walls, time.Since(begin))
		cpus = append(cpus, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	slices.Sort(walls)
	slices.Sort(cpus)
	return walls[runs/2], cpus[runs/2], nil
}
