import { handlerNameOf } from '../../adapters/events/handlers.ts'
import type { RefusedApp } from '../../adapters/http/apps/apps-router.ts'
import { countedLines } from '../../adapters/http/server/counted-lines.ts'
import type { Logger } from '../../adapters/logging/log.ts'
import type { Metrics } from '../../adapters/metrics/metrics.ts'
import type { DeliveryProblem } from '../../application/deliveries/delivery-problem.ts'
import type { DeliveryAct } from '../../application/deliveries/undelivered.ts'
import type { RefusedByClock } from '../../application/factors/use-factor.ts'
import type { TokenDemand } from '../../application/limits/limits.ts'
import type { AttackReport } from '../../application/limits/report-attack.ts'
import type { ProviderFields } from '../../application/oauth/finish-oauth.ts'
import type { CopiedPasskey } from '../../application/passkeys/use-passkey.ts'
import { CodeRefused, type ProviderFailed } from '../../application/ports/oauth-provider.ts'
import type { DroppedEvents, UnrecordedTime } from '../../application/sign-in/complete-login.ts'
import type { Untold } from '../../application/sign-in/tell-inactive.ts'
import { onceEach } from '../../lib/once-each.ts'

interface Needs {
  readonly log: Logger
  readonly metrics: Metrics | null
  /** Called when a delivery found that a store does not answer. */
  readonly storeFailed: () => void
}

export type Reports = ReturnType<typeof reportsOf>

/** The messages of use cases to the operator, as lines of the log. */
export function reportsOf({ log, metrics, storeFailed }: Needs) {
  return {
    report({ type, ...problem }: DeliveryProblem) {
      log.warn({ ...problem, handler: handlerNameOf(type) }, 'delivery failed')
      metrics?.deliveryFailed(problem.outcome)
      if (problem.error === 'Unavailable') storeFailed()
    },
    deliveriesChanged: ({ act, ...rest }: DeliveryAct) =>
      log.info(rest, act === 'retried' ? 'dead letters are due again' : 'deliveries were discarded'),
    reportProvider: (name: string, failure: CodeRefused | ProviderFailed) => reportProvider(log, name, failure),
    withheld: (demand: Pick<TokenDemand, 'purpose' | 'requestId'>) =>
      log.warn(demand, 'requests for tokens of an address reached limits.tokensPerAddress'),
    warnOfAttack: (report: AttackReport) =>
      log.warn(report, 'wrong passwords for an account reached limits.passwordsPerAccount'),
    fieldsDropped: onceEach((field) =>
      log.warn({ field }, 'a field was dropped: users.fields does not declare it, or users may not write it'),
    ),
    warnOfProviderFields: (unfit: ProviderFields) =>
      log.warn(
        unfit,
        'a new user lacks fields of the provider: users.fields refuses the values, or another user has them',
      ),
    warnOfDropped: countedLines<DroppedEvents>({
      kindOf: () => 'login',
      write: (dropped, logins) =>
        log.warn({ ...dropped, logins }, 'the events of logins were dropped: too many events of a user wait'),
    }),
    warnOfUnrecorded: countedLines<UnrecordedTime>({
      kindOf: () => 'login',
      write: (first, logins) => log.warn({ ...first, logins }, 'the times of logins were not recorded'),
    }),
    warnOfUntold: countedLines<Untold>({
      kindOf: () => 'login',
      write: (first, logins) =>
        log.warn({ ...first, logins }, 'owners of deactivated accounts were not told of logins'),
    }),
    warnOfClock: (refused: RefusedByClock) =>
      log.warn(refused, 'a right code was refused: the clock of the service was ahead when the last one was used'),
    warnOfCopiedPasskey: (copied: CopiedPasskey) =>
      log.warn(copied, 'the counter of a passkey went back: a copy of it may exist'),
    warnOfUnnoted: countedLines<{ readonly err: unknown }>({
      kindOf: () => 'login',
      write: (first, logins) => log.warn({ ...first, logins }, 'refused logins were not noted'),
    }),
  }
}

const failuresPage = 'docs/providers.md#when-a-provider-fails'

/** Logs the refusal or the failure of a provider. */
export function reportProvider(
  log: Logger,
  provider: string,
  failure: CodeRefused | ProviderFailed,
  requestId?: string,
): void {
  const what = failure instanceof CodeRefused ? 'a provider refused' : 'a provider failed'
  log.warn({ requestId, provider, cause: failure.message, docs: failuresPage }, what)
}

/** Logs refused requests of apps. Their faults are fixed texts, so there are few kinds. */
export function reportApps(log: Logger): (refused: RefusedApp) => void {
  return countedLines<RefusedApp>({
    kindOf: ({ app, fault }) => `${app} ${fault}`,
    write: (refused, requests) => log.warn({ ...refused, requests }, 'a request of an app was refused'),
  })
}
