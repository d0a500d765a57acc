package core

import (
	"strconv"

	"anteroom/edge/jsondoc"
)

// CommonHeaders are on every answer, besides its own: the host adds them. The names of those that an agent reads are
// exposed (Fetch, CORS).
var CommonHeaders = []Header{
	{"x-content-type-options", "nosniff"},
	{"referrer-policy", "no-referrer"},
	{"access-control-allow-origin", "*"},
	{"access-control-expose-headers", "ETag, Link, Retry-After, RateLimit, RateLimit-Policy, Allow"},
}

// Media types of answers.
const (
	MediaJSON    = "application/json"
	MediaProblem = "application/problem+json"
)

// Empty is an answer without a body.
func Empty(status int, cache string) *Response {
	return &Response{Status: status, Header: []Header{{"cache-control", cache}}}
}

// JSON is an answer with a body as it is.
func JSON(status int, mediaType, cache string, body []byte) *Response {
	return &Response{Status: status, Header: []Header{{"content-type", mediaType}, {"cache-control", cache}}, Body: body}
}

// Answer is what was computed or written for this request: an object of the members that write
// writes and the trailer, not to be stored by any cache.
func (t *Turn) Answer(write func(w *jsondoc.Writer)) *Response {
	return JSON(200, MediaJSON, "no-store", t.Object(write))
}

// Object is the text of an object of the members that write writes, and the trailer.
func (t *Turn) Object(write func(w *jsondoc.Writer)) []byte {
	w := jsondoc.Writer{Buf: make([]byte, 0, 1536)} // most answers are shorter
	w.Open('{')
	write(&w)
	t.Trailer(&w)
	w.Close('}')
	return w.Buf
}

// Problem is an error answer (RFC 9457). write, when there is one, adds members of its own.
func (t *Turn) Problem(p *ProblemType, detail string, faults *Faults, write func(w *jsondoc.Writer)) *Response {
	contractURL := t.ContractURL
	if contractURL == "" {
		contractURL = "/openapi.json"
	}
	body := t.Object(func(w *jsondoc.Writer) {
		w.Str("type", t.Snapshot.BaseURL()+"/field-guide.html#"+p.Slug)
		w.Str("title", p.Title)
		w.Int("status", int64(p.Status))
		w.Str("detail", detail)
		if faults != nil {
			faults.Write(w)
		}
		w.Str("contract_url", t.Snapshot.BaseURL()+contractURL)
		if t.Contract != nil && (p.Status == 400 || p.Status == 405) {
			w.Name("contract")
			w.Open('{')
			t.Contract(w)
			w.Close('}')
		}
		if write != nil {
			write(w)
		}
	})
	return JSON(p.Status, MediaProblem, "no-store", body)
}

// Invalid is the answer to an input with faults.
func (t *Turn) Invalid(in *Input) *Response {
	n := strconv.Itoa(in.Total) + " faults"
	if in.Total == 1 {
		n = "1 fault"
	}
	ignored := in.Ignored()
	return t.Problem(InvalidInput, n+" found; nothing was recorded. \"errors\" names every one, \"contract\" says what is taken.", &in.Faults,
		func(w *jsondoc.Writer) {
			if len(ignored) > 0 {
				WriteCapped(w, "ignored_fields", ignored)
			}
		})
}

// WriteCapped writes a list whose length a caller decides: at most 50 entries, and the number of all
// in <name>_total where some were left out.
func WriteCapped(w *jsondoc.Writer, name string, entries []string) {
	w.Name(name)
	w.Open('[')
	for i, e := range entries {
		if i == MaxEntries {
			break
		}
		w.Item(e)
	}
	w.Close(']')
	if len(entries) > MaxEntries {
		w.Int(name+"_total", int64(len(entries)))
	}
}

// Unstored answers a write that the store has not taken: nothing was recorded, or, after a
// time-out, that is not known.
func (t *Turn) Unstored(failure Failure) *Response {
	detail := "The store did not take the write: nothing was recorded. Try again later."
	if failure == Timeout {
		detail = "The store did not answer in time: whether the write was recorded is not known. Sending it again may record it twice."
	}
	return t.Later(StoreUnavailable, detail, StoreRetry)
}

// StoreRetry is after how many seconds a caller may try again what the store did not take.
const StoreRetry = 30

// Later is a problem that may be gone after so many seconds.
func (t *Turn) Later(p *ProblemType, detail string, seconds int64) *Response {
	r := t.Problem(p, detail, nil, nil)
	r.Set("retry-after", strconv.FormatInt(seconds, 10))
	return r
}

// Unfinished answers a turn that the host could not take to its end.
func (t *Turn) Unfinished() *Response {
	if t.Failed != nil {
		return t.Failed
	}
	return t.Problem(Internal, "The request could not be finished. Whether something was recorded is not known.", nil, nil)
}

// NewID gives the next identifier of the turn: 32 hexadecimal digits.
func (t *Turn) NewID() string {
	seed := append(t.Entropy[:len(t.Entropy):len(t.Entropy)], strconv.Itoa(t.ids)...)
	t.ids++
	sum := Sum256(seed)
	return hexText(sum[:16])
}

// SHA256 is the lower-case hexadecimal SHA-256 of s.
func SHA256(s string) string {
	sum := Sum256([]byte(s))
	return hexText(sum[:])
}

func hexText(bytes []byte) string {
	text := make([]byte, 2*len(bytes))
	for i, b := range bytes {
		text[2*i], text[2*i+1] = hex[b>>4], hex[b&15]
	}
	return string(text)
}
