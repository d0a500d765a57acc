module anteroom

go 1.26.0

require github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3

require (
	github.com/a-h/templ v0.3.977 // indirect
	github.com/goccy/go-yaml v1.19.2 // indirect
	github.com/yuin/goldmark v1.8.7 // indirect
	golang.org/x/tools v0.52.0 // indirect
)
