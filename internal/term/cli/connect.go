package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/internal/ops/config"
)

// GatewayOptions configures a gateway in this process.
type GatewayOptions struct {
	Home string
	// Settings are the settings from firn.toml, the environment and flags.
	Settings *config.Settings
	// ReadOnly is true if the command is read-only. A missing home is not created then.
	ReadOnly bool
	// Ephemeral keeps sessions in memory. Nothing is written to the home, and a gateway
	// that serves it is not used.
	Ephemeral bool
	// Model, if set, must be available.
	Model string
	// Choose returns the settings with the chosen model. It is called only if a gateway
	// starts in this process, and may be nil.
	Choose func() (*config.Settings, error)
	// Foreign is another tool's folder to use instead of the home; nil for the home.
	// InPlace permits appending to the tool's own files.
	Foreign dialect.Tool
	Dir     string
	InPlace bool
	// Tools overrides the tool settings; nil keeps them.
	Tools *Tools
	// Watched is true if a user sees answers as they are generated.
	Watched bool
	// Question is true if a question will be searched. It is prepared while the home is
	// opened.
	Question bool
	// Report receives warnings.
	Report func(message string)
}

// Tools limits the access of agents' tools.
type Tools struct {
	// Workspace is the directory that tools can access. Write permits writing there, and
	// Shell running commands. None disables all tools.
	Workspace          string
	Write, Shell, None bool
}

// Opened is a gateway in this process.
type Opened struct {
	Transport http.RoundTripper
	// Close stops the gateway.
	Close func(ctx context.Context) error
}

// purpose is how a command uses the gateway.
type purpose int

const (
	// readOnly changes nothing.
	readOnly purpose = iota
	// measuring changes nothing, and computes window usage. If no gateway runs, the window
	// is the one that firn chat would build in the current directory.
	measuring
	// modeling is measuring with the model that firn chat would detect there.
	modeling
	// mayChange may change sessions.
	mayChange
)

// closeWait is the time limit for stopping a gateway in this process.
const closeWait = 5 * time.Second

