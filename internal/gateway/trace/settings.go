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

// Settings say what is traced and where spans are sent.
type Settings struct {
	// URL is where spans are sent, Header what is sent with them, Timeout how
	// long that may take; Gzip packs them.
	URL     string
	Header  http.Header
	Timeout time.Duration
	Gzip    bool
	// Service is what the process is called, Version which one it is, Resource
	// what else is said of it.
	Service, Version string
	Resource         []Attribute
	// Report is told, in a sentence, when spans cannot be sent, and when they can
	// again; nil means nobody.
	Report func(message string)

	sampler sampler
}

// where a collector listens if nobody says otherwise, and what is added to the
// address of one that takes more than spans.
const (
	usualEndpoint = "http://localhost:4318"
	tracesPath    = "/v1/traces"
)

const usualTimeout = 10 * time.Second

// FromEnv reads the variables that OpenTelemetry has for it. It is false if
// they do not ask for traces; the error says what is wrong with them.
//
// Traces are asked for by OTEL_EXPORTER_OTLP_ENDPOINT,
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_TRACES_EXPORTER=otlp, unless
// OTEL_SDK_DISABLED is true or OTEL_TRACES_EXPORTER is none.
func FromEnv(env func(name string) string) (s Settings, ok bool, err error) {
	get := func(name string) string { return strings.TrimSpace(env("OTEL_" + name)) }
	// otlp is a variable that there is for traces alone, and for all.
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
		return s, false, fmt.Errorf("OTEL_TRACES_EXPORTER is %.20q: only otlp and none are there: %w", exporter, firn.ErrUnsupported)
	}
	if protocol := otlp("PROTOCOL"); protocol == "grpc" {
		return s, false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is grpc: spans are sent over HTTP only, where collectors listen on port 4318: %w", firn.ErrUnsupported)
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

// endpoint finds the address of the collector.
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
		// It may hold a password, so it is not repeated.
		return "", fmt.Errorf("the address of the OTLP collector is no URL that begins with http:// or https://: %w", firn.ErrInvalid)
	}
	if !whole {
		u.Path = strings.TrimRight(u.Path, "/") + tracesPath
	}
	return u.String(), nil
}

// pairs reads name=value, parted by commas, as the W3C's baggage spells them.
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

// sampler decides which traces are kept. The zero value keeps what the parent
// keeps, and all that has none.
type sampler struct {
	// alone: what a parent says does not count.
	alone bool
	// skip is the part of the traces without a parent that is not kept.
	skip float64
}

// parseSampler reads the name of a sampler.
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
				return s, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG is %.20q, want a number from 0 to 1: %w", argument, firn.ErrInvalid)
			}
		}
		s.skip = 1 - ratio
	default:
		return s, fmt.Errorf("there is no OTEL_TRACES_SAMPLER %.40q: %w", name, firn.ErrUnsupported)
	}
	return s, nil
}

// samples decides about a span. All spans of a trace are decided alike.
func (s sampler) samples(parent Context, trace [16]byte) bool {
	if !s.alone && !parent.IsZero() {
		return parent.Sampled
	}
	if s.skip <= 0 {
		return true
	}
	return float64(binary.BigEndian.Uint64(trace[8:])>>1) >= s.skip*math.MaxInt64
}
