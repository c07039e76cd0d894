import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { roomFor } from '../../src/config/tenancy/room.ts'
import { Unavailable } from '../../src/domain/refusal.ts'

const nothing = () => undefined

describe('room for so many', () => {
  it('lets in who comes first, and one more for each that leaves', async () => {
    const room = roomFor(2)
    const inside: number[] = []
    for (const number of [1, 2, 3, 4]) void room.enter(10, nothing).then(() => inside.push(number))
    await nextTurn()
    expect([inside, room.waiting]).to.deep.equal([[1, 2], 2])
    room.leave()
    await nextTurn()
    expect([inside, room.waiting]).to.deep.equal([[1, 2, 3], 1])
    room.leave()
    room.leave()
    await room.enter(0.1, nothing)
    await nextTurn()
    expect([inside, room.waiting]).to.deep.equal([[1, 2, 3, 4], 0])
  })

  it('turns away who has waited too long, and gives their place to nobody but the next', async () => {
    const room = roomFor(1)
    await room.enter(1, nothing)
    const impatient = room.enter(0.02, nothing).catch((thrown: unknown) => thrown)
    const patient = room.enter(10, nothing)
    await delay(25)
    room.leave()
    expect(await impatient).to.be.instanceOf(Unavailable)
    await patient
    expect(room.waiting).to.equal(0)
    const third = room.enter(0.02, nothing).catch((thrown: unknown) => thrown)
    expect(await third).to.be.instanceOf(Unavailable)
  })

  it('says each second that somebody waits still', async () => {
    const room = roomFor(1)
    let said = 0
    await room.enter(1, nothing)
    const waiting = room.enter(10, () => said++)
    await delay(1100)
    expect(said).to.equal(1)
    room.leave()
    await waiting
  })

  it('that is shut turns away all who wait and all who come', async () => {
    const room = roomFor(1)
    await room.enter(1, nothing)
    const waiting = [1, 2].map(() => room.enter(10, nothing).catch((thrown: unknown) => thrown))
    room.shut()
    const late = room.enter(10, nothing).catch((thrown: unknown) => thrown)
    for (const thrown of await Promise.all([...waiting, late])) expect(thrown).to.be.instanceOf(Unavailable)
  })
})
