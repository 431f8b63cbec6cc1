package trace

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"firn.dev"
)

// Settings configures which traces are sampled and where spans are sent.
type Settings struct {
	// URL is the collector's address, Header the request headers, Timeout the limit for a
	// request. Gzip enables compression.
	URL     string
	Header  http.Header
	Timeout time.Duration
	Gzip    bool
	// Service is the name of the process, Version its version, Resource further attributes
	// of it.
	Service, Version string
	Resource         []Attribute
	// Report is called with a sentence when spans cannot be sent, and when they can be sent
	// again; it may be nil.
	Report func(message string)

	sampler sampler
}

// The default address of a collector, and the path for spans.
const (
	usualEndpoint = "http://localhost:4318"
	tracesPath    = "/v1/traces"
)

const usualTimeout = 10 * time.Second

// FromEnv reads OpenTelemetry's environment variables. ok is false if they do not enable
// traces; the error describes an invalid variable.
//
// Traces are enabled by OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or
// OTEL_TRACES_EXPORTER=otlp, unless OTEL_SDK_DISABLED is true or OTEL_TRACES_EXPORTER is
// none.
func FromEnv(env func(name string) string) (s Settings, ok bool, err error) {
	get := func(name string) string { return strings.TrimSpace(env("OTEL_" + name)) }
	// otlp returns the variable for traces, or else the one for all signals.
	otlp := func(name string) string {
		if own := get("EXPORTER_OTLP_TRACES_" + name); own != "" {
			return own
		}
		return get("EXPORTER_OTLP_" + name)
	}
	exporter := get("TRACES_EXPORTER")
	if strings.EqualFold(get("SDK_DISABLED"), "true") || exporter == "none" || exporter == "" && otlp("ENDPOINT") == "" {
		return s, false, nil
	}
	if exporter != "" && exporter != "otlp" {
		return s, false, fmt.Errorf("OTEL_TRACES_EXPORTER is %.20q: only otlp and none are supported: %w", exporter, firn.ErrUnsupported)
	}
	if protocol := otlp("PROTOCOL"); protocol == "grpc" {
		return s, false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is grpc: only HTTP is supported, usually on port 4318: %w", firn.ErrUnsupported)
	}
	s = Settings{Service: get("SERVICE_NAME"), Timeout: usualTimeout, Gzip: otlp("COMPRESSION") == "gzip"}
	if s.URL, err = endpoint(get); err != nil {
		return s, false, err
	}
	if ms, err := strconv.Atoi(otlp("TIMEOUT")); err == nil && ms > 0 {
		s.Timeout = time.Duration(ms) * time.Millisecond
	}
	s.Header = make(http.Header)
	pairs(otlp("HEADERS"), func(name, value string) { s.Header.Set(name, value) })
	pairs(get("RESOURCE_ATTRIBUTES"), func(name, value string) {
		if name != "service.name" {
			s.Resource = append(s.Resource, String(name, value))
		} else if s.Service == "" {
			s.Service = value
		}
	})
	s.sampler, err = parseSampler(get("TRACES_SAMPLER"), get("TRACES_SAMPLER_ARG"))
	return s, err == nil, err
}

// endpoint returns the address of the collector.
func endpoint(get func(string) string) (string, error) {
	at := get("EXPORTER_OTLP_TRACES_ENDPOINT")
	whole := at != ""
	if !whole {
		at = get("EXPORTER_OTLP_ENDPOINT")
	}
	if at == "" {
		at = usualEndpoint
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		// The error omits the address, which may contain a password.
		return "", fmt.Errorf("the endpoint of the OTLP collector is not an http:// or https:// URL: %w", firn.ErrInvalid)
	}
	if !whole {
		u.Path = strings.TrimRight(u.Path, "/") + tracesPath
	}
	return u.String(), nil
}

// pairs parses name=value pairs separated by commas, as in W3C baggage.
func pairs(text string, take func(name, value string)) {
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		value = strings.TrimSpace(value)
		if plain, err := url.PathUnescape(value); err == nil {
			value = plain
		}
		take(name, value)
	}
}

// sampler decides which traces are sampled. The zero value follows the parent's decision
// and samples all traces without a parent.
type sampler struct {
	// alone ignores the parent's decision.
	alone bool
	// skip is the fraction of traces without a parent that are not sampled.
	skip float64
}

// parseSampler parses the name of a sampler.
func parseSampler(name, argument string) (sampler, error) {
	bare, follows := strings.CutPrefix(name, "parentbased_")
	s := sampler{alone: !follows && name != ""}
	switch bare {
	case "", "always_on":
	case "always_off":
		s.skip = 1
	case "traceidratio":
		ratio := 1.0
		if argument != "" {
			var err error
			if ratio, err = strconv.ParseFloat(argument, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
				return s, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %.20q, expected a number from 0 to 1: %w", argument, firn.ErrInvalid)
			}
		}
		s.skip = 1 - ratio
	default:
		return s, fmt.Errorf("unknown OTEL_TRACES_SAMPLER %.40q: %w", name, firn.ErrUnsupported)
	}
	return s, nil
}

// samples reports whether a span is sampled. The decision is the same for all spans of a
// trace.
func (s sampler) samples(parent Context, trace [16]byte) bool {
	if !s.alone && !parent.IsZero() {
		return parent.Sampled
	}
	if s.skip <= 0 {
		return true
	}
	return float64(binary.BigEndian.Uint64(trace[8:])>>1) >= s.skip*math.MaxInt64
}
