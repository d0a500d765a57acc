// Command clients tests an MCP server with the client of the Go SDK: clients ENDPOINT CALLS. It makes
// the calls of the file CALLS and gets every prompt. Where something is wrong it prints what, and its
// exit code is 1.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "Go SDK:", err)
		os.Exit(1)
	}
}

func run(endpoint, callsFile string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "anteroom-test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: endpoint, MaxRetries: -1}, nil)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	initialized := session.InitializeResult()
	server := initialized.ServerInfo
	if initialized.ProtocolVersion != "2026-07-28" || server == nil || server.Version != "0.1.0" || initialized.Instructions == "" {
		return fmt.Errorf("the server says of itself: %+v", initialized)
	}
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	names := map[string]bool{}
	for _, tool := range tools.Tools {
		names[tool.Name] = true
		hints := tool.Annotations
		if tool.OutputSchema == nil || hints == nil || hints.Title == "" || hints.DestructiveHint == nil || *hints.DestructiveHint {
			return fmt.Errorf("tool %s: %+v", tool.Name, tool)
		}
	}
	var calls []struct {
		Tool      string
		Arguments map[string]any
		Refused   string
	}
	text, err := os.ReadFile(callsFile)
	if err != nil {
		return fmt.Errorf("calls: %w", err)
	}
	if err := json.Unmarshal(text, &calls); err != nil {
		return fmt.Errorf("calls: %s: %w", callsFile, err)
	}
	var last any
	for _, call := range calls {
		if call.Arguments["receipt"] == "$last" {
			call.Arguments["receipt"] = last
		}
		got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "service_" + call.Tool, Arguments: call.Arguments})
		if err != nil {
			return fmt.Errorf("%s: %w", call.Tool, err)
		}
		text := got.Content[0].(*mcp.TextContent).Text
		if got.IsError != (call.Refused != "") || !strings.Contains(text, call.Refused) || (got.StructuredContent == nil) != got.IsError {
			return fmt.Errorf("%s %v: %s", call.Tool, call.Arguments, text)
		}
		last = got.StructuredContent
		delete(names, "service_"+call.Tool)
	}
	if len(names) > 0 {
		return fmt.Errorf("not called: %v", names)
	}
	prompts, err := session.ListPrompts(ctx, nil)
	if err != nil || len(prompts.Prompts) != 4 {
		return fmt.Errorf("prompts/list: %+v, %w", prompts, err)
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
			return fmt.Errorf("prompts/get %s: %+v, %w", prompt.Name, got, err)
		}
	}
	if _, err := session.ListResources(ctx, nil); err != nil {
		return fmt.Errorf("resources/list: %w", err)
	}
	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "nothing"}); err == nil || !strings.Contains(err.Error(), "no tool") {
		return fmt.Errorf("an unknown tool: %w", err)
	}
	if err := session.Close(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	fmt.Println("Go SDK:", initialized.ProtocolVersion, len(calls), "calls,", len(prompts.Prompts), "prompts")
	return nil
}
