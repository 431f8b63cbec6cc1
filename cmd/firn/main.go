// Command firn keeps the conversations of AI agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"firn/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)   // a second Ctrl-C ends it at once
	signal.Ignore(syscall.SIGPIPE) // who reads no more is told by an error, after clearing up
	code := cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)
	stop()
	os.Exit(code)
}
