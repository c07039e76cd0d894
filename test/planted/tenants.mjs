// What keeps tenants apart, and what opens and closes them. See scripts/planted-faults.mjs.
const isolation = ['test/tenants/isolation.test.ts']
const registry = ['test/tenants/registry.test.ts', 'test/tenants/registry-waits.test.ts']
const routing = ['test/tenants/routing.test.ts']
const settings = ['test/config/tenants.test.ts']

const inRegistry = [
  [
    'as many open as are asked for',
    'tenancy/room.ts',
    'if (inside >= most) return turn(patienceSeconds, stillNone)',
    '',
    'maxOpen',
  ],
  [
    'room is made of those in use',
    'tenancy/tenant-pool.ts',
    'closeLeastRecentlyUsed(({ users }) => users === 0)',
    'closeLeastRecentlyUsed(() => true)',
    'closes none in use',
  ],
  [
    'nobody in use is asked to make room',
    'tenancy/tenant-pool.ts',
    'if (room.waiting > leaving.vacating()) closeLeastRecentlyUsed(() => true)',
    '',
    'asks one to make room',
  ],
  [
    'more are asked to make room than wait',
    'tenancy/tenant-pool.ts',
    'if (room.waiting > leaving.vacating()) closeLeastRecentlyUsed(() => true)',
    'closeLeastRecentlyUsed(() => true)',
    'asks no more to make room',
  ],
  [
    'a slow handler keeps the place of its tenant',
    'tenancy/leaving-tenants.ts',
    "if (end === 'late' && lingering",
    'if (false && lingering',
    'lets a cold tenant open',
  ],
  [
    'any number of slow handlers linger',
    'tenancy/leaving-tenants.ts',
    ' && lingering < mostLingering)',
    ')',
    'no more tenants than may be open',
  ],
  [
    'an opening that hangs is waited for',
    'tenancy/tenant-pool.ts',
    'Promise.race([slot.opened, slot.patience])',
    'slot.opened',
    'longer than anybody is to wait',
  ],
  [
    'an opening may hang for ever',
    'tenancy/tenant-pool.ts',
    'await inTime(opening, openingSeconds * 1000).catch',
    'await opening.catch',
    'in time or not at all',
  ],
  [
    'requests are cut',
    'tenancy/leaving-tenants.ts',
    'await Promise.race([abandonment(slot), hurry])',
    '',
    'neither wait for old ones',
  ],
  [
    'a failed opening is kept',
    'tenancy/tenant-pool.ts',
    'forget(slot) // the next request tries again',
    '',
    'again after it failed',
  ],
  [
    'a failed opening keeps its room',
    'tenancy/tenant-pool.ts',
    '      leavePlace(slot)\n      throw thrown',
    '      throw thrown',
    'again after it failed',
  ],
  [
    'what lives in memory is forgotten',
    'tenancy/tenant-pool.ts',
    '(one) => one.kind === kind)?.placeOf)',
    '(one) => one.kind === kind))',
    'in memory alone',
  ],
  [
    'what is asked for waits for the next scan',
    'tenancy/leaving-tenants.ts',
    'if (mayReopen()) await startDue()',
    'if (false) await startDue()',
    'asked for just before',
  ],
  [
    'postponed events wait for the next scan',
    'tenancy/leaving-tenants.ts',
    'if (mayReopen()) await rememberDue(tenant)',
    '',
    'on time',
  ],
  [
    'who was open before does not deliver',
    'tenancy/tenant-pool.ts',
    'for (const { tenant } of slots.values()) tenant?.startDeliveries()',
    '',
    'before deliveries began',
  ],
  [
    'nobody looks at a new tenant',
    'tenancy/tenant-pool.ts',
    'if (mayReopen()) void closed.round()',
    '',
    'a reload brought',
  ],
  [
    'a stop waits for what hangs',
    'tenancy/leaving-tenants.ts',
    'setTimeout(hurryUp, graceSeconds * 1000)',
    'undefined',
    'in time',
  ],
  ['a stop leaves who waits', 'tenancy/tenant-pool.ts', '      room.shut()\n', '', 'wait for room'],
]

export default [
  {
    title: 'tenants: one store for all',
    file: 'src/config/composition/ports.ts',
    text: 'users: waking(users.users, wake), hasher',
    replacement: 'users: (globalThis.planted ??= waking(users.users, wake)), hasher',
    tests: isolation,
  },
  {
    title: 'tenants: one container for all',
    file: 'src/config/composition/container.ts',
    text: "const container = new Container({ defaultScope: 'Singleton' })",
    replacement: `globalThis.planted ??= new Container({ defaultScope: 'Singleton' })
  const container = globalThis.planted
  const known = container.isBound(ChangeUser)
  if (known) return Object.fromEntries(Object.entries(classes).map(([name, type]) => [name, container.get(type)]))`,
    tests: isolation,
  },
  {
    title: 'tenants: one session store for all',
    file: 'src/config/composition/ports.ts',
    text: 'const { users, keyRing, wake, ...others } = opened',
    replacement:
      'const { users, keyRing, wake, ...rest } = opened\n  const others = { ...rest, sessions: (globalThis.planted ??= rest.sessions) }',
    tests: isolation,
  },
  {
    title: 'tenants: one prefix for all, which nobody counts as a collision',
    file: 'src/adapters/stores/redis/redis.ts',
    text: 'const prefix = prefixOf(options)',
    replacement: "const prefix = 'isolation:'",
    tests: isolation,
  },
  {
    title: 'tenants: sessions without the tenant in their cookies’ names',
    file: 'src/config/settings/tenants.ts',
    text: "if (transport.kind !== 'cookie') return [name, backend]",
    replacement: 'return [name, backend]',
    tests: [...routing, ...settings],
  },
  {
    title: 'tenants: a name is made of any letters',
    file: 'src/config/settings/tenants.ts',
    text: 'if (!allowsKey(list, id))',
    replacement: 'if (false)',
    tests: settings,
  },
  {
    title: 'tenants: two on the same records',
    file: 'src/config/settings/tenant-places.ts',
    text: 'if (place !== null) claim(',
    replacement: 'if (false) claim(',
    tests: settings,
  },
  {
    title: 'tenants: the fault of one is everybody’s',
    file: 'src/config/settings/tenants.ts',
    text: 'const read = await Promise.all([...given].map(([id, one]) => readTenant(id, one, from)))',
    replacement:
      'const read = await Promise.all([...given].map(([id, one]) => readTenant(id, one, from)))\n  const wrong = read.flatMap((one) => one.faults)\n  if (wrong.length > 0) throw new SettingsFault(wrong)',
    tests: settings,
  },
  {
    title: 'tenants: an unknown one is opened as if it were disabled',
    file: 'src/adapters/http/pipeline/whose-request.ts',
    text: '    if (!knows(id)) return inPlaceOf(id, ctx, async () => notFound(ctx))\n',
    replacement: '',
    tests: routing,
  },
  ...inRegistry.map(([title, file, text, replacement, only]) => ({
    title: `tenants: ${title}`,
    file: `src/config/${file}`,
    text,
    replacement,
    tests: registry,
    only,
  })),
]
