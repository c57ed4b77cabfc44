// Package syntax is what goes over an SMTP connection, and how it is shown:
// replies, addresses, the dots of a body, and the transcript for the operator.
// All of it is pure, and bounded whatever the server sends.
package syntax
