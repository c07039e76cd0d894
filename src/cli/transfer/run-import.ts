import { randomUUID } from 'node:crypto'
import { openReport } from '../../adapters/transfer/report-file.ts'
import type { UserSource } from '../../application/ports/user-source.ts'
import { importRun, rememberedDays } from '../../application/transfer/import-marks.ts'
import { type ImportCounts, type ImportProgress, noCounts } from '../../application/transfer/import-progress.ts'
import { type ImportedBatch, ImportUsers } from '../../application/transfer/import-users.ts'
import { Unavailable } from '../../domain/refusal.ts'
import { objectionOfOperator } from '../agreement.ts'
import { type ExitCode, printed, remark, warn } from '../output.ts'
import type { GlobalOptions } from '../settings.ts'
import type { Records } from './open-records.ts'

export interface ImportOptions extends GlobalOptions {
  /** Only tells what an import would do. */
  readonly dryRun?: true
  /** Imports without a dry run before. */
  readonly yes?: true
  /** The file that gets the lines about each record of which something is missing. */
  readonly report: string
}

interface Job {
  readonly source: UserSource
  /** Names the source in the report, without secrets. */
  readonly name: string
  readonly records: Records
  /** The time by which the sessions of the source end, if an option of the command decides it. */
  readonly sessionsEnd?: Date
}

/** A line of progress in the report. */
interface Noted extends ImportProgress {
  /** The import, which its store knows. */
  readonly run: string
}

const start: ImportProgress = { cursor: null, counts: noCounts, digest: '' }
const shownProblems = 20
const progressSeconds = 5

/** Imports a source: a dry run first, unless `--yes`. Exit code 0 if the import has ended, also if some records are only in the report. */
export async function runImport(options: ImportOptions, job: Job): Promise<ExitCode> {
  if (options.yes !== true) {
    await oneRun(options, job, true)
    if (options.dryRun === true) return 0
    const objection = await objectionOfOperator('This writes the users above', options)
    if (objection !== null) return objection
  }
  try {
    await oneRun(options, job, false)
    return 0
  } catch (thrown) {
    if (!(thrown instanceof Unavailable)) throw thrown
    warn(`${thrown.message}. Run the command again: it goes on where it has stopped`)
    return 1
  }
}

async function oneRun(
  options: ImportOptions,
  { source, name, records, sessionsEnd }: Job,
  isRehearsal: boolean,
): Promise<void> {
  const { target, needs, sealedBy } = records
  const importUsers = new ImportUsers({ ...needs, target, sealedBy })
  const report = await openReport<Noted>(options.report, isRehearsal ? `dry run: ${name}` : name, {
    resumes: !isRehearsal,
  })
  try {
    const { run, from } = isRehearsal ? { run: '', from: start } : await runOf(report.unfinished, records)
    let { counts, digest }: Omit<ImportProgress, 'cursor'> = from
    let shown = 0
    let toldAt = Date.now()
    for await (const batch of importUsers.execute(source, { from, isRehearsal })) {
      ;({ counts, digest } = batch)
      const { problems, ...progress } = batch
      await report.note(problems, { ...progress, run })
      shown += showProblems(problems, shownProblems - shown)
      if (Date.now() - toldAt < progressSeconds * 1000) continue
      toldAt = Date.now()
      remark(`${totalOf(counts)} records`)
    }
    await report.finish({ tenant: records.tenant, isDryRun: isRehearsal, counts, digest, sessionsEnd })
    const text = textOf(counts, isRehearsal, options.report, sessionsEnd)
    await printed(options, text, { isDryRun: isRehearsal, ...counts, digest, sessionsEnd, report: options.report })
  } finally {
    await report.close()
  }
}

/** An unfinished import of this store, or a new one. A cursor says nothing about another store, such as one that was made again. */
async function runOf(unfinished: Noted | null, { target, needs }: Records) {
  const { expiringMarks } = target
  if (unfinished !== null && (await expiringMarks.has(importRun(unfinished.run)))) {
    remark(`Goes on behind ${totalOf(unfinished.counts)} records of an import that did not end`)
    return { run: unfinished.run, from: unfinished }
  }
  const run = randomUUID()
  await expiringMarks.add(importRun(run), new Date(needs.clock().getTime() + rememberedDays * 86_400_000))
  return { run, from: start }
}

function totalOf({ stored, replaced, unchanged, refused, endedIds }: ImportCounts): number {
  return stored + replaced + unchanged + refused + endedIds
}

function showProblems(problems: ImportedBatch['problems'], room: number): number {
  const some = problems.slice(0, Math.max(room, 0))
  for (const { id, email, isStored, problems: words } of some) {
    remark(`${email ?? id ?? 'a record'} ${isStored ? 'is stored, but' : 'is not stored:'} ${words.join('; ')}`)
  }
  if (some.length > 0 && some.length === room) remark('Further ones are in the report alone')
  return some.length
}

function textOf(counts: ImportCounts, isRehearsal: boolean, report: string, sessionsEnd?: Date): string {
  const { stored, replaced, unchanged, refused, links, sessions, unprovedPasswords } = counts
  return [
    `${isRehearsal ? 'would store' : 'stored'}: ${stored} new users, ${replaced} changed ones, ${links} links, ${sessions} sessions`,
    ...(sessions > 0 && sessionsEnd !== undefined
      ? [`the last session of the database ends by ${sessionsEnd.toISOString()} (--lifetime)`]
      : []),
    `${unchanged} users are as at an earlier import`,
    `not stored: ${refused} records${refused > 0 ? `, with reasons in ${report}` : ''}`,
    ...(unprovedPasswords > 0
      ? [
          `${unprovedPasswords} users will lose their password at their first sign-in through a provider, because their address does not count as verified`,
        ]
      : []),
  ].join('\n')
}
