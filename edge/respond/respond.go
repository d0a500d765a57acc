// Package respond makes the answers of the endpoints: JSON objects that end with the trailer, and
// problem details (RFC 9457).
package respond

import (
	"cmp"
	"strconv"

	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// Exposed lists the header fields that a page of another origin may read.
const Exposed = "ETag, Link, Location, Request-Id, Retry-After, RateLimit, RateLimit-Policy, Allow"

// CommonHeaders are in every answer of a host.
var CommonHeaders = []turn.Header{
	{Name: "x-content-type-options", Value: "nosniff"},
	{Name: "referrer-policy", Value: "no-referrer"},
	{Name: "access-control-allow-origin", Value: "*"},
	{Name: "access-control-expose-headers", Value: Exposed},
}

const (
	MediaJSON    = "application/json"
	MediaProblem = "application/problem+json"
)

func Empty(status int, cache string) *turn.Response {
	return &turn.Response{Status: status, Header: []turn.Header{{Name: "cache-control", Value: cache}}}
}

func JSON(status int, mediaType, cache string, body []byte) *turn.Response {
	header := []turn.Header{{Name: "content-type", Value: mediaType}, {Name: "cache-control", Value: cache}}
	return &turn.Response{Status: status, Header: header, Body: body}
}

func OK(t *turn.Turn, write func(w *jsondoc.Writer)) *turn.Response {
	return JSON(200, MediaJSON, "no-store", Object(t, write))
}

// Object returns the text of an object: the members from write, and the trailer.
func Object(t *turn.Turn, write func(w *jsondoc.Writer)) []byte {
	w := jsondoc.Writer{Buf: make([]byte, 0, 1536)} // most answers are shorter
	w.Open('{')
	write(&w)
	writeTrailer(t, &w)
	w.Close('}')
	return w.Buf
}

// Problem returns an error answer (RFC 9457). write adds members. faults and write may be nil.
func Problem(
	t *turn.Turn, p *ProblemType, detail string, faults *input.Faults, write func(w *jsondoc.Writer),
) *turn.Response {
	body := Object(t, func(w *jsondoc.Writer) {
		writeProblem(t, w, p, detail)
		if faults != nil {
			faults.Write(w)
		}
		w.Str("contract_url", t.Snapshot.BaseURL()+cmp.Or(t.ContractURL, openAPI))
		if t.Operation != "" && p.Status == 400 {
			w.Raw("contract", string(t.Snapshot.Documents[snapshot.ContractPrefix+t.Operation]))
		}
		if write != nil {
			write(w)
		}
	})
	return JSON(p.Status, MediaProblem, "no-store", body)
}

// ShortProblem returns a problem outside /api/, without the trailer.
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

const openAPI = "/openapi.json" // the contract of a request that reached no endpoint

const maxFault, unlimited = 2048, 1 << 30 // bytes of an answer

// Invalid returns the response to an input with faults. For a single one it is short, whatever was
// sent.
func Invalid(t *turn.Turn, in *input.Input) *turn.Response {
	detail, most := strconv.Itoa(in.Total)+" faults found", unlimited
	if in.Total == 1 {
		detail, most = "1 fault found", maxFault
		in.List[0].Field = input.TruncateBytes(in.List[0].Field)
	}
	if in.Writes {
		detail += "; nothing was recorded"
	}
	detail += "."
	if in.Hint != "" {
		detail = in.Hint + " " + detail
	}
	return Problem(t, InvalidInput, detail, &in.Faults, func(w *jsondoc.Writer) {
		if ignored := in.Ignored(); len(ignored) > 0 {
			var trailer jsondoc.Writer
			writeTrailer(t, &trailer)
			writeCapped(w, "ignored_fields", ignored, most-len(trailer.Buf)-len(`,}`))
		}
	})
}

// WriteCapped writes at most input.MaxEntries of a list. For a longer list, the member <name>_total
// is its length.
func WriteCapped(w *jsondoc.Writer, name string, entries []string) {
	writeCapped(w, name, entries, unlimited)
}

// writeCapped is WriteCapped in at most that many bytes. It leaves the member out if no entry fits.
func writeCapped(w *jsondoc.Writer, name string, entries []string, most int) {
	begin, written := len(w.Buf), 0
	w.Begin(name, '[')
	for _, entry := range entries[:min(len(entries), input.MaxEntries)] {
		end := len(w.Buf)
		if w.Item(entry); len(w.Buf) > most-len(name)-len(`],"_total":65536`) {
			w.Buf = w.Buf[:end]
			break
		}
		written++
	}
	if written == 0 && len(entries) > 0 {
		w.Buf = w.Buf[:begin]
		return
	}
	w.Close(']')
	if len(entries) > written {
		w.Int(name+"_total", int64(len(entries)))
	}
}

// Kit lists the paths of the programs that check a receipt or a record without the service.
var Kit = []string{"/verify/verify.py", "/verify/verify.mjs"}

const KitMember = "verify_kit"

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

func StoreFailed(t *turn.Turn, failure turn.Failure) *turn.Response {
	detail := "The store did not take the write: nothing was recorded. Try again later."
	if failure == turn.Timeout {
		detail = "The store timed out: whether the write was recorded is not known. " +
			"Sending it again may record it twice, unless it had an idempotency key."
	}
	return RetryLater(t, StoreUnavailable, detail, StoreRetry)
}

const StoreRetry = 30 // seconds

func RetryLater(t *turn.Turn, p *ProblemType, detail string, seconds int64) *turn.Response {
	r := Problem(t, p, detail, nil, nil)
	r.Set("retry-after", strconv.FormatInt(seconds, 10))
	return r
}

// Unfinished is for a turn that the host could not finish.
func Unfinished(t *turn.Turn) *turn.Response {
	if t.Failed != nil {
		return t.Failed
	}
	const detail = "The request could not be finished. Whether something was recorded is not known."
	return Problem(t, Internal, detail, nil, nil)
}

type Action struct {
	Rel  string `json:"rel" doc:"Relation of the target to this answer."`
	Href string `json:"href" format:"uri" doc:"Absolute address of the target."`
}

// WriteActions alternates relations and paths in pairs.
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

// WriteStatus writes null without an answer.
func WriteStatus(w *jsondoc.Writer, name string, r *turn.Result) {
	if r.Failure != turn.None {
		w.Raw(name, "null")
		return
	}
	w.Int(name, int64(r.Status))
}

func writeTrailer(t *turn.Turn, w *jsondoc.Writer) {
	if !t.Embedded {
		t.Snapshot.Trailer(w, t.ServedFrom())
	}
}
