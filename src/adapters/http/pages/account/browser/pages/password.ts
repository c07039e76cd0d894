import { updateForm } from '../update.ts'

await updateForm('password', 'passwordSaved')
