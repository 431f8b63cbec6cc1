package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/sessionsync"
	"firn.dev/internal/ops/sessionsync/gatewaytarget"
	"firn.dev/internal/ops/sessionsync/s3target"
	"firn.dev/internal/ops/sessionsync/sshtarget"
	"firn.dev/internal/render/prose"
)

// openTarget returns the target with an address, and a function that must be called after use.
// Rate limits its bandwidth; it may be nil.
func openTarget(ctx context.Context, address string, rate *sessionsync.Rate) (target sessionsync.Target, release func() error, err error) {
	a, err := sessionsync.ParseAddress(address)
	if err != nil {
		return nil, nil, err
	}
	release = func() error { return nil }
	var remote sessionsync.Remote
	switch a.Kind {
	case sessionsync.KindFolder:
		return sessionsync.Folder{FS: vfs.OS{}, Dir: a.Path, Rate: rate}, release, nil
	case sessionsync.KindS3:
		remote, err = s3target.New(s3target.Options{Bucket: a.Bucket, Prefix: a.Path, Endpoint: a.Endpoint, Region: a.Region, Reader: rate.Reader, MaxFile: sessionsync.MaxFile})
	case sessionsync.KindGateway:
		var token string
		if token, err = readToken(a.TokenFile); err != nil {
			return nil, nil, err
		}
		c, err := client.New(client.Options{Address: a.URL, Token: token, UserAgent: "firn-cli"})
		if err != nil {
			return nil, nil, err
		}
		remote, release = gatewaytarget.New(gatewaytarget.Options{Client: c, Reader: rate.Reader, MaxFile: sessionsync.MaxFile}), c.Close
	default:
		var folder *sshtarget.Folder
		if folder, err = sshtarget.Open(ctx, sshtarget.Options{User: a.User, Host: a.Host, Port: a.Port, Path: a.Path, Rate: rate}); err == nil {
			remote, release = folder, folder.Close
		}
	}
	if err != nil {
		return nil, nil, err
	}
	return &sessionsync.Listing{Remote: remote}, release, nil
}

// readToken reads the token of a gateway from a file that only its owner can read.
func readToken(file string) (string, error) {
	if file == "" {
		return "", &usageError{message: "a gateway needs a token", hint: "firn token create NAME --scope sync creates one there; give it with --token-file FILE"}
	}
	if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", &hinted{failure.Of(firn.ErrInvalid, "others can read the token file %s", prose.Clean(file)), "chmod 600 " + quote(file)}
	}
	token, err := config.Secret("", file, nil)
	if err == nil && token == "" {
		err = failure.Of(firn.ErrInvalid, "the token file %s is empty", prose.Clean(file))
	}
	if err != nil {
		return "", &hinted{err, "firn token create NAME --scope sync at the gateway creates a token"}
	}
	return token, nil
}

// defaultTarget is the folder in the home directory of a user that is used over ssh if the
// address has no path.
const defaultTarget = "firn-sync"

// syncServeCommand returns the hidden command that answers a sync of another machine.
func (p syncCommands) syncServeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "target [FOLDER]",
		Hidden: true,
		Short:  "Answer a sync over ssh",
		Args:   args(0, 1, "at most one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := ""
			if len(args) > 0 {
				dir = args[0]
			} else {
				home, err := os.UserHomeDir()
				if err != nil {
					return err
				}
				dir = filepath.Join(home, defaultTarget)
				if err := (vfs.OS{}).MkdirAll(dir); err != nil {
					return err
				}
			}
			if info, err := os.Stat(dir); err != nil || !info.IsDir() {
				return &hinted{failure.Of(firn.ErrNotFound, "%s is not a folder", dir), "create it or mount the share first"}
			}
			return sessionsync.ServePipe(cmd.Context(), sessionsync.Folder{FS: vfs.OS{}, Dir: dir}, p.input(cmd.Context()), p.stdout)
		},
	}
}

// adding are the flags of firn sync add.
type adding struct{ identity, machine, endpoint, region, tokenFile string }

