package rush

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"
)

// maxBody is the size of the largest answer that rush reads, in bytes. An order has about 250 bytes.
const maxBody = 64 << 10

var errTooLarge = errors.New("the answer is too large")

// order is the part of an order's JSON that rush compares.
type order struct {
	ID        string    `json:"id"`
	CouponID  string    `json:"coupon_id"`
	UserID    string    `json:"user_id"`
	Status    string    `json:"status"`
	DrawsAt   time.Time `json:"draws_at"` // of a ticket
	ExpiresAt time.Time `json:"expires_at"`
}

// answer is one HTTP answer, parsed as far as the contract goes.
type answer struct {
	status   int
	code     string        // of a problem, "" if there was none
	order    order         // of a 2xx; its ID is "" if the body was not an order
	token    string        // of a purchase token's 201
	after    time.Duration // Retry-After, 0 if there was none
	location string
}

// parseAnswer parses an answer. A body that does not follow the contract leaves order or code empty. For a
// 200, a 201 or a 4xx, the verdict is then broken.
func parseAnswer(status int, h http.Header, body []byte) answer {
	a := answer{status: status, after: retryAfter(h.Get("Retry-After")), location: h.Get("Location")}
	if status < 300 {
		var said struct {
			order

			Token string `json:"token"`
		}
		if json.Unmarshal(body, &said) == nil {
			a.order, a.token = said.order, said.Token
		}
		return a
	}
	var problem struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(body, &problem) == nil {
		a.code = problem.Code
	}
	return a
}

// retryAfter returns the delay of a Retry-After header in either form: seconds, or a date.
func retryAfter(h string) time.Duration {
	if h == "" {
		return 0
	}
	const most = 24 * time.Hour // no client waits longer, and a larger number may overflow a Duration
	if n, err := strconv.Atoi(h); err == nil {
		return time.Duration(min(max(0, n), int(most/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(h); err == nil {
		return min(max(0, time.Until(at)), most)
	}
	return 0
}

// kind is the meaning of an answer for a tap.
type kind int

const (
	accepted  kind = iota // an order, durable
	inDoubt               // 202: to be polled
	refused               // a definite refusal, under its code
	retryable             // a refusal that may be retried
	unknown               // ambiguous: no answer, or a 5xx
	broken                // not an answer of the contract
)

// verdict is an answer's kind and the name under which rush counts the answer.
type verdict struct {
	kind kind
	name string
}

// classify returns the verdict on the answer to a tap.
func classify(a answer, err error) verdict {
	switch {
	case err != nil:
		return verdict{unknown, errorName(err)}
	case a.status == http.StatusCreated && a.order.ID != "":
		return verdict{accepted, ""}
	case a.status == http.StatusCreated:
		return verdict{broken, "malformed"}
	case a.status == http.StatusAccepted:
		return verdict{inDoubt, "in_doubt"}
	}
	return classifyRefusal(a)
}

// classifyPoll returns the verdict on a GET of an order that was in doubt.
func classifyPoll(a answer, err error) verdict {
	switch {
	case err != nil:
		return verdict{unknown, errorName(err)}
	case a.status == http.StatusOK && a.order.ID != "":
		switch a.order.Status {
		case "pending", "paid", "cancelled", "expired":
			return verdict{accepted, ""}
		case "abandoned", "not_drawn":
			return verdict{refused, a.order.Status}
		}
		return verdict{inDoubt, "in_doubt"}
	case a.status == http.StatusAccepted:
		return verdict{inDoubt, "in_doubt"}
	}
	return classifyRefusal(a)
}

// classifyRefusal returns the verdict on an answer that is not a 2xx of the contract.
func classifyRefusal(a answer) verdict {
	switch a.code {
	case "request_in_progress", "overloaded", "rate_limited", "unavailable", "sale_paused", "stock_loading":
		return verdict{retryable, a.code}
	}
	switch {
	case a.status >= 500:
		return verdict{unknown, "http_" + strconv.Itoa(a.status)}
	case a.status >= 400 && a.code != "":
		return verdict{refused, a.code}
	}
	return verdict{broken, "http_" + strconv.Itoa(a.status)}
}

// errorName returns the name under which rush counts a missing answer.
func errorName(err error) string {
	var op *net.OpError
	var ne net.Error
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return "no_connection"
	case errors.As(err, &ne) && ne.Timeout():
		return "timeout"
	}
	return "no_answer"
}
