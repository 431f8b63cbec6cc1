package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"time"

	"firn.dev/client"
	"firn.dev/internal/door/api"
	"firn.dev/internal/find/search"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/migrate"
	"firn.dev/internal/ops/modelchoice"
	"firn.dev/internal/ops/remote"
	"firn.dev/internal/ops/serve"
	"firn.dev/internal/term/chat"
	"firn.dev/internal/term/cli"
)

// wordDelay is the time the offline model takes for each word of a streamed answer. Tests
// that stop or kill an answer increase it.
var wordDelay = 12 * time.Millisecond

// providers returns the providers that need no settings and a function that returns where
// their keys are.
func providers() ([]string, func(string) string) { return serve.Providers(), serve.KeyOf }

// detectLimit is how long a local server may take to answer when the model is detected. Tests
// increase it, or set it to a negative value to detect nothing.
var detectLimit = modelchoice.Wait

// models returns the models to choose from.
func models(s *config.Settings) modelchoice.Table {
	t := serve.NewModels(s.Config, os.Getenv, 0).Table()
	t.Limit = detectLimit
	if detectLimit < 0 {
		t.Servers, t.Defaults = nil, nil
	}
	return t
}

// open starts a gateway in this process for the command line.
func open(_ context.Context, o cli.GatewayOptions) (cli.Opened, error) {
	options := serve.Options{
		Settings: o.Settings, Env: os.Getenv, ReadOnly: o.ReadOnly, Ephemeral: o.Ephemeral, Model: o.Model, Report: o.Report, Version: build().Version,
	}
	if o.Foreign != nil {
		options.Foreign = &serve.Foreign{Tool: o.Foreign, Dir: o.Dir, InPlace: o.InPlace}
	}
	if o.Question {
		go search.Prepare()
	}
	if o.Watched {
		options.Delay, options.Warm = wordDelay, true
	}
	if t := o.Tools; t != nil {
		options.Local = &serve.Local{Workspace: t.Workspace, Write: t.Write, Shell: t.Shell, NoTools: t.None}
	}
	house, err := serve.Open(options)
	var locked *serve.NoKey
	if errors.As(err, &locked) {
		return cli.Opened{}, &chat.Problem{
			Err: err, Kind: chat.ErrKeyRejected,
			Hint: serve.KeyHint(locked.Variable),
		}
	}
	if err != nil {
		return cli.Opened{}, err
	}
	local := client.InProcess(house.Own())
	return cli.Opened{Transport: local, Close: func(ctx context.Context) error {
		return errors.Join(local.Close(), house.Close(ctx))
	}}, nil
}

// host returns the tools that this process runs for turns of a gateway in another one.
func host(o cli.GatewayOptions, agentName string) (cli.Host, error) {
	return serve.OpenTerminal(serve.Options{
		Settings: o.Settings, Env: os.Getenv, Report: o.Report,
		Local: &serve.Local{Workspace: o.Tools.Workspace, Write: o.Tools.Write, Shell: o.Tools.Shell, NoTools: o.Tools.None},
	}, agentName)
}

// localFiles returns the files that tools of this machine changed.
func localFiles(home string) client.LocalFiles { return serve.OpenLocalFiles(home, os.Getenv) }

// run serves a gateway.
func run(ctx context.Context, s cli.Serving) error {
	hangups := make(chan os.Signal, 1)
	notifyHangup(hangups)
	defer signal.Stop(hangups)
	log, level := serve.NewLog(os.Stderr, s.Settings.Log, s.Terminal)
	return serve.Run(ctx, serve.Daemon{
		Options: serve.Options{
			Settings: s.Settings, Env: os.Getenv, Log: log, Version: build().Version,
			Report: func(message string) { log.Warn("problem", "what", message) },
		},
		Hangups: hangups, Reload: s.Reload, Level: level,
		Ready: func(a api.Address) { s.Ready(a.Address, a.Socket, a.TCP) },
	})
}

// carry copies sessions from one store to another.
func carry(ctx context.Context, c cli.CopyOptions) (*migrate.Report, error) {
	return serve.Migrate(ctx, carrying(c))
}

// mirror maintains a copy of sessions in files.
func mirror(ctx context.Context, c cli.CopyOptions) (*migrate.Report, error) {
	return serve.Mirror(ctx, carrying(c), c.To)
}

func carrying(c cli.CopyOptions) serve.CopyOptions {
	return serve.CopyOptions{Settings: c.Settings, Env: os.Getenv, From: c.From, To: c.To, Source: remote.Source{Client: c.Source}, Copy: c.Copy, Report: c.Report, Progress: c.Progress}
}
