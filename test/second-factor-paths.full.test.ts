import { expect } from 'chai'
import { figure } from './support/http/figures.ts'
import { isLong } from './support/mocha/long.ts'
import { type FactorSite, FactorWorld, factorSite, type Powers } from './support/scenes/factor-paths.ts'

const none: Powers = { password: false, mailbox: false, session: false, provider: false }
const attackers: Readonly<Record<string, Powers>> = {
  'knows the password': { ...none, password: true },
  'reads the mail': { ...none, mailbox: true },
  'has an old login': { ...none, session: true },
  'has a linked account at a provider': { ...none, provider: true },
  'has all of that': { password: true, mailbox: true, session: true, provider: true },
}
const enrolled = ['victim logs in', 'victim adds an app']
/** For each attacker in the long suite: five minutes for all of them. */
const seconds = 60
/** Deep enough for each attack that is known, such as: ask for a reset, use it, log in, answer. */
const leastDepth = 5
const usualDepth = 2

/** Tries every sequence of acts, each from the start, and follows equal states once. Returns the depth that was tried whole. */
async function explore(powers: Powers, start: readonly string[]) {
  const until = isLong ? performance.now() + seconds * 1000 : Number.POSITIVE_INFINITY
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
  const seen = new Set<string>()
  let paths: (readonly string[])[] = [start]
  let depth = 0
  try {
    for (; isLong || depth < usualDepth; depth++) {
      const next: (readonly string[])[] = []
      for (const path of paths) {
        for (const act of FactorWorld.acts) {
          if (performance.now() > until) return { depth, states: seen.size, replays }
          const longer = [...path, act]
          const state = await reached(longer).catch((cause: unknown) => {
            throw new Error(longer.join(', then '), { cause })
          })
          if (state === null || seen.has(state)) continue
          seen.add(state)
          next.push(longer)
        }
      }
      if (next.length === 0) return { depth: Number.POSITIVE_INFINITY, states: seen.size, replays }
      paths = next
    }
    return { depth, states: seen.size, replays }
  } finally {
    await site.close()
  }
}

describe('an account with a second factor', () => {
  for (const [who, powers] of Object.entries(attackers)) {
    it(`keeps its level when an attacker ${who}, in every order of acts`, async function () {
      if (isLong) this.timeout(3 * seconds * 1000)
      const found = await explore(powers, enrolled)
      figure(who, found)
      expect(found.depth).to.be.at.least(isLong ? leastDepth : usualDepth)
    })
  }
})
