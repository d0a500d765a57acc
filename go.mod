module anteroom

go 1.26.4

require (
	filippo.io/torchwood v0.9.0 // the public log: checkpoints, cosignatures and tiles of C2SP
	github.com/BurntSushi/toml v1.5.0 // anteroom.toml; wrangler.toml, which names the service on Cloudflare
	github.com/a-h/templ v0.3.977 // HTML that escapes by construction
	github.com/c2sp/wycheproof v0.0.0-20260902155932-3fa63dd0344a // tests: forged signatures
	github.com/cloudflare/cloudflare-go/v6 v6.10.0 // D1, settings: packages of single products, as all add 19 MB
	github.com/coreos/go-systemd/v22 v22.7.0 // readiness, reloads and the watchdog of systemd
	github.com/creack/pty v1.1.24 // tests: a terminal
	github.com/fyne-io/oksvg v0.2.0 // the mark in the preview picture of links
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // ordered members; lists too long for a tree
	github.com/mattn/go-isatty v0.0.24 // whether there is a terminal
	github.com/prometheus/client_golang v1.24.1 // metrics of anteroom serve
	github.com/rogpeppe/go-internal v1.16.0 // tests: scripts of the command line
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // tests: schemas of answers
	github.com/spf13/cobra v1.10.2 // the command line
	github.com/spf13/pflag v1.0.9 // flags of commands
	github.com/srwiley/rasterx v0.0.0-20220730225603-2ab79fcdd4ef // shapes for oksvg
	github.com/tdewolff/minify/v2 v2.24.25 // the style sheet, minified
	github.com/wneessen/go-mail v0.8.1 // mail messages and SMTP
	github.com/yuin/goldmark v1.8.7 // Markdown
	go.yaml.in/yaml/v4 v4.0.0 // YAML with each node's line and column, for faults; by the YAML organisation
	golang.org/x/image v0.44.0 // the preview picture of links, drawn with the Go fonts
	golang.org/x/mod v0.42.0 // the public log: signed notes, Merkle trees and proofs
	golang.org/x/sync v0.24.0 // comparing many documents at once
	golang.org/x/sys v0.49.0 // file locks and owners
	golang.org/x/tools v0.52.0 // txtar: a content folder with two more files; scripts of tests
	modernc.org/sqlite v1.61.1 // SQLite without a C compiler
)

require (
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/kylelemons/godebug v1.1.0 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/prometheus/client_model v0.6.2 // indirect
	github.com/prometheus/common v0.70.1 // indirect
	github.com/prometheus/procfs v0.21.1 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/tdewolff/parse/v2 v2.8.20 // indirect
	github.com/tidwall/gjson v1.14.4 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
	modernc.org/libc v1.79.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)

// What the build fetches and makes is no part of the module.
ignore (
	./build/bundle
	./build/cache
	node_modules
)
