package respond

type ProblemType struct {
	Slug   string // of the page that describes it; "" for about:blank (RFC 9457, section 4.2.1)
	Status int
	Title  string
}

// Path returns the path of the type's page, whose address is the type's URI.
func (p *ProblemType) Path() string { return "/problems/" + p.Slug + ".html" }

func (p *ProblemType) uri(base string) string {
	if p.Slug == "" {
		return "about:blank"
	}
	return base + p.Path()
}

var (
	InvalidInput       = &ProblemType{"invalid-input", 400, "Invalid input"}
	NotFound           = &ProblemType{"not-found", 404, "Not found"}
	NotLiveYet         = &ProblemType{"not-live-yet", 404, "Not live yet"}
	MethodNotAllowed   = &ProblemType{"method-not-allowed", 405, "Method not allowed"}
	BodyTooLarge       = &ProblemType{"body-too-large", 413, "Body too large"}
	QueryTooLong       = &ProblemType{"query-too-long", 414, "Query too long"}
	UnsupportedType    = &ProblemType{"unsupported-media-type", 415, "Unsupported media type"}
	CallInProgress     = &ProblemType{"call-in-progress", 409, "Call in progress"}
	KeyReused          = &ProblemType{"key-reused", 422, "Key reused"}
	TooEarly           = &ProblemType{"too-early", 425, "Too early"}
	Misdirected        = &ProblemType{"misdirected-request", 421, "Misdirected request"}
	HeadTooLarge       = &ProblemType{"", 431, "Request Header Fields Too Large"}
	TooManyWrites      = &ProblemType{"too-many-writes", 429, "Too many writes"}
	Internal           = &ProblemType{"internal-error", 500, "Internal error"}
	InconsistentCounts = &ProblemType{"inconsistent-counts", 500, "Inconsistent counts"}
	RelayUnreachable   = &ProblemType{"relay-unreachable", 502, "Relay unreachable"}
	SignalFailed       = &ProblemType{"signal-failed", 502, "Signal failed"}
	StoreUnavailable   = &ProblemType{"store-unavailable", 503, "Store unavailable"}
	SignalUnderWay     = &ProblemType{"signal-under-way", 503, "Signal under way"}
)

// ProblemTypes lists the problem types with a page, in the order of the documentation.
var ProblemTypes = []*ProblemType{
	InvalidInput, NotFound, NotLiveYet, MethodNotAllowed, CallInProgress, BodyTooLarge, QueryTooLong, UnsupportedType,
	Misdirected, KeyReused, TooEarly,
	TooManyWrites, Internal, InconsistentCounts, RelayUnreachable, SignalFailed, StoreUnavailable, SignalUnderWay,
}
