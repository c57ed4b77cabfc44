// Package sqlfile opens SQLite database files so that what is committed is
// durable, and refuses where that cannot be had: on a network filesystem, and
// on a connection that does not take the pragmas on which durability rests.
package sqlfile
