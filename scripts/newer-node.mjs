// Prints the folder of a Node that can run this project, or nothing if the current Node can.
import { nodeOf, versions } from './fetch-node.mjs'

const least = 22
const present = process.versions.node
// From 22.18 on, Node runs the TypeScript of the tests and the scripts by itself.
if (Number.parseInt(present, 10) < least || !process.features.typescript) {
  try {
    const folder = nodeOf(least)
    if (folder === null) throw new Error(`no package of Node is known for ${process.platform} on ${process.arch}`)
    console.error(`Node ${present} is too old: using Node ${versions[least].version} of .cache instead.`)
    process.stdout.write(folder)
  } catch (error) {
    console.error(`Portcullis needs Node ${least} or later; this is ${present}. ${error.message}.`)
    process.exitCode = 1
  }
}
