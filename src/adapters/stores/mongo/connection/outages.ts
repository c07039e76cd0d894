import type { Driver } from './client.ts'

/** Error codes of a server or a record that may recover. The driver marks those of a fail-over with a label. */
const outageCodes = new Set<unknown>([
  6, // HostUnreachable
  7, // HostNotFound
  13, // Unauthorized: rights may be given back
  18, // AuthenticationFailed
  50, // MaxTimeMSExpired
  64, // WriteConcernFailed: too few members acknowledged in time
  79, // UnknownReplWriteConcern
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  262, // ExceededTimeLimit
  9001, // SocketException
  10058, // LegacyNotPrimary
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
  14031, // OutOfDiskSpace
  // A user with thousands of dead letters: until some are swept, no change of this user can be written.
  10334, // BSONObjectTooLarge
  17419, // the document after the update
  17420, // the document to upsert
])

/** Codes of errors of Node that the driver passes on when the server has just closed the connection. */
const endedSocketCodes = new Set<unknown>(['EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END'])

const outageLabels = ['RetryableWriteError', 'RetryableError', 'SystemOverloadedError']

/** Whether the server or the way to it has failed for now. */
export function isOutage(driver: Driver, error: unknown): boolean {
  // An error of Node: a closed socket, or a failed DNS look-up of a `mongodb+srv` address.
  if (!(error instanceof driver.MongoError)) {
    if (!(error instanceof Error)) return false
    const isOfNetwork = 'syscall' in error && !('path' in error) // an error with a path is about a file
    return isOfNetwork || ('code' in error && endedSocketCodes.has(error.code))
  }
  if (error instanceof driver.MongoServerError) {
    return (
      error instanceof driver.MongoWriteConcernError ||
      outageCodes.has(error.code) ||
      outageLabels.some((label) => error.hasErrorLabel(label))
    )
  }
  return (
    error instanceof driver.MongoNetworkError ||
    error instanceof driver.MongoSystemError ||
    error instanceof driver.MongoNotConnectedError ||
    error instanceof driver.MongoServerClosedError ||
    error instanceof driver.MongoTopologyClosedError ||
    error instanceof driver.MongoClientClosedError ||
    // The driver does not export the classes of its pool's errors.
    error.name === 'MongoWaitQueueTimeoutError' ||
    error.name === 'MongoPoolClosedError'
  )
}
