package native

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"anteroom/edge/native/gzip"
	"anteroom/edge/turn"
)

// ifNoneMatch is the request header field whose entity tags may be those of gzip forms.
const ifNoneMatch = "if-none-match"

// vary is the Vary field of most answers, which share it.
var vary = []string{"Accept-Encoding"}

// zipped are the gzip forms of answers that are the same for many, by their entity tags. The
// content decides how many there are. The zero value is ready.
type zipped struct{ forms sync.Map }

// of gives the gzip form of an answer with an entity tag, or of one that has none ("").
func (z *zipped) of(etag string, body []byte) []byte {
	if etag == "" {
		return gzip.Compress(body)
	}
	if form, known := z.forms.Load(etag); known {
		return form.([]byte)
	}
	form := gzip.Compress(body)
	z.forms.Store(etag, form)
	return form
}

// compress gives the body to send of an answer of the core, and completes its header: a body that
// is worth it is sent in its gzip form where the caller takes that. Only JSON is: an event stream
// would have to be sent event by event. tags is the If-None-Match field as the caller sent it.
//
// An answer to HEAD has the header that GET would have, but no length: nothing was compressed (RFC
// 9110, section 9.3.2). No answer holds a secret, so that its length may say what is in it.
func (on *site) compress(header http.Header, accepted bool, tags string, answer *turn.Response) []byte {
	unchanged := answer.Status == http.StatusNotModified
	if !unchanged && !strings.HasSuffix(header.Get("Content-Type"), "json") {
		return answer.Body
	}
	if header["Vary"] == nil {
		header["Vary"] = vary
	} else {
		header.Add("Vary", vary[0])
	}
	if !accepted {
		return answer.Body
	}
	etag := header.Get("ETag")
	if strings.HasPrefix(etag, "W/") { // it is that of all forms, of answers that differ
		etag = ""
	}
	if unchanged {
		if form := gzip.Tag(etag); etag != "" && strings.Contains(tags, form) {
			header.Set("ETag", form)
		}
		return nil
	}
	size := len(answer.Body)
	if size == 0 { // to HEAD
		size, _ = strconv.Atoi(header.Get("Content-Length"))
	}
	if size < gzip.MinSize {
		return answer.Body
	}
	header.Set("Content-Encoding", gzip.Name)
	if etag != "" {
		header.Set("ETag", gzip.Tag(etag))
	}
	if len(answer.Body) == 0 {
		header.Del("Content-Length")
		return nil
	}
	return on.zipped.of(etag, answer.Body)
}
