package sessionsync

import (
	"net"
	"net/netip"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/base/pattern"
)

// Kind is a kind of target.
type Kind string

// The kinds of targets.
const (
	KindFolder Kind = "folder"
	KindS3     Kind = "s3"
	KindSSH    Kind = "ssh"
	// KindGateway is a gateway that keeps the files.
	KindGateway Kind = "gateway"
)

// Address says where a target is. Its text, in the configuration and on the command line, is
// the path of a folder, or a URL:
//
//	s3://BUCKET[/PREFIX][?endpoint=URL&region=REGION]
//	ssh://[USER@]HOST[:PORT][/PATH], where /~/PATH is relative to the home directory
//	https://HOST[:PORT][/PATH][?token-file=FILE]
type Address struct {
	Kind Kind
	// Path is the folder, or the prefix of names in a bucket. On another machine it may be
	// relative to the home directory, or empty for the default folder.
	Path string
	// Bucket, Endpoint and Region describe a bucket. The last two may be empty.
	Bucket, Endpoint, Region string
	// URL is the address of a gateway, TokenFile the file with its token.
	URL, TokenFile string
	// User, Host and Port describe another machine. The user and the port may be empty.
	User, Host, Port string
}

// scheme matches the beginning of a URL. A drive letter of Windows is no scheme.
var scheme = pattern.New(`^[A-Za-z][A-Za-z0-9+.-]+://`)

// ParseAddress reads the text of an address. The path of a folder must be absolute or is
// relative to the current directory.
func ParseAddress(text string) (Address, error) {
	if !scheme().MatchString(text) {
		dir, err := filepath.Abs(text)
		return Address{Kind: KindFolder, Path: dir}, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "the target %.200q is not a valid URL", text), addressHint)
	}
	switch u.Scheme {
	case "s3":
		return parseBucket(u)
	case "ssh":
		return parseMachine(u)
	case "https", "http":
		return parseGateway(u)
	}
	return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "%s:// is not a kind of target", u.Scheme), addressHint)
}

const addressHint = "a target is a folder, s3://BUCKET/PREFIX, ssh://HOST/PATH or https://HOST, a gateway"

// bucketName is the form of the names of buckets; the server knows the details.
var bucketName = pattern.New(`^[A-Za-z0-9][A-Za-z0-9._-]{1,62}$`)

func parseBucket(u *url.URL) (Address, error) {
	a := Address{Kind: KindS3, Bucket: u.Host, Path: strings.Trim(path.Clean("/"+u.Path), "/")}
	query, err := url.ParseQuery(u.RawQuery)
	for key := range query {
		if key != "endpoint" && key != "region" || len(query[key]) != 1 {
			return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "the address of a bucket has no parameter %.60q", key), "use endpoint and region")
		}
	}
	a.Endpoint, a.Region = query.Get("endpoint"), query.Get("region")
	switch {
	case u.User != nil:
		// The error must not repeat what may be a secret.
		return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "an address has no credentials in it"), "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to the shared credentials file (~/.aws/credentials)")
	case err != nil || u.Fragment != "":
		return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "the address of the bucket is not valid"), addressHint)
	case !bucketName().MatchString(a.Bucket):
		return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "%.80q is not the name of a bucket", a.Bucket), addressHint)
	}
	return a, nil
}

func parseGateway(u *url.URL) (Address, error) {
	query, err := url.ParseQuery(u.RawQuery)
	for key := range query {
		if key != "token-file" || len(query[key]) != 1 {
			return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "the address of a gateway has no parameter %.60q", key), "use --token-file FILE")
		}
	}
	local := u.Hostname() == "localhost"
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil {
		local = ip.IsLoopback()
	}
	switch {
	case u.User != nil:
		// The error must not repeat what may be a secret.
		return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "an address has no credentials in it"), "write the token to a file and use --token-file FILE")
	case err != nil || u.Fragment != "" || u.Host == "":
		return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "the address of the gateway is not valid"), "use https://HOST or https://HOST:PORT")
	case u.Scheme == "http" && !local:
		return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "others could read the token on the way to %.200s", u.Host), "use https, or ssh://HOST")
	}
	base := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	return Address{Kind: KindGateway, URL: base.String(), TokenFile: query.Get("token-file")}, nil
}

// sshName is the form of users and hosts. They never begin like an option of ssh.
var sshName = pattern.New(`^[A-Za-z0-9_:][A-Za-z0-9._:%-]*$`)

func parseMachine(u *url.URL) (Address, error) {
	a := Address{Kind: KindSSH, User: u.User.Username(), Host: u.Hostname(), Port: u.Port()}
	if _, secret := u.User.Password(); secret {
		return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "an address has no password in it"), "use keys: ssh-copy-id")
	}
	if !sshName().MatchString(a.Host) || a.User != "" && !sshName().MatchString(a.User) || u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(u.Path, "\x00\r\n") {
		return Address{}, failure.WithHint(failure.Of(firn.ErrInvalid, "the address of the machine is not valid"), "use ssh://HOST/PATH or ssh://USER@HOST:PORT/PATH; /~/PATH is relative to the home directory")
	}
	a.Path = path.Clean("/" + u.Path)
	if relative, ok := strings.CutPrefix(a.Path+"/", "/~/"); ok || a.Path == "/" {
		a.Path = strings.Trim(relative, "/")
	}
	return a, nil
}

// sshURL returns the text of an address of another machine.
func (a Address) sshURL() string {
	u := url.URL{Scheme: "ssh", Host: a.Host, Path: a.Path}
	switch {
	case a.Port != "":
		u.Host = net.JoinHostPort(a.Host, a.Port)
	case strings.Contains(a.Host, ":"):
		u.Host = "[" + a.Host + "]"
	}
	if a.User != "" {
		u.User = url.User(a.User)
	}
	if a.Path != "" && a.Path[0] != '/' {
		u.Path = "/~/" + a.Path
	}
	return u.String()
}

// String returns the text of an address.
func (a Address) String() string {
	switch a.Kind {
	case KindSSH:
		return a.sshURL()
	case KindFolder:
		return a.Path
	case KindGateway:
		if a.TokenFile == "" {
			return a.URL
		}
		return a.URL + "?" + url.Values{"token-file": {a.TokenFile}}.Encode()
	}
	u := url.URL{Scheme: "s3", Host: a.Bucket, Path: a.Path}
	query := make(url.Values)
	if a.Endpoint != "" {
		query.Set("endpoint", a.Endpoint)
	}
	if a.Region != "" {
		query.Set("region", a.Region)
	}
	u.RawQuery = query.Encode()
	return u.String()
}
