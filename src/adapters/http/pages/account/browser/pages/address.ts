import { updateForm } from '../update.ts'

await updateForm('email', 'addressSaved')
