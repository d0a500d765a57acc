package turn

import "encoding/base64"

// The package comment explains prepared responses.

// Presume asks for an effect and ends the handler with the response that next makes of its result.
// While the journal has no result, Presume calls next with a presumed one, that of an effect that
// went well, in order to prepare the response; Presume itself then returns nil. next may use
// Presume in turn.
func (t *Turn) Presume(effect Effect, next func(Result) *Response) *Response {
	if !t.presumes {
		if result, ok := t.One(effect); ok {
			return next(result)
		}
		t.presumes, t.pending = true, t.pending[:0]
	}
	t.pending = append(t.pending, effect)
	if r := next(Result{OK: true, Data: unsigned[:], Remaining: -1}); r != nil {
		t.prepared = r
	}
	return nil
}

// SignatureSize is how many bytes an Ed25519 signature has (RFC 8032, section 5.1.6).
const SignatureSize = 64

// unsigned holds the place of a signature in a prepared response.
var unsigned [SignatureSize]byte

// fits reports whether an effect went as presumed. Where it did, fits completes the response with
// its result.
func fits(r *Response, effect Effect, result *Result) bool {
	if result.Failure != None {
		return false
	}
	switch e := effect.(type) {
	case Verify:
		return result.OK
	case Limit:
		if result.Remaining >= 0 {
			field := e.RateLimit(result)
			r.Set(field.Name, field.Value)
		}
		return result.OK
	case Sign:
		if len(result.Data) != SignatureSize {
			return false
		}
		base64.StdEncoding.Encode(r.Body[r.SignatureAt:], result.Data)
	}
	return true
}

// Prepared is the response that Presume has prepared; nil where there is none.
func (t *Turn) Prepared() *Response { return t.prepared }

// Discard drops the prepared response. A caller of a handler uses it where the handler's response
// is only a part of the answer.
func (t *Turn) Discard() { t.prepared = nil }

// confirm performs the effects that a prepared response depends on, and reports whether all went as
// presumed.
func (t *Turn) confirm(o Outcome, perform func([]Effect) []Result) bool {
	for i := range o.Effects {
		results := perform(o.Effects[i : i+1])
		t.Journal = append(t.Journal, results...)
		if !fits(o.Response, o.Effects[i], &results[0]) {
			return false
		}
	}
	return true
}
