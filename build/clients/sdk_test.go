// Package clients tests an MCP server with the client of the Go SDK.
package clients

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The client of the Go SDK makes the calls of the file CALLS at ENDPOINT, so that every tool is
// called, and gets every prompt.
func TestGoSDK(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "anteroom-test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Getenv("ENDPOINT"), MaxRetries: -1}, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	initialized := session.InitializeResult()
	server := initialized.ServerInfo
	if initialized.ProtocolVersion != "2026-07-28" || server == nil || server.Version != "0.1.0" || initialized.Instructions == "" {
		t.Errorf("the server says of itself: %+v", initialized)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		t.Fatalf("tools/list: %v", err)
	}
	uncalled := map[string]bool{}
	for _, tool := range tools.Tools {
		uncalled[tool.Name] = true
		hints := tool.Annotations
		if tool.OutputSchema == nil || hints == nil || hints.Title == "" || hints.DestructiveHint == nil || *hints.DestructiveHint {
			t.Errorf("tool %s: %+v", tool.Name, tool)
		}
	}
	var calls []struct {
		Tool      string
		Arguments map[string]any
		Refused   string
	}
	text, err := os.ReadFile(os.Getenv("CALLS"))
	if err == nil {
		err = json.Unmarshal(text, &calls)
	}
	if err != nil {
		t.Fatalf("calls: %v", err)
	}
	var last *mcp.CallToolResult
	for _, call := range calls {
		if call.Arguments["receipt"] == "$last" {
			call.Arguments["receipt"] = last
		}
		got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "service_" + call.Tool, Arguments: call.Arguments})
		if err != nil {
			t.Fatalf("%s: %v", call.Tool, err)
		}
		text := got.Content[0].(*mcp.TextContent).Text
		if got.IsError != (call.Refused != "") || !strings.Contains(text, call.Refused) || (got.StructuredContent == nil) != got.IsError {
			t.Errorf("%s %v: %s", call.Tool, call.Arguments, text)
		}
		if call.Tool == "verify_receipt" && call.Arguments["receipt"] == last && !strings.Contains(text, `"fields_match":true,"hash_ok":true`) {
			t.Errorf("the receipt of the call before: %s", text)
		}
		last = got // the whole of it, as a program has it
		delete(uncalled, "service_"+call.Tool)
	}
	if len(calls) == 0 || len(uncalled) > 0 {
		t.Errorf("%d calls, and not called: %v", len(calls), uncalled)
	}
	prompts, err := session.ListPrompts(ctx, nil)
	if err != nil || len(prompts.Prompts) != 4 {
		t.Fatalf("prompts/list: %+v, %v", prompts, err)
	}
	for _, prompt := range prompts.Prompts {
		arguments := map[string]string{}
		for _, a := range prompt.Arguments {
			if a.Required {
				arguments[a.Name] = `{"a": "b"}`
			}
		}
		got, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt.Name, Arguments: arguments})
		if err != nil || len(got.Messages) != 1 {
			t.Errorf("prompts/get %s: %+v, %v", prompt.Name, got, err)
		}
	}
	if _, err := session.ListResources(ctx, nil); err != nil {
		t.Errorf("resources/list: %v", err)
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "nothing"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("an unknown tool: %v", err)
	}
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
