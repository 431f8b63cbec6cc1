package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/ops/config"
)

// Opening says what a gateway in this process is made for.
type Opening struct {
	Home string
	// Settings are what firn.toml, the environment and flags say.
	Settings *config.Settings
	// Looks says that the command changes nothing. Then a home that is not there
	// is not made.
	Looks bool
	// Ephemeral keeps sessions in memory: nothing is written to the home, and no gateway
	// that serves it is asked.
	Ephemeral bool
	// Model, if it is named, must be one that can be asked.
	Model string
	// Foreign is another tool's folder to work on instead of the home, in which
	// InPlace allows to add to the tool's own files; nil is the home.
	Foreign dialect.Tool
	Dir     string
	InPlace bool
	// Tools replaces what the settings say of tools; nil leaves it at that.
	Tools *Tools
	// Watched says that somebody watches the answers come.
	Watched bool
	// Report is told of everything that was out of order.
	Report func(message string)
}

// Tools is what the tools of agents may touch.
type Tools struct {
	// Workspace is the directory that they see, Write whether they may write
	// there, Shell whether commands may be run. None leaves out all tools.
	Workspace          string
	Write, Shell, None bool
}

// Opened is a gateway in this process.
type Opened struct {
	Transport http.RoundTripper
	// Close lets it go.
	Close func(ctx context.Context) error
}

// purpose is what a command wants of the gateway.
type purpose int

const (
	// looking changes nothing.
	looking purpose = iota
	// measuring changes nothing, and shows how full windows are: as firn chat would
	// fill them in the current directory, if no gateway runs.
	measuring
	// changing may.
	changing
)

// closing is how long a gateway in this process may take to end.
const closing = 5 * time.Second

// with makes a command of a function that talks to the gateway.
func (p *program) with(why purpose, do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		o := Opening{Looks: why != changing || onlyPlans(cmd)}
		if why == measuring {
			if dir, err := (&chatFlags{}).directory(); err == nil {
				o.Tools = &Tools{Workspace: dir}
			}
		}
		c, release, err := p.connect(cmd.Context(), o)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		return do(cmd.Context(), c, args)
	}
}

// onlyPlans reports whether a command only says what it would do.
func onlyPlans(cmd *cobra.Command) bool {
	plan := cmd.Flags().Lookup("plan")
	return plan != nil && plan.Value.String() == "true"
}

// connect finds the gateway: the one that is named, or that serves the home, or
// else one in this process. Release gives it back.
func (p *program) connect(ctx context.Context, o Opening) (c *client.Client, release func() error, err error) {
	settings, err := p.settings()
	if err != nil {
		return nil, nil, err
	}
	o.Settings, o.Home = settings, settings.Home
	if tool, dir, ok := p.foreign(); ok {
		if !o.Looks && !p.inPlace {
			return nil, nil, foreignHome(tool, dir)
		}
		o.Foreign, o.Dir, o.InPlace = tool, dir, p.inPlace
		return p.inProcess(ctx, o)
	}
	if o.Ephemeral {
		return p.inProcess(ctx, o)
	}
	if address := settings.Client.Gateway; address != "" {
		c, err := p.dial(address, settings)
		return c, closer(c), err
	}
	if address, ok := client.Find(ctx, o.Home, nil); ok {
		if p.store != "" {
			return nil, nil, &hinted{fmt.Errorf("a gateway serves the home %s, with the store that it was told: %w", o.Home, firn.ErrLocked), "leave --store out, or name another home with --home"}
		}
		c, err := p.dial(address, settings)
		return c, closer(c), err
	}
	return p.inProcess(ctx, o)
}

// foreign tells whose folder the home is, if it is another tool's.
func (p *program) foreign() (dialect.Tool, string, bool) {
	home, err := p.homeDir()
	if err != nil {
		return nil, "", false
	}
	if home, err = filepath.Abs(home); err != nil {
		return nil, "", false
	}
	tool, ok := dialects.OwnerOf(home)
	return tool, home, ok
}

