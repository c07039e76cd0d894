import { isatty } from 'node:tty'

let hasTerminal = isatty(0)

/** A terminal sends SIGHUP, too, when it closes. The service ends with it, as other programs do that were started there. */
export const isTerminalClosed = (): boolean => hasTerminal && !isatty(0)

/** A service that outlives its terminal takes later signals as reloads. */
export function noticeTerminal(): void {
  hasTerminal &&= isatty(0)
}
