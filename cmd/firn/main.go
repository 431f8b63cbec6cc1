// Command firn stores and serves the conversations of AI agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"firn.dev/internal/ops/serve"
	"firn.dev/internal/term/cli"
)

func main() {
	leaveNoCore()
	keepMemoryPrivate()
	ctx, cancel := context.WithCancel(context.Background())
	ends := make(chan os.Signal, 1)
	signal.Notify(ends, os.Interrupt, syscall.SIGTERM)
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is reported as a write error, so that cleanup runs
	go func() {
		<-ends
		signal.Stop(ends) // a second Ctrl-C ends the process immediately
		cancel()
	}()
	code := cli.Main(ctx, os.Args[1:], cli.Process{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Environ: os.Environ(),
		Open: open, Host: host, LocalFiles: localFiles, Serve: run, Migrate: carry, Mirror: mirror, Hold: serve.Hold, Providers: providers, Models: models, Build: build(),
		Interrupts: func() (<-chan os.Signal, func()) {
			presses := make(chan os.Signal, 2)
			signal.Notify(presses, os.Interrupt)
			signal.Stop(ends)
			signal.Notify(ends, syscall.SIGTERM)
			return presses, func() { signal.Stop(presses) }
		},
	})
	os.Exit(code)
}
