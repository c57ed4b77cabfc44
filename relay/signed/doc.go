// Package signed is the call between a form server and a relay on another
// machine: one fixed profile of HTTP Message Signatures (RFC 9421) and Digest
// Fields (RFC 9530) with HMAC-SHA-256, and the sender that makes the call.
// docs/relay-protocol.md is the same for implementers.
//
// The profile is strict on purpose: a header that stands there twice, another
// order of components, a spelling that has two readings, are all refused. Only a
// verified acknowledgment of this very call is an answer; every unsigned status,
// a proxy's 502 included, says nothing about the message.
package signed
