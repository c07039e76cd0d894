# syntax=docker/dockerfile:1
# The version that `npm run test:long` tests as Node 24. Native modules come compiled, so the slim image builds, too.
ARG NODE_VERSION=24.21.0

FROM node:${NODE_VERSION}-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY scripts scripts
COPY bin bin
COPY src src
COPY examples examples
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:${NODE_VERSION}-bookworm-slim
WORKDIR /app
# With an arena of glibc for each thread, the memory of hashes would stay many times over.
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    PORTCULLIS_HTTP__HOST=0.0.0.0 \
    PORTCULLIS_DATA_FOLDER=/data
RUN install --directory --owner=node --group=node --mode=700 /data
VOLUME /data
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/bin bin
COPY --from=build /app/dist dist
COPY --from=build /app/examples/browser examples/browser
# The compile cache: Node names it after the user, so one run as `node` fills it. Nobody but root changes it afterwards.
RUN install --directory --owner=node dist/.compile-cache \
    && PORTCULLIS_DATA_FOLDER=/tmp/first-run runuser -u node -- timeout --preserve-status 20 node dist/portcullis.js serve \
    && rm -r /tmp/first-run \
    && chown -R root:root dist/.compile-cache \
    && chmod -R a+rX dist/.compile-cache
USER node
EXPOSE 3000
# A port that only the settings file names is not known here.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORTCULLIS_HTTP__PORT || 3000}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# No npm: the service gets the signals itself.
CMD ["node", "dist/portcullis.js", "serve"]
