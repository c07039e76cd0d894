// The SQLite driver ends an older Node without a word.
if (Number.parseInt(process.versions.node, 10) < 22) {
  console.error(`The tests need Node 22 or later, not ${process.versions.node}: use npm test -- FILE.`)
  process.exit(1)
}
