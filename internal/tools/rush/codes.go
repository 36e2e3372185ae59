package rush

// The codes of rejections that the report tells apart.
const (
	codeSoldOut      = "sold_out"
	codeNotDrawn     = "not_drawn"
	codeLimitReached = "limit_reached"
	codeNotStarted   = "not_started"
	codeEnded        = "ended"

	codeInProgress      = "request_in_progress"
	codeUnauthenticated = "unauthenticated"
)
