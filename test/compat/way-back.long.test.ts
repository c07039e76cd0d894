import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { goodPassword } from '../support/http/client.ts'
import { pythonWith } from '../support/project/python.ts'
import { patientHasher } from '../support/scenes/hashes.ts'

const run = promisify(execFile)
const version = '0.3.0'

/** As fastapi_users/password.py of 15.0.5 verifies a login. */
const verification = `
import sys
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from pwdlib.hashers.bcrypt import BcryptHasher
hashes = PasswordHash((Argon2Hasher(), BcryptHasher()))
print([hashes.verify_and_update(sys.argv[1], one)[0] for one in sys.argv[2:]])`

describe('the way back to fastapi-users', () => {
  it('has hashes that fastapi-users verifies', async function () {
    this.timeout(300_000)
    const python = await pythonWith(`pwdlib-${version}`, ['install', '-q', `pwdlib[argon2,bcrypt]==${version}`])
    const hasher = patientHasher()
    const hashes = [await hasher.hash(goodPassword), await hasher.hash('another pass phrase')]
    const { stdout } = await run(python, ['-c', verification, goodPassword, ...hashes])
    expect(stdout.trim()).to.equal('[True, False]')
  })
})
