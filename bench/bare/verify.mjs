// argon2.verify without a server. For each line "<seconds>" on standard input, it verifies for that time with
// BARE_CONCURRENCY verifications at once, and prints the rate per second.
import { createInterface } from 'node:readline'
import argon2 from 'argon2'

const { BARE_HASH, BARE_PASSWORD, BARE_CONCURRENCY } = process.env

for await (const line of createInterface({ input: process.stdin })) {
  const started = performance.now()
  const end = started + Number(line) * 1000
  let done = 0
  const worker = async () => {
    while (performance.now() < end) {
      if (!(await argon2.verify(BARE_HASH, BARE_PASSWORD))) throw new Error('the password does not match')
      done++
    }
  }
  await Promise.all(Array.from({ length: Number(BARE_CONCURRENCY) }, worker))
  console.log(`rate ${(done * 1000) / (performance.now() - started)}`)
}
