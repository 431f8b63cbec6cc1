package s3target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/minio/minio-go/v7"

	"firn.dev"
	"firn.dev/internal/base/failure"
)

// wrongRegion are the answers to a request that was signed for another region. They name the
// right one, which the library uses next if none was given.
var wrongRegion = []string{"AuthorizationHeaderMalformed", "InvalidRegion"}

// isTransient reports whether a request may succeed if it is sent again.
func isTransient(err error) bool {
	var answer minio.ErrorResponse
	switch {
	case errors.Is(err, errNoCredentials), isCertificate(err):
		return false
	case !errors.As(err, &answer):
		return true // the network
	case is(err, wrongRegion...):
		return answer.Region != ""
	case is(err, "RequestTimeout", "SlowDown", "ConditionalRequestConflict", "OperationAborted"):
		return true
	}
	return answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusRequestTimeout ||
		answer.StatusCode >= 500 && answer.StatusCode != http.StatusNotImplemented
}

func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var header tls.RecordHeaderError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &header)
}

// rejected is an error about credentials, which every other request would have too.
type rejected struct{ error }

// ConcernsAll reports that it ends a sync.
func (rejected) ConcernsAll() bool { return true }

// Unwrap returns the error.
func (r rejected) Unwrap() error { return r.error }

// explain returns an error with its kind and a hint. Errors that every other request would
// have too are ErrUnavailable or rejected, and never ErrNotFound.
func (b *Bucket) explain(doing string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var answer minio.ErrorResponse
	switch {
	case errors.Is(err, errNoCredentials):
		return failure.WithHint(rejected{failure.Of(fs.ErrPermission, "%v", err)}, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write them to the shared credentials file (~/.aws/credentials)")
	case isCertificate(err):
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "the certificate of %s is not accepted: %v", b.host, cause(err)), "check --endpoint; SSL_CERT_FILE names further certificate authorities")
	case !errors.As(err, &answer):
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "%s cannot be reached: %v", b.host, cause(err)), "check the network and --endpoint; the next sync continues")
	}
	switch answer.Code {
	case minio.NoSuchBucket, "InvalidBucketName":
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "there is no bucket %s on %s", b.o.Bucket, b.host), "create it, or check its name and --endpoint")
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "InvalidSecurity":
		return failure.WithHint(rejected{failure.Of(fs.ErrPermission, "%s rejected the S3 credentials (%s)", b.host, answer.Code)}, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the shared credentials file and AWS_PROFILE")
	case "RequestTimeTooSkewed", "RequestExpired":
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "%s rejected the request because the clock of this machine is wrong", b.host), "set the clock and sync again")
	case "AuthorizationHeaderMalformed", "InvalidRegion", "PermanentRedirect", "IllegalLocationConstraintException":
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "the bucket %s is in another region", b.o.Bucket), regionHint(answer.Region))
	case minio.AccessDenied, "AllAccessDisabled":
		return failure.WithHint(failure.Of(fs.ErrPermission, "%s: the credentials do not permit it", doing), "they need s3:ListBucket on the bucket, and s3:GetObject and s3:PutObject on its objects")
	}
	if answer.StatusCode == 0 || isTransient(err) {
		return failure.WithHint(failure.Of(firn.ErrUnavailable, "%s has a problem (%s)", b.host, answer.Code), "try again later; the next sync continues")
	}
	return fmt.Errorf("%s: %s (%s)", doing, answer.Error(), answer.Code)
}

func regionHint(region string) string {
	if region == "" {
		return "remove the target and add it again with --region REGION"
	}
	return "remove the target and add it again with --region " + region
}

// cause returns the cause of a failed request, without its URL, which has a signature.
func cause(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// silence is the time after which a connection on which nothing moves is closed. It only ends
// connections that hang.
const silence = 2 * time.Minute

// dialAlive returns a function that dials connections that end when nothing moves on them.
func dialAlive(dial func(ctx context.Context, network, address string) (net.Conn, error)) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return alive{conn}, nil
	}
}

// alive is a connection that ends when nothing moves on it.
type alive struct{ net.Conn }

// Read implements net.Conn.
func (a alive) Read(b []byte) (int, error) {
	if err := a.SetReadDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return a.Conn.Read(b)
}

// Write implements net.Conn. It extends the deadline of reads too: the response to a long
// request comes at its end.
func (a alive) Write(b []byte) (int, error) {
	if err := a.SetDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return a.Conn.Write(b)
}
