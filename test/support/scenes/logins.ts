import { expect } from 'chai'
import type { Granted, LoginResult } from '../../../src/application/sign-in/complete-login.ts'

/** The result of a login without a second factor. */
export function granted(result: LoginResult): Granted {
  if (result.type !== 'granted') expect.fail('the login waits for a second factor')
  return result
}