func (p syncCommands) syncAddCommand() *cobra.Command {
	var o adding
	cmd := &cobra.Command{
		Use:   "add NAME TARGET",
		Short: "Add a target to sync with",
		Long: `Add a target to sync with: a folder that exists, s3://BUCKET/PREFIX for an S3
bucket that exists, ssh://HOST/PATH for a folder on another machine, on which
firn is installed (/~/PATH is relative to the home directory there; without a
path it is firn-sync in it), or https://HOST for a gateway that keeps the files
(firn serve behind a TLS proxy). A gateway needs a token of the scope sync, which
reads no sessions there: firn token create NAME --scope sync > FILE.

The first machine creates the sync identity, the key that encrypts everything
on the targets. Other machines need the same one: print it with firn sync
identity and give it to --identity as a file, or as - for stdin. It is a
secret; it is never taken from an argument or the environment.

The credentials of a bucket are read at each sync from AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), or from the shared credentials
file (~/.aws/credentials; AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE). They are
not stored. --endpoint is the URL of a server other than Amazon's.`,
		Example: "  firn sync add share /mnt/share/firn\n  ssh desktop firn sync identity | firn sync add share /mnt/share/firn --identity -\n  firn sync add cloud s3://my-bucket/firn --endpoint https://s3.example.org --region eu-1",
		Args:    args(2, 2, "a name and a target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.addTarget(cmd.Context(), args[0], args[1], o)
		},
	}
	cmd.Flags().StringVar(&o.identity, "identity", "", "`file` with the sync identity of another machine; - reads stdin")
	cmd.Flags().StringVar(&o.machine, "machine", "", "`name` of this machine on the others (default: its host name)")
	cmd.Flags().StringVar(&o.endpoint, "endpoint", "", "`URL` of the S3 server (default: Amazon's)")
	cmd.Flags().StringVar(&o.tokenFile, "token-file", "", "`file` with the token of the gateway, mode 600")
	cmd.Flags().StringVar(&o.region, "region", "", "`region` of the bucket (default: the server is asked)")
	return cmd
}

// addressOf returns the address of a target with the flags in it.
func (o adding) addressOf(target string) (sessionsync.Address, error) {
	a, err := sessionsync.ParseAddress(target)
	switch {
	case err != nil:
		return a, err
	case a.Kind != sessionsync.KindS3 && o.endpoint+o.region != "":
		return a, &usageError{message: "--endpoint and --region are for buckets", hint: "firn sync add NAME s3://BUCKET/PREFIX --endpoint URL"}
	case a.Kind != sessionsync.KindGateway && o.tokenFile != "":
		return a, &usageError{message: "--token-file is for gateways", hint: "firn sync add NAME https://HOST --token-file FILE"}
	case o.endpoint != "":
		a.Endpoint = o.endpoint
	case o.tokenFile != "":
		if a.TokenFile, err = filepath.Abs(o.tokenFile); err != nil {
			return a, err
		}
	}
	if o.region != "" {
		a.Region = o.region
	}
	if a.Kind != sessionsync.KindFolder {
		return a, nil
	}
	if info, err := os.Stat(a.Path); err != nil || !info.IsDir() {
		return a, &hinted{failure.Of(firn.ErrNotFound, "%s is not a folder", target), "create it or mount the share first"}
	}
	return a, nil
}

