// Package prerender makes the answers that the worker gives without the core, from constants.txt in
// its bundle: a JSON document of the answers that depend on the content alone. They fit a GET on
// the canonical host of exactly one of the paths listed, without a query and If-None-Match.
//
//	{
//	  "host": "www.anteroom.example",
//	  "common": "referrer-policy: …\n…",
//	  "answers": {"/api/aup": {
//	    "fields": "cache-control: …\n…", "document": "aup", "rest": ",\"notice\":…}"
//	  }, …}
//	}
//
// host is the canonical host. common are the header fields of every answer, and fields those that
// an answer has besides. document is the ID of a document of the snapshot: the body is its text
// without the last byte, and then rest.
package prerender

import (
	"bytes"

	"anteroom/edge"
	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/edge/respond"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// Answers is the document for a snapshot. It returns an error where the snapshot lacks a document.
func Answers(s *snapshot.Snapshot) ([]byte, error) {
	e, err := edge.Load(s)
	if err != nil {
		return nil, err
	}
	host := s.CanonicalHost
	w := jsondoc.Writer{}
	w.Open('{')
	w.Str("host", host)
	w.Str("common", string(turn.AppendFields(nil, respond.CommonHeaders)))
	w.Begin("answers", '{')
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			if op.Document == nil || op.Document.Tail != nil {
				continue
			}
			r := e.Handle(&turn.Turn{Request: turn.Request{Method: "GET", Target: route.Path, Host: host}}).Response
			document := s.Documents[op.Document.ID]
			rest, found := bytes.CutPrefix(r.Body, document[:len(document)-1])
			if !found || r.Status != 200 {
				continue // only the core can give this answer
			}
			w.Begin(route.Path, '{')
			w.Str("fields", string(turn.AppendFields(nil, r.Header)))
			w.Str("document", op.Document.ID)
			w.Str("rest", string(rest))
			w.Close('}')
		}
	}
	w.Close('}')
	w.Close('}')
	return w.Buf, nil
}
