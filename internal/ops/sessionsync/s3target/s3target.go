// Package s3target keeps the files of a sync in an S3 bucket. It implements the interface
// Remote of package sessionsync.
package s3target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// Options describe a bucket and how to reach it.
type Options struct {
	// Bucket is the name of the bucket, Prefix the beginning of all names in it; it may be
	// empty.
	Bucket, Prefix string
	// Endpoint is the URL of the server; empty for Amazon's.
	Endpoint string
	// Region is the region of the bucket. Without it, the server is asked.
	Region string
	// Reader wraps what is read and sent, to limit the bandwidth. It may be nil.
	Reader func(ctx context.Context, from io.Reader) io.Reader
	// Pause is the time before the first retry of a request; each further one takes twice as
	// long. 0 means 200 ms.
	Pause time.Duration
	// MaxFile is the size of the largest file that is read.
	MaxFile int64
}

// Bucket is a bucket, or the part of it below a prefix.
type Bucket struct {
	o      Options
	client minio.Core
	creds  *credentials.Credentials
	host   string
	// plain is set if the server rejects conditional requests.
	plain bool
}

// New returns a bucket. It sends no request. Credentials are taken from the environment
// (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN) or the shared credentials file
// (AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE) when the first request is sent.
func New(o Options) (*Bucket, error) {
	if o.Pause == 0 {
		o.Pause = 200 * time.Millisecond
	}
	if o.Reader == nil {
		o.Reader = func(_ context.Context, from io.Reader) io.Reader { return from }
	}
	host, secure := "s3.amazonaws.com", true
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return nil, failure.WithHint(failure.Of(firn.ErrInvalid, "the endpoint %.200q is not the URL of an S3 server", o.Endpoint), "use https://HOST or https://HOST:PORT")
		}
		host, secure = u.Host, u.Scheme == "https"
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	transport.DialContext = dialAlive(transport.DialContext)
	creds := credentials.New(&credentials.Chain{Providers: []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}})
	// Requests are repeated here, also those that the library does not repeat.
	client, err := minio.NewCore(host, &minio.Options{Creds: creds, Secure: secure, Region: o.Region, Transport: transport, MaxRetries: 1})
	if err != nil {
		return nil, failure.WithHint(failure.Of(firn.ErrInvalid, "the endpoint %.200q cannot be used: %v", o.Endpoint, err), "use https://HOST or https://HOST:PORT")
	}
	return &Bucket{o: o, client: *client, creds: creds, host: host}, nil
}

// key returns the name of a file in the bucket.
func (b *Bucket) key(name string) string {
	if b.o.Prefix == "" {
		return name
	}
	return b.o.Prefix + "/" + name
}

// All returns the names of all files below the prefix.
func (b *Bucket) All(ctx context.Context) (names []string, err error) {
	err = b.try(ctx, func() error {
		names = nil
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for object := range b.client.ListObjectsIter(ctx, b.o.Bucket, minio.ListObjectsOptions{Prefix: b.key(""), Recursive: true}) {
			if object.Err != nil {
				return object.Err
			}
			if name := strings.TrimPrefix(object.Key, b.key("")); !strings.HasSuffix(name, "/") {
				names = append(names, name)
			}
		}
		return ctx.Err()
	})
	return names, b.explain("list the bucket", err)
}

// Get returns the content of a file, or ErrNotFound.
func (b *Bucket) Get(ctx context.Context, name string) (data []byte, err error) {
	err = b.try(ctx, func() error {
		body, _, _, err := b.client.GetObject(ctx, b.o.Bucket, b.key(name), minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer func() { _ = body.Close() }() // everything was read
		data, err = io.ReadAll(io.LimitReader(b.o.Reader(ctx, body), b.o.MaxFile+1))
		return err
	})
	if is(err, minio.NoSuchKey) {
		return nil, failure.Of(firn.ErrNotFound, "%s is not on the target", name)
	}
	if err == nil && int64(len(data)) > b.o.MaxFile {
		return nil, failure.Of(firn.ErrTooLarge, "read %s: it is too large", name)
	}
	return data, b.explain("read "+name, err)
}

// Put creates a file. It does nothing if the file exists: it looks for it first, and then asks
// the server to create it only if it does not exist (If-None-Match: *), so that a repeated or
// concurrent request replaces nothing. Where a server does not support that condition, only
// the first check remains.
func (b *Bucket) Put(ctx context.Context, name string, data []byte) error {
	err := b.try(ctx, func() error {
		_, err := b.client.StatObject(ctx, b.o.Bucket, b.key(name), minio.StatObjectOptions{})
		if !is(err, minio.NoSuchKey) {
			return err
		}
		err = b.create(ctx, name, data, !b.plain)
		if !b.plain && rejectsCondition(err) {
			b.plain = true
			err = b.create(ctx, name, data, false)
		}
		return err
	})
	return b.explain("write "+name, err)
}

// create sends a file in one request, which takes effect as a whole or not at all.
func (b *Bucket) create(ctx context.Context, name string, data []byte, conditional bool) error {
	o := minio.PutObjectOptions{DisableMultipart: true, ContentType: "application/octet-stream"}
	if conditional {
		o.SetMatchETagExcept("*")
	}
	body := &body{from: bytes.NewReader(data), wrap: func(r io.Reader) io.Reader { return b.o.Reader(ctx, r) }}
	_, err := b.client.Client.PutObject(ctx, b.o.Bucket, b.key(name), body, int64(len(data)), o)
	if is(err, minio.PreconditionFailed) {
		return nil // it was created meanwhile; the name says what it contains
	}
	return err
}

// body is the body of a request. It can be sent again, and hides that it is in memory, since
// the library would otherwise not use the wrapped reader.
type body struct {
	from    *bytes.Reader
	wrap    func(io.Reader) io.Reader
	wrapped io.Reader
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.wrapped == nil {
		b.wrapped = b.wrap(b.from)
	}
	return b.wrapped.Read(p)
}

// Seek implements io.Seeker.
func (b *body) Seek(offset int64, whence int) (int64, error) { return b.from.Seek(offset, whence) }

// tries is how often a request is sent.
const tries = 4

// try calls do until it succeeds or fails for good.
func (b *Bucket) try(ctx context.Context, do func() error) error {
	if err := b.checkCredentials(); err != nil {
		return err
	}
	pause := b.o.Pause
	for n := 1; ; n++ {
		err := do()
		if err == nil || n == tries || ctx.Err() != nil || !isTransient(err) || b.o.Region != "" && is(err, wrongRegion...) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
		pause *= 2
	}
}

// checkCredentials reports missing credentials. The library would send anonymous requests.
func (b *Bucket) checkCredentials() error {
	value, err := b.creds.GetWithContext(nil)
	if err == nil && (value.AccessKeyID == "" || value.SecretAccessKey == "") {
		return errNoCredentials
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNoCredentials, err)
	}
	return nil
}

var errNoCredentials = errors.New("there are no S3 credentials")

// statusOf returns the HTTP status of an error; 0 if the server did not answer.
func statusOf(err error) int {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) {
		return 0
	}
	return answer.StatusCode
}

// is reports whether an error is the server's answer with this code.
func is(err error, codes ...string) bool {
	var answer minio.ErrorResponse
	if !errors.As(err, &answer) {
		return false
	}
	for _, code := range codes {
		if answer.Code == code {
			return true
		}
	}
	return false
}

// rejectsCondition reports whether a server does not know the condition of a request.
func rejectsCondition(err error) bool {
	return statusOf(err) == http.StatusNotImplemented || is(err, "NotImplemented", "InvalidArgument", "InvalidRequest")
}
