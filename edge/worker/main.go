//go:build tinygo

// Command worker is the edge core as a WebAssembly module. It imports nothing: a host writes a
// frame into its memory, calls it, and reads a frame out of it. Package wire is the format of the
// frames.
//
//	alloc(size u32) u32            address of fresh memory
//	load(at, size u32) u32         the snapshot's text, once, and it must stay where it is; facts out
//	loaded() u32                   where the memory ends that load made to last
//	handle(at, size u32) u32       a turn in, its outcome out; see core for the duties of a host
//	deliver(at, size u32) u32      the same for the outbox
//
// load, handle and deliver return the address of a u32 length and so many bytes, the last two 0
// where the frame is not what it should be.
//
// Memory is never freed (the collector is "leaking"): the host puts back the state that it was in
// after load, once it has read what a call returned. It finds the top of the heap by alloc.
package main

import (
	"unsafe"

	"anteroom/edge"
	"anteroom/edge/endpoint/mcp"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/kernel"
	"anteroom/edge/snapshot"
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
	lasting = alloc(1)
	return result(wire.AppendFacts(make([]byte, 4, 4096), fault, s, protocol.Path, mcp.Unfinished()))
}

// lasting is the end of what load made, but for the facts, which are read once.
var lasting unsafe.Pointer

//go:wasmexport loaded
func loaded() unsafe.Pointer { return lasting }

//go:wasmexport handle
func handle(at unsafe.Pointer, size uint32) unsafe.Pointer { return call(at, size, service.Handle) }

//go:wasmexport deliver
func deliver(at unsafe.Pointer, size uint32) unsafe.Pointer { return call(at, size, service.Deliver) }

func call(at unsafe.Pointer, size uint32, answer func(*kernel.Turn) kernel.Outcome) unsafe.Pointer {
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

// result puts the length before a frame that begins with four bytes for it.
func result(frame []byte) unsafe.Pointer {
	*(*uint32)(unsafe.Pointer(unsafe.SliceData(frame))) = uint32(len(frame) - 4)
	return unsafe.Pointer(unsafe.SliceData(frame))
}
