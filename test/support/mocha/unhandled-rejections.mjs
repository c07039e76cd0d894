// Mocha 12 takes unhandled rejections for somebody else's, and a test passes that left one behind. Thrown, they fail
// the test that is running.
process.on('unhandledRejection', (reason) => {
  throw reason
})
