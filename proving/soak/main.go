//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// run reads the flags, runs the soak test, and prints the summary.
func run() error {
	o := options{Every: 10 * time.Second, Pause: 15 * time.Second, Sessions: 8, Think: 400 * time.Millisecond, Making: 300, Between: 20, Strict: os.Getenv("CI") != "", Log: os.Stdout}
	flag.DurationVar(&o.For, "for", time.Hour, "how long clients talk and faults happen")
	flag.StringVar(&o.Dir, "dir", "", "where the disk, the logs and the summary go; empty means a new directory, which stays if something is wrong")
	flag.StringVar(&o.Program, "firn", "", "the program to try; empty means to build it")
	flag.Uint64Var(&o.Seed, "seed", uint64(time.Now().UnixNano()), "what the order of faults depends on")
	flag.DurationVar(&o.Pause, "pause", o.Pause, "how long it is quiet between two faults, about")
	size := flag.Int64("promise", 0, "instead: a session of so many megabytes, killed on a full disk in a tool call and in a compaction, and all that is promised of it")
	syncing := flag.Bool("sync", false, "instead: three machines that sync through a target, which is filled, stopped and damaged, while they are killed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.Dir == "" {
		dir, err := os.MkdirTemp("", "firn-soak-")
		if err != nil {
			return err
		}
		o.Dir = dir
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	if o.Program == "" {
		o.Program = filepath.Join(o.Dir, "firn")
		build := exec.CommandContext(ctx, "go", "build", "-o", o.Program, "./cmd/firn")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build firn: %w", err)
		}
	}
	if *size > 0 {
		bytes := *size * 1_000_000
		d, err := newDisk(o.Dir, bytes+bytes/2+diskSize)
		if err != nil {
			return err
		}
		return keepPromise(ctx, o, bytes, d)
	}
	if *syncing {
		return syncAndReport(ctx, o)
	}
	s, err := soakFor(ctx, o)
	if err != nil {
		return err
	}
	fmt.Print(s.table())
	if err := s.write(filepath.Join(o.Dir, "summary.json")); err != nil {
		return err
	}
	if !s.OK {
		return fmt.Errorf("%d complaints; the home and the log of the gateway are in %s", len(s.Complaints), o.Dir)
	}
	return nil
}

// syncAndReport runs the machines that sync, and prints the result.
func syncAndReport(ctx context.Context, o options) error {
	s, err := syncFor(ctx, o)
	if err != nil {
		return err
	}
	fmt.Print(s.table())
	if s.ledger.failed() {
		return fmt.Errorf("%d complaints; the homes are in %s", len(s.ledger.complaints), o.Dir)
	}
	return nil
}
