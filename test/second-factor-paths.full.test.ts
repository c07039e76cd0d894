import { expect } from 'chai'
import { figure } from './support/http/figures.ts'
import { isLong, rounds } from './support/mocha/long.ts'
import { FactorWorld, type Powers } from './support/scenes/factor-paths.ts'
import { type FactorSite, factorSite } from './support/scenes/factor-site.ts'

const none: Powers = { password: false, mailbox: false, session: false, provider: false }
const attackers: Readonly<Record<string, Powers>> = {
  'knows the password': { ...none, password: true },
  'reads the mail': { ...none, mailbox: true },
  'has an old login': { ...none, session: true },
  'has a linked account at a provider': { ...none, provider: true },
  'has all of that': { password: true, mailbox: true, session: true, provider: true },
}
const starts: Readonly<Record<string, readonly string[]>> = {
  'an app': ['victim logs in', 'victim adds an app'],
  'a passkey': ['victim logs in', 'victim adds a passkey'],
}
/** Deep enough for each attack that is known, such as: ask for a reset, use it, log in, answer. */
const depthOfAll = rounds(2, 5)

/** Tries every sequence of acts, each from the start, and follows equal states once. */
async function explore(powers: Powers, start: readonly string[]) {
  let site: FactorSite = await factorSite()
  let replays = 0
  const reached = async (path: readonly string[]): Promise<string | null> => {
    if (++replays % 5000 === 0) {
      await site.close() // the events of deleted paths fill the memory
      site = await factorSite()
    }
    const world = await FactorWorld.start(site, powers)
    let isTried = true
    for (const act of path) isTried = await world.act(act)
    return isTried ? await world.state() : null
  }
  const beginning = await FactorWorld.start(site, powers)
  for (const act of start) await beginning.act(act)
  expect(await beginning.hasFactor(), start.join(', then ')).to.equal(true)
  const seen = new Set<string>()
  let paths: (readonly string[])[] = [start]
  let depth = 0
  try {
    while (paths.length > 0 && depth < depthOfAll) {
      const next: (readonly string[])[] = []
      for (const path of paths) {
        for (const act of FactorWorld.acts) {
          const longer = [...path, act]
          const state = await reached(longer).catch((cause: unknown) => {
            throw new Error(longer.join(', then '), { cause })
          })
          if (state === null || seen.has(state)) continue
          seen.add(state)
          next.push(longer)
        }
      }
      paths = next
      depth++
    }
    return { depth, states: seen.size, replays }
  } finally {
    await site.close()
  }
}

describe('an account with a second factor', () => {
  for (const [factor, start] of Object.entries(starts)) {
    for (const [who, powers] of Object.entries(attackers)) {
      it(`keeps its level by ${factor} when an attacker ${who}, in every order of acts`, async function () {
        if (isLong) this.timeout(1_800_000)
        const found = await explore(powers, start)
        figure(`${factor}, ${who}`, found)
        expect(found.states).to.be.above(20)
      })
    }
  }
})
