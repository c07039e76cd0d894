import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratchFolder } from '../services/spawned-service.ts'

export interface Certificate {
  readonly key: string
  readonly cert: string
  readonly keyFile: string
  /** For NODE_EXTRA_CA_CERTS, too. */
  readonly certFile: string
}

/** A new certificate for `localhost`, 127.0.0.1 and further hosts, which signs itself. */
export function newCertificate(hosts: readonly string[] = []): Certificate {
  const folder = scratchFolder()
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const names = ['DNS:localhost', 'IP:127.0.0.1', ...hosts.map((host) => `DNS:${host}`)]
  const subject = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${names.join()}`]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', keyFile, '-out', certFile, '-days', '2', ...subject], {
    stdio: 'ignore',
  })
  return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8'), keyFile, certFile }
}

/** The same certificate for the same key, which expired a day ago. */
export function expired({ key, keyFile, certFile }: Certificate): Certificate {
  const past = join(scratchFolder(), 'cert.pem')
  execFileSync('openssl', ['x509', '-in', certFile, '-signkey', keyFile, '-days', '-1', '-out', past], {
    stdio: 'ignore',
  })
  return { key, keyFile, cert: readFileSync(past, 'utf8'), certFile: past }
}

let shared: Certificate | null = null

/** The same certificate at each call. */
export function certificate(): Certificate {
  shared ??= newCertificate()
  return shared
}
