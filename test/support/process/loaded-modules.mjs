// Preloaded into a program (node --import): when the program ends, it writes every loaded file to the file LOADED_MODULES.
// The source map of a bundled file names the sources.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { Module, register } from 'node:module'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const list = process.env.LOADED_MODULES
const hooks = `
  import { appendFileSync } from 'node:fs'
  export async function load(url, context, next) {
    if (url.startsWith('file:')) appendFileSync(${JSON.stringify(list)}, url + '\\n')
    return next(url, context)
  }`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)

process.on('exit', () => {
  const imported = readFileSync(list, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('file:'))
    .map((url) => fileURLToPath(url))
  const loaded = [...imported, ...Object.keys(Module._cache)]
  const sources = loaded.flatMap((file) => {
    const map = `${file}.map`
    if (!existsSync(map)) return []
    return JSON.parse(readFileSync(map, 'utf8')).sources.map((source) => resolve(dirname(file), source))
  })
  appendFileSync(list, [...Object.keys(Module._cache), ...sources, ''].join('\n'))
})
