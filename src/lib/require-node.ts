// The build imports this file first in each of its files: native modules end an older Node without a message.
if (Number.parseInt(process.versions.node, 10) < 22) {
  throw new Error(`portcullis needs Node 22 or later; this is ${process.versions.node}`)
}
