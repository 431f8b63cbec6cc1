package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"firn.dev/internal/base/pattern"
)

// Store configures the storage of sessions.
type Store struct {
	URL      string `key:"url" is:"store" default:"file:" doc:"The location: file: for plain files in the home, or file: and another directory; nats://host:4222,host2:4222 (or tls://) for a cluster of NATS servers shared by several gateways; nats-embedded: and a directory for a NATS server inside firn's process."`
	Sync     string `key:"sync" default:"turn" allow:"turn|always|never" doc:"When entries are synced to disk. turn and always sync before acknowledging; turn syncs partial answers later, always syncs them as well. never leaves it to the operating system, so a power failure may lose entries. A cluster always syncs."`
	PartSize Bytes  `key:"part_size" default:"50mb" range:"4kb..1tb" doc:"The size at which a transcript continues in a new file."`
	MaxLine  Bytes  `key:"max_line" default:"64mb" range:"1mb..1gb" doc:"The longest line of a transcript. A longer entry is rejected. A longer line already in the file is reported and left out of reads, lists and searches, but stays in the file; raise this limit to read it. Applies only to file stores."`
	MaxBytes Bytes  `key:"max_bytes" default:"0" doc:"The largest size of a transcript; appending beyond it fails. 0 means no limit. Applies only to file stores."`

	RotateKeys Bytes `key:"rotate_keys" default:"10mb" doc:"Above this size the key table, sessions.json, is copied to sessions.json.bak.<milliseconds> before a change, at most once a day. The latest three copies are kept. 0 means never. Applies only to file stores."`

	Credentials string        `key:"credentials_file" is:"path" doc:"The credentials file (.creds) of the account in the cluster. Empty means that none is needed."`
	CA          string        `key:"ca_file" is:"path" doc:"The CA certificates (PEM) to verify the servers with. Empty means those of the system."`
	Cert        string        `key:"cert_file" is:"path" doc:"The client certificate (PEM), if the servers require one."`
	Key         string        `key:"key_file" is:"path" doc:"The private key of cert_file (PEM)."`
	Space       string        `key:"space" is:"space" default:"firn" doc:"The prefix of stream names. Stores with different prefixes can share an account without seeing each other."`
	Shards      int           `key:"shards" default:"0" range:"0..4096" doc:"The number of streams that sessions are distributed over. It is set when the store is created and cannot be changed later. 0 means 8, or 1 if the server is embedded."`
	Replicas    int           `key:"replicas" default:"0" range:"0..5" doc:"The number of replicas of each stream, applied when the store is created. 0 means 3 in a cluster and 1 on a single server."`
	Monitors    []string      `key:"monitors" is:"url" doc:"The monitoring addresses of the servers, each as http://host:8222. firn checks that each server syncs to disk before it acknowledges, and does not start with one that does not. A server that is away at the start is checked when it returns, and reported."`
	AllowUnsafe bool          `key:"allow_unsafe" default:"false" doc:"Accept a cluster that may lose acknowledged entries: one with fewer than 3 replicas, one that syncs only periodically, or one whose sync setting is unknown."`
	SealAfter   time.Duration `key:"seal_after" default:"10m" doc:"Merge and compress the messages of a session in a cluster after this long without activity. 0 means never."`
	MemoryLimit Bytes         `key:"memory_limit" default:"512mib" range:"64mb.." doc:"The soft memory limit of the process, including an embedded server. Above it, garbage is collected more often; nothing fails. GOMEMLIMIT in the environment takes precedence."`

	Mirror      string        `key:"mirror" is:"path" doc:"A directory in which the gateway keeps a copy of all sessions as plain files, readable with firn --home. Empty means none; firn mirror also makes one."`
	MirrorEvery time.Duration `key:"mirror_every" default:"24h" range:"1m..365d" doc:"How often new entries are copied there."`
}

// Embedded returns the directory of the embedded server. ok is false if the store is of
// another kind.
func (s Store) Embedded() (dir string, ok bool) { return strings.CutPrefix(s.URL, embeddedScheme) }