// with returns a command function that connects to the gateway and calls do.
func (p *program) with(why purpose, do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) (err error) {
		o := GatewayOptions{ReadOnly: why != mayChange || onlyPlans(cmd)}
		p.reads = o.ReadOnly
		if why == measuring || why == modeling {
			if dir, err := (&chatFlags{}).directory(); err == nil {
				o.Tools = &Tools{Workspace: dir}
				o.Choose = modelHere(cmd.Context(), p, why, dir)
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

// modelHere returns a function that adds the model which a chat in a directory would use to
// the settings; nil if the command does not show it.
func modelHere(ctx context.Context, p *program, why purpose, dir string) func() (*config.Settings, error) {
	if why != modeling || p.models == nil {
		return nil
	}
	return func() (*config.Settings, error) {
		s, err := p.settings()
		if err != nil {
			return nil, err
		}
		return p.startChoice(ctx, s, "", projectRoot(dir)).apply()
	}
}

// onlyPlans reports whether a command only prints its plan.
func onlyPlans(cmd *cobra.Command) bool {
	plan := cmd.Flags().Lookup("plan")
	return plan != nil && plan.Value.String() == "true"
}

// connect returns a client of the gateway: the named one, the one that serves the home, or
// else one in this process. Release must be called after use.
func (p *program) connect(ctx context.Context, o GatewayOptions) (c *client.Client, release func() error, err error) {
	settings, err := p.settings()
	if err != nil {
		return nil, nil, err
	}
	o.Settings, o.Home = settings, settings.Home
	if tool, dir, ok := p.foreign(); ok {
		if !o.ReadOnly && !p.inPlace {
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
		if err == nil && p.localFiles != nil {
			c.Files.Local = p.localFiles(settings.Home)
		}
		return c, closer(c), err
	}
	if address, ok := client.Find(ctx, o.Home, nil); ok {
		if p.store != "" {
			return nil, nil, &hinted{failure.Of(firn.ErrLocked, "a gateway serves the home %s with its own store", o.Home), "omit --store, or choose another home with --home"}
		}
		c, err := p.dial(address, settings)
		return c, closer(c), err
	}
	return p.inProcess(ctx, o)
}

// foreign returns the tool that owns the home, if that is another tool's folder.
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

// foreignHome returns the error for writing to another tool's folder without permission.
func foreignHome(tool dialect.Tool, dir string) error {
	hint := "to mirror it into firn's home: firn adopt " + quote(dir) + " --yes"
	if dialect.Writable(tool) == nil {
		hint += "; to append to the tool's own files: --in-place"
	}
	return &hinted{failure.Of(firn.ErrUnsupported, "%s is the directory of %s and is only read", dir, tool.Name()), hint}
}

// mustBeOurs rejects another tool's folder as the home of a command that applies to a whole
// firn home. The command would find nothing, or act on the default home instead.
func (p *program) mustBeOurs() error {
	tool, dir, ok := p.foreign()
	if !ok {
		return nil
	}
	return &hinted{
		failure.Of(firn.ErrUnsupported, "%s is the directory of %s, not a firn home", dir, tool.Name()),
		"omit --home to use your own; to mirror the directory: firn adopt " + quote(dir) + " --yes; to check its files: firn verify " + quote(dir),
	}
}

// dial returns a client of a remote gateway. Over a socket the client is the owner, and a
// token could only reduce its rights.
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

// inProcess starts a gateway in this process. If another one has just started to serve the
// home, that is used instead.
func (p *program) inProcess(ctx context.Context, o GatewayOptions) (*client.Client, func() error, error) {
	if p.open == nil {
		return nil, nil, failure.Of(firn.ErrUnsupported, "no gateway is running, and this program cannot start one")
	}
	if o.Report == nil {
		o.Report = p.noteOnce()
	}
	if o.Choose != nil {
		settings, err := o.Choose()
		if err != nil {
			return nil, nil, err
		}
		o.Settings = settings
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
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer cancel()
		return opened.Close(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return c, release, nil
}

// startWait is the maximum time between locking a home and answering requests.
const startWait = 5 * time.Second

// await waits for a gateway that holds the home but does not answer yet.
func (p *program) await(ctx context.Context, o GatewayOptions, held error) (*client.Client, error) {
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	tick := time.NewTicker(startWait / 50)
	defer tick.Stop()
	for {
		if address, ok := client.Find(ctx, o.Home, nil); ok {
			return p.dial(address, o.Settings)
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return nil, &client.Unreachable{Address: o.Home, Doing: "find the gateway of this home", Err: held, Hint: "it holds the home but does not respond; run firn stop, or end its process"}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// settings reads the settings, including flags that are settings.
func (p *program) settings() (*config.Settings, error) { return p.settingsWith(nil) }

// settingsWith reads the settings with additional flags.
func (p *program) settingsWith(set map[string]string) (*config.Settings, error) {
	home, err := p.homeDir()
	if err != nil {
		return nil, err
	}
	if _, _, foreign := p.foreign(); foreign {
		// In another tool's folder, firn's settings are those of the default home.
		if home, err = p.usualHome(); err != nil {
			return nil, err
		}
	}
	if home, err = filepath.Abs(home); err != nil {
		return nil, fmt.Errorf("find home %s: %w", home, err)
	}
	flags := map[string]string{"home": home}
	if p.address != "" {
		flags["client.gateway"] = p.address
	}
	if p.store != "" {
		if flags["store.url"], err = storeURL(p.store); err != nil {
			return nil, &usageError{message: "--store: " + err.Error(), hint: "firn help"}
		}
	}
	maps.Copy(flags, set)
	s, err := config.Open("", p.environ, flags)
	var wrong config.Problems
	if errors.As(err, &wrong) && p.address != "" && slices.ContainsFunc(wrong, func(w config.Problem) bool { return w.Key == "client.gateway" }) {
		return nil, &usageError{message: fmt.Sprintf("--gateway %s is not an address", p.address), hint: "use http://HOST:PORT, https://HOST, or unix: and the path of a socket"}
	}
	if errors.As(err, &wrong) {
		return nil, &hinted{err, "to list all errors: firn config check"}
	}
	return s, err
}
