// Notes, which only their owners see. Users with a verified address write them, and superusers see all.
import { STATUS_CODES } from 'node:http'
import express from 'express'
import { currentUser } from './accounts.js'

const app = express()

/** By user id, until the process ends. */
const notes = new Map()

app.get('/', currentUser({ optional: true }), (req, res) => {
  res.json({ user: req.user?.id ?? null })
})

app.get('/notes', currentUser(), (req, res) => {
  res.json(notes.get(req.user.id) ?? [])
})

app.post('/notes', currentUser({ verified: true }), express.json(), (req, res) => {
  const { id, email } = req.user
  notes.set(id, [...(notes.get(id) ?? []), { text: req.body.text, by: email }])
  res.status(201).json(notes.get(id))
})

app.delete('/notes', currentUser({ level: 2 }), (req, res) => {
  notes.delete(req.user.id)
  res.status(204).end()
})

app.get('/all-notes', currentUser({ superuser: true }), (_req, res) => {
  res.json(Object.fromEntries(notes))
})

/** Without this, Express answers an HTML page with the stack of the error. */
app.use((error, _req, res, _next) => {
  const { status = 500 } = error
  if (status >= 500) console.error(error)
  res.status(status).json({ detail: STATUS_CODES[status] })
})

const port = Number(process.env.PORT ?? 8000)
app.listen(port, '127.0.0.1', () => console.error(`The app listens on http://localhost:${port}`))
