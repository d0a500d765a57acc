package assets

// File is one published document, for all that make, write, serve or deploy documents.
type File struct {
	Path      string // with its leading slash: "/scoreboard/2026-11-20.json"
	MediaType string // Content-Type; "" for the CDN's own configuration files
	Cache     string // Cache-Control; "" if there is none
	Bytes     []byte
	Make      func() []byte // makes the bytes when they are wanted; nil if Bytes has them
}

// Content is the bytes of the file.
func (f *File) Content() []byte {
	if f.Make != nil {
		return f.Make()
	}
	return f.Bytes
}
