package mcp

import (
	"encoding/base64"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/turn"
)

// The stateless revision (2026-07-28) has no handshake. Each request has its revision and the
// client's capabilities in params._meta, and header fields for proxies.

const (
	headerMismatch     = -32020
	unsupportedVersion = -32022
)

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo   = "io.modelcontextprotocol/clientInfo"
	metaServerInfo   = "io.modelcontextprotocol/serverInfo"
)

// listLifetime is the lifetime of a list in milliseconds: as long as a constant document.
const listLifetime = 300_000

// stateless reports whether a message belongs to a revision without a handshake. The header decides
// if it names a supported revision, since some clients send another _meta with it. Otherwise the
// _meta decides. Of an initialize both must name the stateless revision: its header may be a
// proposal.
func stateless(t *turn.Turn, m *message) bool {
	if m.Kind != request && m.Kind != notification {
		return false
	}
	header, _ := t.Request.Single("mcp-protocol-version")
	version := m.Params.Get("_meta").Get(metaVersion)
	switch {
	case m.Method == "initialize":
		return header == protocol.Stateless && version.Text == protocol.Stateless
	case slices.Contains(supported(), header):
		return header == protocol.Stateless
	}
	return version.Kind == jsondoc.String && !slices.Contains(protocol.Versions, version.Text)
}

func checkStateless(t *turn.Turn, m *message) *failure {
	header, _ := t.Request.Single("mcp-protocol-version")
	method, _ := t.Request.Single("mcp-method")
	named, _ := t.Request.Single("mcp-name")
	meta := m.Params.Get("_meta")
	version := meta.Get(metaVersion)
	mismatch := func(detail string) *failure {
		return &failure{Code: headerMismatch, Message: "Header mismatch: " + detail}
	}
	switch isRequest := m.Kind == request; {
	case header == protocol.Stateless && isRequest && !slices.Contains(statelessMethods(), m.Method):
		return nil // Server.answer refuses it
	case header == "":
		return mismatch("the header MCP-Protocol-Version is missing")
	case isRequest && version.Kind != jsondoc.String:
		return invalid(m, "params._meta lacks "+metaVersion)
	case version.Kind == jsondoc.String && version.Text != header && !slices.Contains(supported(), version.Text):
		return mismatch("MCP-Protocol-Version differs from params._meta")
	case header != protocol.Stateless:
		return unsupported(unsupportedVersion, header)
	case isRequest && meta.Get(metaCapabilities).Kind != jsondoc.Object:
		return invalid(m, "params._meta lacks "+metaCapabilities)
	case method != m.Method:
		return mismatch("Mcp-Method must be the method of the message")
	}
	name := m.Params.Get("name")
	isNamed := (m.Method == "tools/call" || m.Method == "prompts/get") && name.Kind == jsondoc.String
	if isNamed && decodeHeader(named) != name.Text {
		return mismatch("Mcp-Name must be the name in params")
	}
	return nil
}

func decodeHeader(value string) string {
	encoded, begins := strings.CutPrefix(value, "=?base64?")
	encoded, ends := strings.CutSuffix(encoded, "?=")
	if !begins || !ends {
		return value
	}
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return ""
	}
	return string(text)
}

func supported() []string { return append([]string{protocol.Stateless}, protocol.Versions...) }

func statelessMethods() []string {
	return append([]string{"server/discover"}, protocol.Methods[2:]...)
}

func unsupported(code int, requested string) *failure {
	return &failure{
		Code: code,
		Message: "Unsupported protocol version: got MCP-Protocol-Version " + input.TruncateRunes(requested) +
			", want one of " + strings.Join(supported(), ", "),
		Data: func(w *jsondoc.Writer) {
			w.Strs("supported", supported())
			w.Str("requested", input.TruncateRunes(requested))
		},
	}
}

func (s *Server) discover(a *answers, m *message) {
	server, _ := jsondoc.Parse(s.snapshot.Documents[api.MCPServer])
	a.result(m, func(w *jsondoc.Writer) {
		w.Strs("supportedVersions", supported())
		w.Raw("capabilities", string(server.Get("capabilities").Raw))
		w.Str("instructions", server.Get("instructions").Text)
		lifetime(w)
		w.Begin("_meta", '{')
		w.Raw(metaServerInfo, string(server.Get("serverInfo").Raw))
		w.Close('}')
	})
}

func lifetime(w *jsondoc.Writer) {
	w.Int("ttlMs", listLifetime)
	w.Str("cacheScope", "public")
}
