// Package vectors holds the conformance vectors of canonical strings, published as
// /vectors/canon-v0.json: inputs with the results that every client, verifier and host must
// compute.
//
// The file is one JSON object, with one vector in a line. It depends on no content: receipts are
// issued by www.example.org, under test keys whose secrets are public. A vector of registrations,
// charters or receipts has its input in one or several equivalent forms: post is a body as a JSON
// value, body its exact text, get a query.
//
// A vector of verdicts takes the receipt of the vector named by its member of, sets the members in
// set, removes the members in remove, and has the four results of a verification. A vector of
// refused has the path of an endpoint, and the faults in the form "field code".
package vectors

import _ "embed"

// CanonV0 is the published text of the vectors.
//
//go:embed canon-v0.json
var CanonV0 []byte

// PromiseV0 is the published text of the vectors of promises, /vectors/promise-v0.json: answers
// that hold a promise, and verdicts on changes of them: valid, invalid or unverified.
//
//go:embed promise-v0.json
var PromiseV0 []byte
