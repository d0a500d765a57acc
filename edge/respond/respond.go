// Package respond makes the answers of the endpoints: JSON objects that end with the same members,
// the trailer, and problem details (RFC 9457).
package respond

import (
	"cmp"
	"strconv"

	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// Exposed are the header fields of an answer that a page of another origin may read.
const Exposed = "ETag, Link, Location, Request-Id, Retry-After, RateLimit, RateLimit-Policy, Allow"

// CommonHeaders are the header fields that a host adds to every answer.
var CommonHeaders = []turn.Header{
	{Name: "x-content-type-options", Value: "nosniff"},
	{Name: "referrer-policy", Value: "no-referrer"},
	{Name: "access-control-allow-origin", Value: "*"},
	{Name: "access-control-expose-headers", Value: Exposed},
}

// Media types of answers.
const (
	MediaJSON    = "application/json"
	MediaProblem = "application/problem+json"
)

// Empty is an answer without a body.
func Empty(status int, cache string) *turn.Response {
	return &turn.Response{Status: status, Header: []turn.Header{{Name: "cache-control", Value: cache}}}
}

// JSON is an answer with the given body.
func JSON(status int, mediaType, cache string, body []byte) *turn.Response {
	return &turn.Response{Status: status, Header: []turn.Header{{Name: "content-type", Value: mediaType}, {Name: "cache-control", Value: cache}}, Body: body}
}

// OK answers 200 with an Object made for this request, which no cache may store.
func OK(t *turn.Turn, write func(w *jsondoc.Writer)) *turn.Response {
	return JSON(200, MediaJSON, "no-store", Object(t, write))
}

// Object is the text of an object: the members that write writes, and then the trailer.
func Object(t *turn.Turn, write func(w *jsondoc.Writer)) []byte {
	w := jsondoc.Writer{Buf: make([]byte, 0, 1536)} // most answers are shorter
	w.Open('{')
	write(&w)
	WriteTrailer(t, &w)
	w.Close('}')
	return w.Buf
}

// Problem is an error answer (RFC 9457). write adds members of its own. faults and write may be
// nil.
func Problem(t *turn.Turn, p *ProblemType, detail string, faults *input.Faults, write func(w *jsondoc.Writer)) *turn.Response {
	contractURL := cmp.Or(t.ContractURL, openAPI)
	body := Object(t, func(w *jsondoc.Writer) {
		writeProblem(t, w, p, detail)
		if faults != nil {
			faults.Write(w)
		}
		w.Str("contract_url", t.Snapshot.BaseURL()+contractURL)
		if t.Operation != "" && p.Status == 400 {
			w.Raw("contract", string(t.Snapshot.Documents[snapshot.ContractPrefix+t.Operation]))
		}
		if write != nil {
			write(w)
		}
	})
	return JSON(p.Status, MediaProblem, "no-store", body)
}

// ShortProblem is a problem off every endpoint, without the trailer.
func ShortProblem(t *turn.Turn, p *ProblemType, detail string) *turn.Response {
	w := jsondoc.Writer{}
	w.Open('{')
	writeProblem(t, &w, p, detail)
	w.Str("contract_url", t.Snapshot.BaseURL()+openAPI)
	w.Close('}')
	return JSON(p.Status, MediaProblem, "no-store", w.Buf)
}

func writeProblem(t *turn.Turn, w *jsondoc.Writer, p *ProblemType, detail string) {
	if !t.Embedded {
		w.Str("type", p.uri(t.Snapshot.BaseURL()))
	}
	w.Str("title", p.Title)
	w.Int("status", int64(p.Status))
	w.Str("detail", detail)
	w.Str("request_id", t.RequestID())
}

// openAPI is the contract of a request that reached no endpoint.
const openAPI = "/openapi.json"

// How many bytes the answer to a single fault may have, and other answers.
const maxFault, unlimited = 2048, 1 << 30

// Invalid is the answer to an input with faults. For a single one it is short, whatever was sent.
func Invalid(t *turn.Turn, in *input.Input) *turn.Response {
	n, most := strconv.Itoa(in.Total)+" faults", unlimited
	if in.Total == 1 {
		n, most = "1 fault", maxFault
		in.List[0].Field = input.TruncateBytes(in.List[0].Field)
	}
	detail := n + " found."
	if in.Writes {
		detail = n + " found; nothing was recorded."
	}
	if in.Hint != "" {
		detail = in.Hint + " " + detail
	}
	return Problem(t, InvalidInput, detail, &in.Faults, func(w *jsondoc.Writer) {
		if ignored := in.Ignored(); len(ignored) > 0 {
			var trailer jsondoc.Writer
			WriteTrailer(t, &trailer)
			writeCapped(w, "ignored_fields", ignored, most-len(trailer.Buf)-len(`,}`))
		}
	})
}

// WriteCapped writes at most input.MaxEntries of a list whose length a caller decides. If there are
// more, a member <name>_total says how many.
func WriteCapped(w *jsondoc.Writer, name string, entries []string) {
	writeCapped(w, name, entries, unlimited)
}

// writeCapped is WriteCapped where the text may have so many bytes. It writes nothing if there is
// no room for an entry.
func writeCapped(w *jsondoc.Writer, name string, entries []string, most int) {
	before, fits := len(w.Buf), 0
	w.Begin(name, '[')
	for _, e := range entries[:min(len(entries), input.MaxEntries)] {
		at := len(w.Buf)
		if w.Item(e); len(w.Buf) > most-len(name)-len(`],"_total":65536`) {
			w.Buf = w.Buf[:at]
			break
		}
		fits++
	}
	if fits == 0 && len(entries) > 0 {
		w.Buf = w.Buf[:before]
		return
	}
	w.Close(']')
	if len(entries) > fits {
		w.Int(name+"_total", int64(len(entries)))
	}
}

// Kit are the paths of the programs that check a receipt or a record without the service.
var Kit = []string{"/verify/verify.py", "/verify/verify.mjs", "/verify/verify.sh"}

// KitMember is the member of an answer that links Kit.
const KitMember = "verify_kit"

// WriteKit writes the member that links the programs of Kit.
func WriteKit(t *turn.Turn, w *jsondoc.Writer) {
	if t.Embedded {
		return
	}
	w.Begin(KitMember, '[')
	for _, path := range Kit {
		w.Item(t.Snapshot.BaseURL() + path)
	}
	w.Close(']')
}

// StoreFailed answers a write that the store did not take, or may not have taken, after a time-out.
func StoreFailed(t *turn.Turn, failure turn.Failure) *turn.Response {
	detail := "The store did not take the write: nothing was recorded. Try again later."
	if failure == turn.Timeout {
		detail = "The store did not answer in time: whether the write was recorded is not known. Sending it again may record it twice, if it had no Idempotency-Key."
	}
	return RetryLater(t, StoreUnavailable, detail, StoreRetry)
}

// StoreRetry is how many seconds a caller is asked to wait after the store has failed.
const StoreRetry = 30

// RetryLater is a problem that asks the caller to try again after so many seconds.
func RetryLater(t *turn.Turn, p *ProblemType, detail string, seconds int64) *turn.Response {
	r := Problem(t, p, detail, nil, nil)
	r.Set("retry-after", strconv.FormatInt(seconds, 10))
	return r
}

// Unfinished answers a turn that the host could not take to its end.
func Unfinished(t *turn.Turn) *turn.Response {
	if t.Failed != nil {
		return t.Failed
	}
	return Problem(t, Internal, "The request could not be finished. Whether something was recorded is not known.", nil, nil)
}

// Action is one suggestion of what to do next: an entry of next_actions.
type Action struct {
	Rel  string `json:"rel" doc:"Relation of the target to this answer."`
	Href string `json:"href" format:"uri" doc:"Absolute address of the target."`
}

// WriteActions writes next_actions. pairs alternates the relation of an action and its path.
func WriteActions(t *turn.Turn, w *jsondoc.Writer, pairs ...string) {
	w.Begin("next_actions", '[')
	for i := 0; i < len(pairs); i += 2 {
		w.Open('{')
		w.Str("rel", pairs[i])
		w.Str("href", t.Snapshot.BaseURL()+pairs[i+1])
		w.Close('}')
	}
	w.Close(']')
}

// WriteTrailer writes the members that every JSON answer under /api/ ends with, messages of MCP
// apart.
func WriteTrailer(t *turn.Turn, w *jsondoc.Writer) {
	if !t.Embedded {
		t.Snapshot.Trailer(w, t.ServedFrom())
	}
}
