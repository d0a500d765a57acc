package apitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The limits of assets, and how the server divides them for upload. The platform's buckets hold
// more; several small ones are harder on a caller.
const (
	maxAsset    = 25 << 20
	maxAssets   = 20_000 // of the Free plan
	bucketFiles = 8
	tokenLife   = time.Hour
)

// Asset is a file that was uploaded.
type Asset struct {
	Type string // the Content-Type of its part, which it is served with, "" for none
	Data []byte
}

// session is an upload of assets.
type session struct {
	worker   string
	manifest map[string]manifestEntry
	missing  []string // hashes
	expires  time.Time
	complete bool // the token is one for a script
}

type manifestEntry struct {
	Hash string `json:"hash"`
	Size *int64 `json:"size"`
}

var assetHash = regexp.MustCompile(`^[0-9a-f]{32}$`)

// ExpireUploads ends the life of all tokens of uploads.
func (s *Server) ExpireUploads() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, upload := range s.sessions {
		upload.expires = time.Now()
	}
}

// token makes a token for an upload. It looks like the platform's, a JWT, as callers may read when
// it expires.
func (s *Server) token(upload session) string {
	upload.expires = s.now().Add(tokenLife)
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	token := part(object{"alg": "HS256", "typ": "JWT"}) + "." + part(object{"exp": upload.expires.Unix(), "jti": newUUID()}) + "." + newID()
	s.sessions[token] = &upload
	return token
}

// sessionOf is the upload of a token. It is nil where the token is none, or has expired.
func (s *Server) sessionOf(token string) *session {
	upload := s.sessions[token]
	if upload == nil || !time.Now().Before(upload.expires) {
		return nil
	}
	return upload
}

func (s *Server) beginAssets(r *request) Answer {
	var call struct {
		Manifest map[string]manifestEntry `json:"manifest"`
	}
	if err := r.read(&call); err != nil {
		return malformed("%v", err)
	}
	if len(call.Manifest) == 0 || len(call.Manifest) > maxAssets {
		return malformed("the manifest has %d files", len(call.Manifest))
	}
	upload := session{worker: r.PathValue("worker"), manifest: call.Manifest}
	sizes := map[string]int64{}
	for _, path := range slices.Sorted(maps.Keys(call.Manifest)) {
		entry := call.Manifest[path]
		switch {
		case !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.Contains(path, "\\"):
			return malformed("the manifest has the path %q", path)
		case path == "/_headers" || path == "/_redirects" || path == "/.assetsignore":
			// The platform would serve it as a document.
			return malformed("%s is configuration, and belongs into assets.config", path)
		case !assetHash.MatchString(entry.Hash):
			return malformed("the hash of %s is not 32 hexadecimal digits", path)
		case entry.Size == nil || *entry.Size < 0 || *entry.Size > maxAsset:
			return malformed("the size of %s is none, or more than 25 MiB", path)
		}
		size, again := sizes[entry.Hash]
		if file, uploaded := s.files[entry.Hash]; uploaded {
			size, again = int64(len(file.Data)), true
		} else if !again {
			upload.missing = append(upload.missing, entry.Hash)
		}
		if again && size != *entry.Size {
			return malformed("the hash of %s is that of a file of another size", path)
		}
		sizes[entry.Hash] = *entry.Size
	}
	upload.complete = len(upload.missing) == 0
	buckets := [][]string{}
	for bucket := range slices.Chunk(upload.missing, bucketFiles) {
		buckets = append(buckets, bucket)
	}
	return success(object{"jwt": s.token(upload), "buckets": buckets})
}

// uploadAssets takes files. The token in Authorization is that of the session.
func (s *Server) uploadAssets(r *request) Answer {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	upload := s.sessionOf(token)
	if upload == nil { // the code for one that has expired is unknown
		return refusal(http.StatusUnauthorized, 10000, "Authentication error")
	}
	if r.URL.RawQuery != "base64=true" {
		return malformed("the query is %q, not base64=true", r.URL.RawQuery)
	}
	parts, err := r.parts()
	if err != nil {
		return malformed("%v", err)
	}
	if len(parts) == 0 {
		return malformed("there are no files")
	}
	sizes := map[string]int64{}
	for _, entry := range upload.manifest {
		sizes[entry.Hash] = *entry.Size
	}
	taken := map[string]Asset{}
	for _, part := range parts {
		size, known := sizes[part.name]
		if !known {
			return malformed("the manifest has no file of the hash %q", part.name)
		}
		data, err := base64.StdEncoding.DecodeString(string(part.data))
		if err != nil {
			return malformed("the file %s is not in base64", part.name)
		}
		if int64(len(data)) != size {
			return malformed("the file %s has %d bytes, and %d in the manifest", part.name, len(data), size)
		}
		// The platform serves a file whose part names no type without one, as it does for
		// application/null. Nobody wants the first.
		if part.header == "" {
			return malformed("the file %s has no Content-Type", part.name)
		}
		asset := Asset{Type: part.header, Data: data}
		if part.header == "application/null" {
			asset.Type = ""
		}
		for _, other := range []map[string]Asset{s.files, taken} {
			if file, is := other[part.name]; is && !bytes.Equal(file.Data, data) {
				return malformed("the hash %s is that of another file", part.name)
			}
		}
		taken[part.name] = asset
	}
	maps.Copy(s.files, taken)
	for hash := range sizes {
		if _, uploaded := s.files[hash]; !uploaded {
			return answered(http.StatusAccepted, object{"result": object{"jwt": nil}})
		}
	}
	complete := *upload
	complete.complete = true
	return answered(http.StatusCreated, object{"result": object{"jwt": s.token(complete)}})
}

// part is a part of a form.
type part struct {
	name, filename string
	header         string // its Content-Type
	media          string // that without parameters
	data           []byte
}

// parts reads the parts of a form. No two have the same name.
func (r *request) parts() (parts []part, err error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return nil, fmt.Errorf("the content type is %q", r.Header.Get("Content-Type"))
	}
	reader := multipart.NewReader(bytes.NewReader(r.body), params["boundary"])
	for {
		p, err := reader.NextRawPart()
		if err == io.EOF {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return nil, err
		}
		header := p.Header.Get("Content-Type")
		media, _, err := mime.ParseMediaType(header)
		if header != "" && err != nil {
			return nil, fmt.Errorf("a part has the content type %q", header)
		}
		if p.FormName() == "" || slices.ContainsFunc(parts, func(other part) bool { return other.name == p.FormName() }) {
			return nil, fmt.Errorf("a part is named %q, as another or none", p.FormName())
		}
		parts = append(parts, part{p.FormName(), p.FileName(), header, media, data})
	}
}
