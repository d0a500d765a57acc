//go:build full

package main

func init() { kits = map[string]string{"verify.py": "python3", "verify.mjs": "node"} }