// within reports whether a path is a directory or below it, with symbolic links resolved.
func within(dir, path string) bool {
	for _, p := range []*string{&dir, &path} {
		if abs, err := filepath.Abs(*p); err == nil {
			*p = abs
		}
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// addTarget adds a target to the configuration.
func (p syncCommands) addTarget(ctx context.Context, name, given string, o adding) (err error) {
	s, err := p.openSync(ctx)
	if err == nil {
		err = sessionsync.CheckName(name)
	}
	if err != nil {
		return err
	}
	a, err := o.addressOf(given)
	if err != nil {
		return err
	}
	if a.Kind == sessionsync.KindFolder && within(filepath.Dir(s.dir), a.Path) {
		return &hinted{failure.Of(firn.ErrInvalid, "%s is in the home %s itself", given, filepath.Dir(s.dir)), "choose a folder that other machines can reach, such as a mounted share"}
	}
	address := a.String()
	target, release, err := openTarget(ctx, address, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	identity, err := p.readIdentity(ctx, o.identity)
	if err != nil {
		return err
	}
	var created bool
	err = s.change(func(c *sessionsync.Config) (bool, error) {
		if old := c.Targets[name]; old != "" {
			return false, &hinted{failure.Of(firn.ErrConflict, "the target %s exists: %s", name, old), "choose another name, or remove it: firn sync rm " + name}
		}
		if created, err = takeIdentity(ctx, s.dir, identity, target); err != nil {
			return false, err
		}
		if c.Targets[name] = address; o.machine != "" {
			c.Name = prose.OneLine(o.machine, 60)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	out := struct {
		Name   string `json:"name"`
		Target string `json:"target"`
	}{name, address}
	return p.print(out, func() string {
		text := fmt.Sprintf("added %s: %s\n", name, prose.Clean(address))
		if created {
			text += "created a sync identity; other machines need it: firn sync identity\n"
		}
		return text + "to sync: firn sync " + name + "\nundo: firn sync rm " + name + "\n"
	})
}

// takeIdentity stores the given identity, or creates one if the home has none. It reports
// whether it created one. It stores nothing if other machines use another one on the target.
func takeIdentity(ctx context.Context, dir string, given *sessionsync.Identity, target sessionsync.Target) (bool, error) {
	have, err := sessionsync.ReadIdentity(syncFiles(dir), dir)
	if err != nil {
		return false, err
	}
	if given == nil {
		if err := have.CheckAccess(ctx, target); err != nil || have != nil {
			return false, err
		}
		if have, err = sessionsync.NewIdentity(); err != nil {
			return false, err
		}
		return true, have.Write(syncFiles(dir), dir)
	}
	if have != nil && have.Recipient() != given.Recipient() {
		return false, &hinted{failure.Of(firn.ErrConflict, "this home has another sync identity"), "remove its targets and the file sync/identity of the home first"}
	}
	if err := given.CheckAccess(ctx, target); err != nil {
		return false, err
	}
	return false, given.Write(syncFiles(dir), dir)
}

// readIdentity reads an identity from a file or stdin; nil if none is given.
func (p syncCommands) readIdentity(ctx context.Context, from string) (*sessionsync.Identity, error) {
	if from == "" {
		return nil, nil
	}
	input := p.input(ctx)
	if from != "-" {
		file, err := os.Open(from)
		if err != nil {
			return nil, fmt.Errorf("read the sync identity: %w", err)
		}
		defer file.Close()
		input = file
	}
	text, err := io.ReadAll(io.LimitReader(input, 64<<10))
	if err != nil {
		return nil, fmt.Errorf("read the sync identity: %w", err)
	}
	given, err := sessionsync.ParseIdentity(string(text))
	if err != nil {
		return nil, &hinted{err, "print it on the other machine: firn sync identity"}
	}
	return given, nil
}

func (p syncCommands) syncRmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Stop syncing with a target",
		Long: `Stop syncing with a target. The sessions of this home and the files on the
target stay as they are. If the target is added again, the next sync compares
everything.`,
		Example: "  firn sync rm share",
		Args:    args(1, 1, "one target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := p.openSync(cmd.Context())
			if err != nil {
				return err
			}
			if _, err := s.targets(args); err != nil {
				return err
			}
			name, address := args[0], s.config.Targets[args[0]]
			if err := sessionsync.RemoveTarget(s.files(), s.dir, name); err != nil {
				return err
			}
			return p.print(map[string]string{"removed": name}, func() string {
				return fmt.Sprintf("removed %s; the files in %s stay\nundo: firn sync add %s %s\n", name, prose.Clean(address), name, quote(address))
			})
		},
	}
}

func (p syncCommands) syncIdentityCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "identity",
		Short: "Print the sync identity for another machine",
		Long: `Print the sync identity, the secret that decrypts everything on the targets,
for firn sync add --identity on another machine.`,
		Example: "  firn sync identity > identity.txt",
		Args:    args(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.openSync(cmd.Context())
			if err != nil {
				return err
			}
			identity, err := sessionsync.ReadIdentity(s.files(), s.dir)
			if err == nil && identity == nil {
				err = &hinted{failure.Of(firn.ErrNotFound, "this home has no sync identity"), "it is created with the first target: firn sync add NAME TARGET"}
			}
			if err != nil {
				return err
			}
			return p.print(map[string]string{"recipient": identity.Recipient(), "identity": identity.Text()}, identity.Text)
		},
	}
}
