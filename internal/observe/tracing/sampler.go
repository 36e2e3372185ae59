package tracing

import (
	"net/url"
	"slices"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"
)

// askedPerSecond bounds the requests that are traced because their client asks for it: any client
// may send a traceparent, and spans cost more than a refusal.
const askedPerSecond = 100

// sampler decides at the first span of a trace in this process:
//
//	a span of ours above ─▶ as that
//	linked to a traced one ─▶ yes: the transaction of a group
//	a traceparent ─▶ as it asks, askedPerSecond at most
//	none ─▶ the share that Options has, and the glances
type sampler struct {
	unasked sdk.Sampler
	asked   *rate.Limiter
}

func newSampler(ratio float64) sampler {
	s := sampler{sdk.NeverSample(), rate.NewLimiter(askedPerSecond, askedPerSecond)}
	if ratio > 0 {
		s.unasked = sdk.TraceIDRatioBased(ratio)
	}
	return s
}

// ShouldSample implements sdk.Sampler.
func (s sampler) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	parent := trace.SpanContextFromContext(p.ParentContext)
	result := sdk.SamplingResult{Decision: sdk.Drop, Tracestate: parent.TraceState()}
	var yes bool
	switch {
	case slices.ContainsFunc(p.Links, func(l trace.Link) bool { return l.SpanContext.IsSampled() }):
		yes = true
	case isGlance(p.ParentContext) && !parent.IsValid():
		yes = true
	case !parent.IsValid():
		return s.unasked.ShouldSample(p)
	case parent.IsRemote():
		yes = parent.IsSampled() && s.asked.Allow()
	default:
		yes = parent.IsSampled()
	}
	if yes {
		result.Decision = sdk.RecordAndSample
	}
	return result
}

// Description implements sdk.Sampler.
func (s sampler) Description() string { return "seckill: asked for, or " + s.unasked.Description() }

// tracesURL returns where spans are sent: the collector's usual path, unless endpoint has another.
func tracesURL(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Path != "" && u.Path != "/" {
		return endpoint
	}
	return u.JoinPath("v1", "traces").String()
}