// Files returns the directory of sessions in plain files. ok is false if the store is of
// another kind.
func (s Store) Files(home string) (dir string, ok bool) {
	dir, ok = strings.CutPrefix(s.URL, "file:")
	if dir == "" {
		dir = home
	}
	return dir, ok || s.URL == ""
}

const embeddedScheme = "nats-embedded:"

// StoreURL validates a store URL given by the user and makes its path absolute using whole.
func StoreURL(text string, whole func(path string) (string, error)) (string, error) {
	if err := checkStore(text); err != nil {
		return "", err
	}
	for _, scheme := range []string{"file:", embeddedScheme} {
		if path, ok := strings.CutPrefix(text, scheme); ok && path != "" {
			path, err := whole(path)
			return scheme + path, err
		}
	}
	return text, nil
}

func checkStore(text string) error {
	if strings.HasPrefix(text, "file:") {
		return checkPath(strings.TrimPrefix(text, "file:"))
	}
	if dir, ok := strings.CutPrefix(text, embeddedScheme); ok {
		if dir == "" {
			return errors.New("nats-embedded: needs the directory of the server's files")
		}
		return checkPath(dir)
	}
	scheme, hosts, ok := strings.Cut(text, "://")
	if !ok || scheme != "nats" && scheme != "tls" {
		return errors.New("expected file:, file: and a directory, nats:// and hosts, or nats-embedded: and a directory")
	}
	for _, host := range strings.Split(hosts, ",") {
		if err := checkServer(scheme, host); err != nil {
			return err
		}
	}
	return nil
}

// checkServer validates a server in a list, where all but the first may omit the scheme.
func checkServer(scheme, text string) error {
	if !strings.Contains(text, "://") {
		text = scheme + "://" + text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls" || u.RawQuery != "":
		return errors.New("expected nats:// and hosts separated by commas, such as nats://a:4222,b:4222")
	case u.User != nil:
		return errors.New("a URL in the settings must not contain a password; use store.credentials_file")
	case u.Path != "":
		return errors.New("the URL of a cluster has no path; use store.space")
	}
	return nil
}

var spaceForm = pattern.New(`^[A-Za-z0-9]{1,64}$`)

func checkSpace(text string) error {
	if !spaceForm().MatchString(text) {
		return fmt.Errorf("got %s, expected letters and digits, at most 64", quoted(text))
	}
	return nil
}

// checkStoreSettings checks for contradictory store settings.
func (d *decoder) checkStoreSettings(s *Settings) {
	st := s.Store
	dir, embedded := st.Embedded()
	files, plain := st.Files(s.Home)
	// If a flag or variable names another store, the other settings need not match it.
	passing := s.StoreOverridden()
	for name, set := range map[string]bool{
		"credentials_file": st.Credentials != "", "ca_file": st.CA != "", "cert_file": st.Cert != "", "key_file": st.Key != "",
		"monitors": len(st.Monitors) > 0, "replicas": st.Replicas > 1,
	} {
		if set && (plain || embedded) && !passing {
			d.at(s, "store."+name, "set store.url to nats://host:4222, or remove it", "only applies to a cluster, but store.url names none")
		}
	}
	if (st.Cert == "") != (st.Key == "") {
		d.at(s, "store.cert_file", "set both or none", "cert_file and key_file must be set together")
	}
	if st.Mirror == "" {
		return
	}
	mirror := filepath.Clean(s.vars.expand(st.Mirror))
	for what, other := range map[string]string{"the sessions": files, "the embedded server's files": dir} {
		if other != "" && (plain || embedded) && within(mirror, filepath.Clean(s.vars.expand(other))) {
			d.at(s, "store.mirror", "choose another directory", "the copy cannot be in the directory of %s", what)
		}
	}
}

// within reports whether dir is other or below it.
func within(dir, other string) bool {
	rel, err := filepath.Rel(other, dir)
	return err == nil && (rel == "." || rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)))
}
