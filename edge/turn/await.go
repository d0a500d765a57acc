package turn

import (
	"encoding/base64"
	"slices"
)

// Await is the response that then makes of the result of an effect.
func Await(effect Effect, then func(Result) *Response) *Response {
	return AwaitAll([]Effect{effect}, func(results []Result) *Response { return then(results[0]) })
}

// AwaitAll is Await for effects that do not depend on each other.
func AwaitAll(effects []Effect, then func([]Result) *Response) *Response {
	return &Response{effects: effects, then: then}
}

// Presume is Await for an effect that most often goes well. In order to prepare the response, then
// may be called with the result of an effect that went well. The package comment explains it.
func Presume(effect Effect, then func(Result) *Response) *Response {
	r := Await(effect, then)
	r.presumes = true
	return r
}

// Then is the response that next makes of r, where r is only a part of the answer. No effect of r
// is presumed to go well.
func (r *Response) Then(next func(*Response) *Response) *Response {
	if r.then == nil {
		return next(r)
	}
	return AwaitAll(r.effects, func(results []Result) *Response { return r.then(results).Then(next) })
}

// SignatureSize is how many bytes an Ed25519 signature has (RFC 8032, section 5.1.6).
const SignatureSize = 64

// asPresumed is the result of an effect that went well. Its Data hold the place of a signature.
var asPresumed = Result{OK: true, Data: make([]byte, SignatureSize), Remaining: -1}

// fits reports whether an effect went as presumed. Where it did, fits completes the response with
// its result.
func fits(r *Response, effect Effect, result *Result) bool {
	if result.Failure != None {
		return false
	}
	switch e := effect.(type) {
	case Exec:
		return !slices.ContainsFunc(result.Rows, func(rows [][]any) bool { return len(rows) > 0 })
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
