import type { RequestListener } from 'node:http'

/**
 * Takes the pages of this port for our own, under whatever name a browser reaches it: the origin of the page is that of the request.
 * A page that was led here by DNS rebinding has no cookie of ours, because it has another host.
 */
export function ofOwnOrigin(listener: RequestListener): RequestListener {
  return (request, response) => {
    const { origin, host } = request.headers
    const name = host?.toLowerCase()
    const isOwn = origin !== undefined && (origin === `http://${name}` || origin === `https://${name}`)
    if (isOwn) delete request.headers.origin
    listener(request, response)
  }
}
