package live

import (
	"net/http"

	"anteroom/edge/assets"
	"anteroom/generator"
)

// headersOf gives for each path the header fields that a content publishes for it. What the
// _headers file does not say of a document's type the CDN knows by the document's name.
func headersOf(output *generator.Output) func(f *fetched) http.Header {
	rules, _ := assets.ParseHeaders(string(document(output, assets.HeadersPath))) // the generator has read it
	return func(f *fetched) http.Header {
		h := http.Header{}
		if f.mediaType != "" {
			h.Set("Content-Type", f.mediaType)
		}
		rules.Apply(f.path, h)
		return h
	}
}
