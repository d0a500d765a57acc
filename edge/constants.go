package edge

import (
	"bytes"

	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/edge/kernel"
	"anteroom/edge/respond"
)

// Constants is the text of the answers that depend on the content alone, for a host that gives them
// without the core: to a GET on the canonical host, of the target and nothing else, without
// If-None-Match. Most of a body is the text of a document of the snapshot without its last byte;
// rest is what follows that. common are the header fields that every answer has besides its own,
// these and others.
//
//	{"host":"www.anteroom.example","common":"referrer-policy: …\n…","answers":{"/api/aup":{"fields":"cache-control: …\n…","document":"aup","rest":",\"notice\":…}"},…}}
func (e *Edge) Constants() []byte {
	host := e.snapshot.CanonicalHost
	w := jsondoc.Writer{}
	w.Open('{')
	w.Str("host", host)
	w.Str("common", string(kernel.AppendFields(nil, respond.CommonHeaders)))
	w.Name("answers")
	w.Open('{')
	for _, route := range api.Routes {
		for _, op := range route.Operations {
			if op.Document == nil || op.Cache != api.Constant {
				continue
			}
			r := e.Handle(&kernel.Turn{Request: kernel.Request{Method: "GET", Target: route.Path, Host: host}}).Response
			document := e.snapshot.Documents[op.Document.ID]
			rest, found := bytes.CutPrefix(r.Body, document[:len(document)-1])
			if !found || r.Status != 200 {
				continue // the core alone answers it
			}
			w.Name(route.Path)
			w.Open('{')
			w.Str("fields", string(kernel.AppendFields(nil, r.Header)))
			w.Str("document", op.Document.ID)
			w.Str("rest", string(rest))
			w.Close('}')
		}
	}
	w.Close('}')
	w.Close('}')
	return w.Buf
}
