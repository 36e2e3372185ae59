package tracing

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/protobuf/proto"
)

// maxPath and maxText bound the texts of a span in bytes. Any client chooses the path of its request.
const (
	maxPath = 256
	maxText = 2048
)

// repairer implements sdk.SpanExporter. It repairs the texts of each span before the next exporter encodes them.
//
// Protobuf rejects a text that is not valid UTF-8, and the exporter then drops the whole batch. Without the repair one
// request for /%ff would cost up to 512 spans of other requests.
type repairer struct{ sdk.SpanExporter }

// ExportSpans implements sdk.SpanExporter.
func (r repairer) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	all := make([]sdk.ReadOnlySpan, len(spans))
	for i, s := range spans {
		all[i] = repaired{s}
	}
	return r.SpanExporter.ExportSpans(ctx, all) //nolint:wrapcheck // the error handler looks at it
}

// repaired is a span whose texts are valid UTF-8 and bounded.
type repaired struct{ sdk.ReadOnlySpan }

// Name implements sdk.ReadOnlySpan.
func (r repaired) Name() string { return text(r.ReadOnlySpan.Name()) }

// Status implements sdk.ReadOnlySpan.
func (r repaired) Status() sdk.Status {
	s := r.ReadOnlySpan.Status()
	s.Description = text(s.Description)
	return s
}

// Attributes implements sdk.ReadOnlySpan.
func (r repaired) Attributes() []attribute.KeyValue { return repairAll(r.ReadOnlySpan.Attributes()) }

// Events implements sdk.ReadOnlySpan.
func (r repaired) Events() []sdk.Event {
	all := slices.Clone(r.ReadOnlySpan.Events())
	for i := range all {
		all[i].Name, all[i].Attributes = text(all[i].Name), repairAll(all[i].Attributes)
	}
	return all
}

// Links implements sdk.ReadOnlySpan.
func (r repaired) Links() []sdk.Link {
	all := slices.Clone(r.ReadOnlySpan.Links())
	for i := range all {
		all[i].Attributes = repairAll(all[i].Attributes)
	}
	return all
}

// repairAll returns all itself if nothing is to be repaired, as in nearly all spans.
func repairAll(all []attribute.KeyValue) []attribute.KeyValue {
	bad := slices.IndexFunc(all, func(kv attribute.KeyValue) bool { return !good(kv) })
	if bad < 0 {
		return all
	}
	all = slices.Clone(all)
	for i := bad; i < len(all); i++ {
		if !good(all[i]) {
			all[i] = attribute.KeyValue{Key: attribute.Key(text(string(all[i].Key))), Value: value(all[i].Value)}
		}
	}
	return all
}

// good reports whether kv can stay as it is. A slice or a map is repaired without a look at what it holds.
func good(kv attribute.KeyValue) bool {
	if !goodText(string(kv.Key)) {
		return false
	}
	switch kv.Value.Type() {
	case attribute.STRING:
		return goodText(kv.Value.AsString())
	case attribute.STRINGSLICE, attribute.BYTESLICE, attribute.SLICE, attribute.MAP:
		return false
	default:
		return true
	}
}

func goodText(s string) bool { return len(s) <= maxText && utf8.ValidString(s) }

// value repairs the texts in a value. A slice of mixed values and a map become one text.
func value(v attribute.Value) attribute.Value {
	switch v.Type() {
	case attribute.STRING, attribute.BYTESLICE, attribute.SLICE, attribute.MAP:
		return attribute.StringValue(text(v.String()))
	case attribute.STRINGSLICE:
		all := v.AsStringSlice() // a copy
		for i := range all {
			all[i] = text(all[i])
		}
		return attribute.StringSliceValue(all)
	default:
		return v
	}
}

// text returns s as valid UTF-8 of at most maxText bytes.
func text(s string) string { return bounded(s, maxText) }

// bounded returns s as valid UTF-8 and cuts it after most bytes. The replacement character is larger than the byte
// that it replaces, so the last cut comes after it.
func bounded(s string, most int) string {
	s = strings.ToValidUTF8(s[:min(len(s), most)], "\ufffd")
	for len(s) > most {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

// logFailure logs why an exporter has lost spans. A span that cannot be encoded is a fault of this program, and the
// operator has nothing to mend at otel.endpoint.
func logFailure(log *slog.Logger, err error) {
	if errors.Is(err, proto.Error) {
		log.Warn("spans could not be encoded", "error", err)
		return
	}
	log.Warn("spans could not be sent: look at otel.endpoint", "error", err)
}