// foreignHome says that another tool's folder is not written to by default.
func foreignHome(tool dialect.Tool, dir string) error {
	return &hinted{
		fmt.Errorf("%s is the folder of %s, which is only read: %w", dir, tool.Name(), firn.ErrUnsupported),
		"firn adopt " + quote(dir) + " --yes mirrors it into firn's own home; --in-place adds to the tool's own files",
	}
}

// mustBeOurs refuses another tool's folder as the home of a command that is about a home
// of firn as a whole: it would find nothing there, or do it to our own home instead.
func (p *program) mustBeOurs() error {
	tool, dir, ok := p.foreign()
	if !ok {
		return nil
	}
	return &hinted{
		fmt.Errorf("%s is the folder of %s, and no home of firn: %w", dir, tool.Name(), firn.ErrUnsupported),
		"leave out --home to mean your own; firn adopt " + quote(dir) + " --yes mirrors the folder into it, firn verify " + quote(dir) + " reads its files",
	}
}

// dial makes a client of a gateway elsewhere. Over a socket we are the owner,
// and a token could only make less of us.
func (p *program) dial(address string, s *config.Settings) (*client.Client, error) {
	if strings.HasPrefix(address, "unix:") {
		return client.New(client.Options{Address: address, UserAgent: "firn-cli"})
	}
	token, err := config.Secret(s.Client.TokenEnv, s.Client.TokenFile, p.env)
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{Address: address, Token: token, UserAgent: "firn-cli"})
}

func closer(c *client.Client) func() error {
	if c == nil {
		return func() error { return nil }
	}
	return c.Close
}

// inProcess makes a gateway in this process. One that began to serve the home
// just now is used instead.
func (p *program) inProcess(ctx context.Context, o Opening) (*client.Client, func() error, error) {
	if p.open == nil {
		return nil, nil, fmt.Errorf("find a gateway: none is running, and none can be made here: %w", firn.ErrUnsupported)
	}
	if o.Report == nil {
		o.Report = p.noteOnce()
	}
	opened, err := p.open(ctx, o)
	if errors.Is(err, firn.ErrLocked) {
		c, err := p.await(ctx, o, err)
		return c, closer(c), err
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := client.New(client.Options{Transport: opened.Transport, UserAgent: "firn-cli"})
	release := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		return opened.Close(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return c, release, nil
}

// starting is how long a gateway may take from taking a home to answering.
const starting = 5 * time.Second

// await waits for a gateway that holds the home and does not answer yet.
func (p *program) await(ctx context.Context, o Opening, held error) (*client.Client, error) {
	deadline := time.NewTimer(starting)
	defer deadline.Stop()
	tick := time.NewTicker(starting / 50)
	defer tick.Stop()
	for {
		if address, ok := client.Find(ctx, o.Home, nil); ok {
			return p.dial(address, o.Settings)
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return nil, &client.Unreachable{Address: o.Home, Doing: "find the gateway that serves this home", Err: held, Hint: "it holds the home and does not answer; firn stop, or end it by hand"}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// settings reads the settings, with the flags that are settings.
func (p *program) settings() (*config.Settings, error) { return p.settingsWith(nil) }

// settingsWith reads the settings with more flags that are settings.
func (p *program) settingsWith(set map[string]string) (*config.Settings, error) {
	home, err := p.homeDir()
	if err != nil {
		return nil, err
	}
	if _, _, foreign := p.foreign(); foreign {
		// What is ours, such as settings, is where it always is.
		if home, err = p.usualHome(); err != nil {
			return nil, err
		}
	}
	if home, err = filepath.Abs(home); err != nil {
		return nil, fmt.Errorf("find the home %s: %w", home, err)
	}
	flags := map[string]string{"home": home}
	if p.address != "" {
		flags["client.gateway"] = p.address
	}
	if p.store != "" {
		if flags["store.url"], err = storeURL(p.store); err != nil {
			return nil, &usageError{message: "--store: " + err.Error(), hint: "firn help tells how it is used"}
		}
	}
	maps.Copy(flags, set)
	s, err := config.Open("", p.environ, flags)
	var wrong config.Problems
	if errors.As(err, &wrong) {
		return nil, &hinted{err, "firn config check tells all that is wrong"}
	}
	return s, err
}
