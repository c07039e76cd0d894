import type { Statement as Compiled, Database } from 'better-sqlite3'

/** A statement that is compiled when it is first run. */
export interface Statement<Parameters extends unknown[], Row> {
  get(...parameters: Parameters): Row | undefined
  all(...parameters: Parameters): Row[]
  run(...parameters: Parameters): { readonly changes: number }
  /** From now on a row is its first column. */
  pluck(): Statement<Parameters, Row>
}

export interface Statements {
  /** @typeParam Parameters an array; of one object when they are named */
  prepare<Parameters extends unknown[], Row = unknown>(sql: string): Statement<Parameters, Row>
}

/** A compiled statement takes 5 kB, and most of many tenants ever run a quarter of them. */
export function lateStatements(db: Database): Statements {
  return {
    prepare<Parameters extends unknown[], Row>(sql: string) {
      let compiled: Compiled<Parameters, Row> | undefined
      let isPlucked = false

      function statement(): Compiled<Parameters, Row> {
        if (compiled === undefined) {
          compiled = db.prepare<Parameters, Row>(sql)
          if (isPlucked) compiled.pluck()
        }
        return compiled
      }

      const late: Statement<Parameters, Row> = {
        get: (...parameters) => statement().get(...parameters),
        all: (...parameters) => statement().all(...parameters),
        run: (...parameters) => statement().run(...parameters),
        pluck() {
          isPlucked = true
          return late
        },
      }
      return late
    },
  }
}
