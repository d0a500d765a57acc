package mcp

import (
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/quote"
	"anteroom/edge/turn"
)

// observe returns the actions of clients in the messages that were not refused. A self-test has
// none.
func observe(t *turn.Turn, taken []*message) (observed []turn.Observation) {
	if len(taken) == 0 || t.Request.Get(selftest.Header) != "" {
		return nil
	}
	handshake := t.Request.Get("mcp-protocol-version") != ""
	for _, m := range taken {
		kind, info := "", m.Params.Get("_meta").Get(metaClientInfo)
		switch {
		case m.Kind != request:
		case m.Method == "initialize":
			kind, info, handshake = protocol.SeenInitialize, m.Params.Get("clientInfo"), false
		case m.Method == "server/discover":
			kind, handshake = protocol.SeenDiscover, false
		case m.Method == "tools/call":
			kind = protocol.SeenCall
		}
		if kind != "" {
			observed = append(observed, turn.Observation{Client: clientName(info), Kind: kind})
		}
	}
	if handshake {
		client := clientName(taken[0].Params.Get("_meta").Get(metaClientInfo))
		observed = append(observed, turn.Observation{Client: client, Kind: protocol.SeenHandshake})
	}
	return observed
}

func clientName(info *jsondoc.Value) string {
	name := info.Get("name")
	if name.Kind != jsondoc.String {
		return ""
	}
	if cut := input.TruncateRunes(name.Text); !quote.Blank(cut) {
		return cut
	}
	return ""
}
