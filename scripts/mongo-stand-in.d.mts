/**
 * Builds the wire-compatible stand-in for MongoDB, unless it is built already. Answers the arguments that make
 * `java` start it; its own follow: the port, and the file to keep everything in (none: memory).
 */
export function buildMongoStandIn(): Promise<string[]>
