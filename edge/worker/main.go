//go:build tinygo

// Command worker is the core as a WebAssembly module without imports, for the host on Cloudflare. The
// host writes a frame (package wire) into its memory, calls it, and reads a frame.
//
//	alloc(size u32) u32            address of fresh memory
//	load(at, size u32) u32         takes the snapshot's text, which must stay there, and returns
//	                               facts; called once
//	heapBase() u32                 end of the memory that load has filled
//	handle(at, size u32) u32       takes a turn, returns its outcome (see package turn)
//	deliver(at, size u32) u32      the same for a turn of the outbox
//
// load, handle and deliver return the address of a u32 length and so many bytes. handle and deliver
// return 0 for an invalid frame.
//
// Memory is never freed (the collector is "leaking"): once the host has read the result of a call, it
// puts the memory back into the state after load. alloc tells it where the heap ends.
package main

import (
	"unsafe"

	"anteroom/edge"
	"anteroom/edge/endpoint/mcp"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
	"anteroom/edge/worker/wire"
)

func main() {}

var service *edge.Edge

//go:wasmexport alloc
func alloc(size uint32) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(make([]byte, size))) }

//go:wasmexport load
func load(at unsafe.Pointer, size uint32) unsafe.Pointer {
	s, err := snapshot.Decode(unsafe.Slice((*byte)(at), size))
	if err == nil {
		service, err = edge.Load(s)
	}
	fault := ""
	if err != nil {
		fault = err.Error()
	}
	base = alloc(1)
	return result(wire.AppendFacts(make([]byte, 4, 4096), fault, s, protocol.Path, mcp.Unfinished()))
}

// base is the end of the memory that load has filled, without the facts.
var base unsafe.Pointer

//go:wasmexport heapBase
func heapBase() unsafe.Pointer { return base }

//go:wasmexport handle
func handle(at unsafe.Pointer, size uint32) unsafe.Pointer { return call(at, size, service.Handle) }

//go:wasmexport deliver
func deliver(at unsafe.Pointer, size uint32) unsafe.Pointer { return call(at, size, service.Deliver) }

func call(at unsafe.Pointer, size uint32, answer func(*turn.Turn) turn.Outcome) unsafe.Pointer {
	t, err := wire.DecodeTurn(unsafe.Slice((*byte)(at), size))
	if err != nil {
		return nil
	}
	outcome, room := answer(t), 1024
	if outcome.Response != nil {
		room += len(outcome.Response.Body)
	}
	return result(wire.AppendOutcome(make([]byte, 4, room), outcome))
}

// result writes the length of a frame into its first four bytes.
func result(frame []byte) unsafe.Pointer {
	*(*uint32)(unsafe.Pointer(unsafe.SliceData(frame))) = uint32(len(frame) - 4)
	return unsafe.Pointer(unsafe.SliceData(frame))
}
